package cpu

// kernels is one path: the loops that differ between instruction sets. Slices
// of one call have equal lengths where nothing else is said; y may be x.
type kernels struct {
	path string
	peak func(n int) // n rounds of multiply-adds in registers; nil without assembly
	mr   int         // most rows of a tile
	nr   int         // columns of a panel

	// gemm multiplies a tile; gemm16 one whose b is packed bfloat16, gemm8 one
	// whose b is whole numbers, a step for each column.
	gemm, gemm16, gemm8 func(t *tile)
	// gemmPairs multiplies a tile whose a and b hold pairs of bfloat16, along k,
	// in place of float32 values; nil where the processor has no such products.
	// pairs rounds values to bfloat16, in order; narrowPairs rounds a panel to
	// bfloat16, with the pairs of two rows side by side; widenPairs undoes it.
	gemmPairs   func(t *tile)
	pairs       func(dst []uint16, src []float32)
	narrowPairs func(dst []uint16, src []float32)
	widenPairs  func(dst []float32, src []uint16)
	peakPairs   func(n int) // as peak, of gemmPairs' products; a round is twice as many operations
	// transpose sets dst[c·dstStride+r] = src[r·srcStride+c].
	transpose func(dst []float32, dstStride int, src []float32, srcStride, rows, cols int)
	// copyRows copies cols values of each of rows rows.
	copyRows func(dst []float32, dstStride int, src []float32, srcStride, rows, cols int)
	// narrow rounds a panel row pair-wise to bfloat16 in packed order; widen undoes it.
	narrow func(dst []uint16, src []float32, nr int)
	widen  func(dst []float32, src []uint16, nr int)

	fetch   func(x []float32) // starts to bring x near
	maxOf   func(x []float32) float32
	dot     func(x, y []float32) float32
	dot3    func(x, y, z []float32) float32
	axpy    func(y []float32, a float32, x []float32)            // y += a·x
	scale   func(y []float32, a float32, x []float32)            // y = a·x
	mulAdd  func(y []float32, a float32, x, z []float32)         // y += a·x·z
	normRow func(y []float32, r float32, x, w []float32)         // y = r·x·w
	normDx  func(dx []float32, r, c float32, dy, w, x []float32) // dx += r·dy·w − c·x
	// expSum sets y = exp(scale·x + bias) and returns Σ y; sumExp only the sum.
	expSum func(y, x []float32, scale, bias float32) float32
	sumExp func(x []float32, scale, bias float32) float32
	// expMul sets y = mul·exp(scale·x + bias).
	expMul func(y, x []float32, scale, bias, mul float32)
	// mulDiff sets y = x·(y − c).
	mulDiff func(y, x []float32, c float32)

	swiglu     func(y, gate, up []float32)
	swigluGrad func(dgate, dup, dy, gate, up []float32)
	// rotate turns the pairs (x[i], x[i+half]) by the angles of cos and sin.
	rotate func(x, cos, sin []float32, sign float32)

	sumSquares func(x []float32) float64
	adamw      func(p, g, m, v []float32, h *adamwConst)
}

// maxRows is the largest mr of any path.
const maxRows = 12

// A tile is one call of a matrix kernel: c[rows, nr] = a[rows, k]·b[k, nr], or
// added to c. Every value is summed in the order of k by multiply-adds that
// start at zero; c is added last. Strides count values.
type tile struct {
	a       []float32
	aRow    int
	aK      int
	b       []float32
	bK      int
	c       []float32
	cRow    int
	rows, k int
	add     bool
	b16     []uint16  // in place of b for gemm16
	b8      []int8    // in place of b for gemm8
	steps   []float32 // of b8's nr columns: sums are multiplied by them
	pairs   bool      // a and b are pairs of bfloat16, see gemmPairs

	// A step of k fetches the cache lines of b ahead bytes on, moved by aheadStep
	// bytes a step: what is needed next, which the processor does not guess.
	ahead, aheadStep int
	next             int // bytes from b to the panel after it, near: not known; 0: nothing is fetched
}

// adamwConst are the numbers of a step, rounded once.
type adamwConst struct {
	clip, beta1, rest1, beta2, rest2 float32 // rest = 1 − beta
	unbias1, unbias2                 float32 // lr/(1−β1ᵗ) and 1/(1−β2ᵗ)
	eps, decay                       float32 // decay = lr·wd
}

var generic = kernels{
	path: "generic", mr: 4, nr: 16,
	gemm: gemmGeneric, gemm16: gemm16Generic, gemm8: gemm8Generic,
	transpose: transposeGeneric, copyRows: copyRowsGeneric, narrow: narrowGeneric, widen: widenGeneric,
	fetch: func([]float32) {}, maxOf: maxGeneric, dot: dotGeneric, dot3: dot3Generic,
	axpy: axpyGeneric, scale: scaleGeneric, mulAdd: mulAddGeneric,
	normRow: normRowGeneric, normDx: normDxGeneric,
	expSum: expSumGeneric, sumExp: sumExpGeneric, expMul: expMulGeneric, mulDiff: mulDiffGeneric,
	swiglu: swigluGeneric, swigluGrad: swigluGradGeneric, rotate: rotateGeneric,
	sumSquares: sumSquaresGeneric, adamw: adamwGeneric,
}

// peakOps is the number of operations of a round of peak.
func (k *kernels) peakOps() float64 { return 12 * 2 * float64(k.nr/2) }
