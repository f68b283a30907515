// Package half converts between float32 and the two 16-bit formats of weight
// files: IEEE half precision (f16) and bfloat16 (bf16).
package half

import "math"

// FromF16 returns the value of a half-precision number.
func FromF16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero or subnormal: frac · 2^-24
		v := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// FromBF16 returns the value of a bfloat16 number.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBF16 rounds v to the nearest bfloat16, ties to even. NaN stays NaN.
func ToBF16(v float32) uint16 {
	bits := math.Float32bits(v)
	if v != v {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// NotFinite returns the index of the first value of v that is infinite or NaN, or -1.
func NotFinite(v []float32) int {
	if allFinite(v) {
		return -1
	}
	for i, x := range v {
		if math.Float32bits(x)&infinity == infinity {
			return i
		}
	}
	return -1
}

// infinity is the bits of +∞; larger ones, but for the sign, are NaN.
const infinity = 0x7f800000

// allFinite looks at four values at a time, without a branch for each.
func allFinite(v []float32) bool {
	var a, b, c, d uint32
	for ; len(v) >= 4; v = v[4:] {
		a = max(a, math.Float32bits(v[0])<<1)
		b = max(b, math.Float32bits(v[1])<<1)
		c = max(c, math.Float32bits(v[2])<<1)
		d = max(d, math.Float32bits(v[3])<<1)
	}
	for _, x := range v {
		a = max(a, math.Float32bits(x)<<1)
	}
	return max(a, b, c, d) < infinity<<1
}
