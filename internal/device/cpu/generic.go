package cpu

import "math"

// The plain Go kernels: the fallback where there is no assembly.

func exp32(x float32) float32 { return float32(math.Exp(float64(x))) }

func gemmGeneric(t *tile) {
	const nr = 16
	for i := range t.rows {
		var acc [nr]float32
		a := t.a[i*t.aRow:]
		for k := range t.k {
			v := a[k*t.aK]
			b := (*[nr]float32)(t.b[k*t.bK:])
			for j := range acc {
				acc[j] += v * b[j]
			}
		}
		storeTile(t, i, acc[:])
	}
}

func gemm16Generic(t *tile) {
	const nr = 16
	var b [nr]float32
	for i := range t.rows {
		var acc [nr]float32
		a := t.a[i*t.aRow:]
		for k := range t.k {
			v := a[k*t.aK]
			widenGeneric(b[:], t.b16[k*t.bK:][:nr], nr)
			for j := range acc {
				acc[j] += v * b[j]
			}
		}
		storeTile(t, i, acc[:])
	}
}

func gemm8Generic(t *tile) {
	const nr = 16
	for i := range t.rows {
		var acc [nr]float32
		a := t.a[i*t.aRow:]
		for k := range t.k {
			v := a[k*t.aK]
			b := (*[nr]int8)(t.b8[k*t.bK:])
			for j := range acc {
				acc[j] += v * float32(b[j])
			}
		}
		for j, step := range t.steps[:nr] {
			acc[j] *= step
		}
		storeTile(t, i, acc[:])
	}
}

func storeTile(t *tile, i int, acc []float32) {
	c := t.c[i*t.cRow:][:len(acc)]
	if !t.add {
		copy(c, acc)
		return
	}
	for j, v := range acc {
		c[j] += v
	}
}

func transposeGeneric(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	for r := range rows {
		for c, v := range src[r*srcStride:][:cols] {
			dst[c*dstStride+r] = v
		}
	}
}

func copyRowsGeneric(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	for r := range rows {
		copy(dst[r*dstStride:], src[r*srcStride:][:cols])
	}
}

// Packed bfloat16 rows keep value j < nr/2 in the upper and value j+nr/2 in the
// lower half of the j-th 32-bit word, so that widening needs no shuffle.

func narrowGeneric(dst []uint16, src []float32, nr int) {
	half := nr / 2
	for o := 0; o < len(src); o += nr {
		for j := range half {
			dst[o+2*j+1] = roundBF16(src[o+j])
			dst[o+2*j] = roundBF16(src[o+half+j])
		}
	}
}

func widenGeneric(dst []float32, src []uint16, nr int) {
	half := nr / 2
	for o := 0; o < len(src); o += nr {
		for j := range half {
			dst[o+j] = math.Float32frombits(uint32(src[o+2*j+1]) << 16)
			dst[o+half+j] = math.Float32frombits(uint32(src[o+2*j]) << 16)
		}
	}
}

func roundBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func maxGeneric(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

func dotGeneric(x, y []float32) float32 {
	var s float32
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

func dot3Generic(x, y, z []float32) float32 {
	var s float32
	for i, v := range x {
		s += v * y[i] * z[i]
	}
	return s
}

func axpyGeneric(y []float32, a float32, x []float32) {
	for i, v := range x {
		y[i] += a * v
	}
}

func scaleGeneric(y []float32, a float32, x []float32) {
	for i, v := range x {
		y[i] = a * v
	}
}

func mulAddGeneric(y []float32, a float32, x, z []float32) {
	for i, v := range x {
		y[i] += a * v * z[i]
	}
}

func normRowGeneric(y []float32, r float32, x, w []float32) {
	for i, v := range x {
		y[i] = r * v * w[i]
	}
}

func normDxGeneric(dx []float32, r, c float32, dy, w, x []float32) {
	for i, v := range dy {
		dx[i] += r*v*w[i] - c*x[i]
	}
}

func expSumGeneric(y, x []float32, scale, bias float32) float32 {
	var s float32
	for i, v := range x {
		y[i] = exp32(scale*v + bias)
		s += y[i]
	}
	return s
}

func sumExpGeneric(x []float32, scale, bias float32) float32 {
	var s float32
	for _, v := range x {
		s += exp32(scale*v + bias)
	}
	return s
}

func expMulGeneric(y, x []float32, scale, bias, mul float32) {
	for i, v := range x {
		y[i] = mul * exp32(scale*v+bias)
	}
}

func mulDiffGeneric(y, x []float32, c float32) {
	for i, v := range x {
		y[i] = v * (y[i] - c)
	}
}

func swigluGeneric(y, gate, up []float32) {
	for i, g := range gate {
		y[i] = g / (1 + exp32(-g)) * up[i]
	}
}

func swigluGradGeneric(dgate, dup, dy, gate, up []float32) {
	for i, g := range gate {
		s := 1 / (1 + exp32(-g))
		d, u := dy[i], up[i]
		dup[i] = d * g * s
		dgate[i] = d * u * s * (1 + g*(1-s))
	}
}

func rotateGeneric(x, cos, sin []float32, sign float32) {
	half := len(cos)
	for i, c := range cos {
		s := sign * sin[i]
		a, b := x[i], x[i+half]
		x[i] = a*c - b*s
		x[i+half] = b*c + a*s
	}
}

func sumSquaresGeneric(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return s
}

func adamwGeneric(p, g, m, v []float32, h *adamwConst) {
	for i := range p {
		d := g[i] * h.clip
		m[i] = h.beta1*m[i] + h.rest1*d
		v[i] = h.beta2*v[i] + h.rest2*(d*d)
		root := float32(math.Sqrt(float64(v[i] * h.unbias2)))
		p[i] -= h.unbias1*m[i]/(root+h.eps) + h.decay*p[i]
	}
}
