//go:build !purego

package cpu

// available lists the paths of this machine, fastest first: every arm64 has NEON.
func available() []*kernels { return []*kernels{&neon, &generic} }

var neon = kernels{
	path: "neon", peak: peakNEON, mr: 6, nr: 16,
	gemm: gemmNEON, gemm16: gemm16NEON, gemm8: gemm8NEON,
	transpose: transposeNEON, copyRows: copyRowsGeneric, narrow: narrowNEON, widen: widenNEON,
	fetch: func([]float32) {}, maxOf: maxOfNEON, dot: dotNEON, dot3: dot3NEON,
	axpy: axpyNEON, scale: scaleNEON, mulAdd: mulAddNEON,
	normRow: normRowNEON, normDx: normDxNEON,
	expSum: expSumNEON, sumExp: sumExpNEON, expMul: expMulNEON, mulDiff: mulDiffNEON,
	swiglu: swigluNEON, swigluGrad: swigluGradNEON, rotate: rotateNEON,
	sumSquares: sumSquaresNEON, adamw: adamwNEON,
}

func narrowNEON(dst []uint16, src []float32, _ int) { narrowRowsNEON(dst, src) }
func widenNEON(dst []float32, src []uint16, _ int)  { widenRowsNEON(dst, src) }

func transposeNEON(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	transposeWith(transposeBlocksNEON, 4, dst, dstStride, src, srcStride, rows, cols)
}
