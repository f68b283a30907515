//go:build !purego

package cpu

import "golang.org/x/sys/cpu"

//go:generate go run ./_asm

// available lists the paths of this machine, fastest first.
func available() []*kernels {
	var paths []*kernels
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
		if x.HasAVX512BF16 {
			paths = append(paths, &avx512bf16)
		}
		paths = append(paths, &avx512)
	}
	if x.HasAVX2 && x.HasFMA {
		paths = append(paths, &avx2)
	}
	return append(paths, &generic)
}

var avx512bf16 = withPairs(avx512)

// withPairs is k with products of bfloat16 pairs.
func withPairs(k kernels) kernels {
	k.path = "avx512bf16"
	k.gemmPairs, k.peakPairs = gemmPairsAVX512, peakPairsAVX512
	k.pairs, k.narrowPairs, k.widenPairs = pairsAVX512, narrowPairsAVX512, widenPairsAVX512
	return k
}

// pairsAVX512 rounds what does not fill a register one by one.
func pairsAVX512(dst []uint16, src []float32) {
	n := len(src) &^ 15
	roundPairsAVX512(dst[:n], src[:n])
	for i, v := range src[n:] {
		dst[n+i] = roundBF16(v)
	}
}

var avx512 = kernels{
	path: "avx512", peak: peakAVX512, mr: 12, nr: 32,
	gemm: gemmAVX512, gemm16: gemm16AVX512, gemm8: gemm8AVX512,
	transpose: transposeAVX512, copyRows: copyRowsAVX512, narrow: narrowAVX512, widen: widenAVX512,
	fetch: fetchAVX512, maxOf: maxOfAVX512, dot: dotAVX512, dot3: dot3AVX512,
	axpy: axpyAVX512, scale: scaleAVX512, mulAdd: mulAddAVX512,
	normRow: normRowAVX512, normDx: normDxAVX512,
	expSum: expSumAVX512, sumExp: sumExpAVX512, expMul: expMulAVX512, mulDiff: mulDiffAVX512,
	swiglu: swigluAVX512, swigluGrad: swigluGradAVX512, rotate: rotateAVX512,
	sumSquares: sumSquaresAVX512, adamw: adamwAVX512,
}

var avx2 = kernels{
	path: "avx2", peak: peakAVX2, mr: 6, nr: 16,
	gemm: gemmAVX2, gemm16: gemm16AVX2, gemm8: gemm8AVX2,
	transpose: transposeAVX2, copyRows: copyRowsAVX2, narrow: narrowAVX2, widen: widenAVX2,
	fetch: fetchAVX2, maxOf: maxOfAVX2, dot: dotAVX2, dot3: dot3AVX2,
	axpy: axpyAVX2, scale: scaleAVX2, mulAdd: mulAddAVX2,
	normRow: normRowAVX2, normDx: normDxAVX2,
	expSum: expSumAVX2, sumExp: sumExpAVX2, expMul: expMulAVX2, mulDiff: mulDiffAVX2,
	swiglu: swigluAVX2, swigluGrad: swigluGradAVX2, rotate: rotateAVX2,
	sumSquares: sumSquaresAVX2, adamw: adamwAVX2,
}

func narrowAVX512(dst []uint16, src []float32, _ int) { narrowRowsAVX512(dst, src) }
func widenAVX512(dst []float32, src []uint16, _ int)  { widenRowsAVX512(dst, src) }
func narrowAVX2(dst []uint16, src []float32, _ int)   { narrowRowsAVX2(dst, src) }
func widenAVX2(dst []float32, src []uint16, _ int)    { widenRowsAVX2(dst, src) }

func transposeAVX512(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	transposeWith(transposeBlocksAVX512, 16, dst, dstStride, src, srcStride, rows, cols)
}

func transposeAVX2(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	transposeWith(transposeBlocksAVX2, 8, dst, dstStride, src, srcStride, rows, cols)
}
