//go:build !purego && (amd64 || arm64)

package cpu

// transposeWith turns squares of side values with blocks, and the rest one by one.
func transposeWith(blocks func(dst *float32, dstStride int, src *float32, srcStride, blocks int), side int,
	dst []float32, dstStride int, src []float32, srcStride, rows, cols int,
) {
	whole := cols / side * side
	r := 0
	if whole > 0 {
		for ; r+side <= rows; r += side {
			_, _ = src[(r+side-1)*srcStride+whole-1], dst[(whole-1)*dstStride+r+side-1]
			blocks(&dst[r], dstStride, &src[r*srcStride], srcStride, whole/side)
		}
	}
	if r > 0 && whole < cols {
		transposeGeneric(dst[whole*dstStride:], dstStride, src[whole:], srcStride, r, cols-whole)
	}
	if r < rows {
		transposeGeneric(dst[r:], dstStride, src[r*srcStride:], srcStride, rows-r, cols)
	}
}
