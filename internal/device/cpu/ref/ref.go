// Package ref holds every operator of device.Backend as a plain loop, generic
// over float32 and float64.
//
// It is the yardstick: the float64 version is what finite differences check and
// what the devices are compared with. Matrices are dense and row-major; the
// dimension names are those of package device. Nothing here is fast.
package ref

import "math"

// Float is a type that the operators compute in.
type Float interface{ ~float32 | ~float64 }

func sqrt[F Float](x F) F { return F(math.Sqrt(float64(x))) }
func exp[F Float](x F) F  { return F(math.Exp(float64(x))) }
func log[F Float](x F) F  { return F(math.Log(float64(x))) }

// Dot is Σ a·b.
func Dot[F Float](a, b []F) F {
	var s F
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// Linear adds x[T, in]·w[out, in]ᵀ to y[T, out].
func Linear[F Float](y, x, w []F, in, out int) {
	for t := range len(x) / in {
		for o := range out {
			y[t*out+o] += Dot(x[t*in:][:in], w[o*in:][:in])
		}
	}
}

// LinearInputGrad adds dy[T, out]·w[out, in] to dx[T, in].
func LinearInputGrad[F Float](dx, dy, w []F, in, out int) {
	for t := range len(dx) / in {
		for o := range out {
			Axpy(dx[t*in:][:in], dy[t*out+o], w[o*in:][:in])
		}
	}
}

// LinearWeightGrad adds dy[T, out]ᵀ·x[T, in] to dw[out, in].
func LinearWeightGrad[F Float](dw, dy, x []F, in, out int) {
	for t := range len(x) / in {
		for o := range out {
			Axpy(dw[o*in:][:in], dy[t*out+o], x[t*in:][:in])
		}
	}
}

// Axpy adds a·x to y.
func Axpy[F Float](y []F, a F, x []F) {
	for i, v := range x {
		y[i] += a * v
	}
}

// Embed copies row ids[t] of table[V, C] to y[t].
func Embed[F Float](y, table []F, ids []int32, c int) {
	for t, id := range ids {
		copy(y[t*c:][:c], table[int(id)*c:])
	}
}

// EmbedGrad adds dy[t] to row ids[t] of dtable.
func EmbedGrad[F Float](dtable, dy []F, ids []int32, c int) {
	for t, id := range ids {
		Axpy(dtable[int(id)*c:][:c], 1, dy[t*c:][:c])
	}
}

// RMSNorm sets y = x·rstd·weight and rstd[t] = 1/√(mean(x²)+eps) of rows of C = len(weight).
func RMSNorm[F Float](y, rstd, x, weight []F, eps F) {
	c := len(weight)
	for t := range len(x) / c {
		row := x[t*c:][:c]
		r := 1 / sqrt(Dot(row, row)/F(c)+eps)
		rstd[t] = r
		for i, v := range row {
			y[t*c+i] = v * r * weight[i]
		}
	}
}

// RMSNormGrad adds to dx and dweight.
func RMSNormGrad[F Float](dx, dweight, dy, x, weight, rstd []F) {
	c := len(weight)
	for t := range len(x) / c {
		r := rstd[t]
		var dot F // Σ dy·weight·x̂, x̂ = x·r
		for i := range c {
			dot += dy[t*c+i] * weight[i] * x[t*c+i] * r
		}
		for i := range c {
			hat := x[t*c+i] * r
			dx[t*c+i] += r * (dy[t*c+i]*weight[i] - hat*dot/F(c))
			dweight[i] += dy[t*c+i] * hat
		}
	}
}

// Rope rotates heads heads of size dim in each row of x (width values) in place.
func Rope[F Float](x []F, width int, positions []int32, heads, dim int, freq []float64, sign float64) {
	half := dim / 2
	for t, pos := range positions {
		for h := range heads {
			v := x[t*width+h*dim:][:dim]
			for i := range half {
				sin, cos := math.Sincos(float64(pos) * freq[i])
				s, c := F(sign*sin), F(cos)
				v[i], v[i+half] = v[i]*c-v[i+half]*s, v[i+half]*c+v[i]*s
			}
		}
	}
}

// SwiGLU sets y[T, F] = silu(gate)·up of gateUp[T, gate F | up F].
func SwiGLU[F Float](y, gateUp []F, width int) {
	for t := range len(y) / width {
		for i := range width {
			g, u := gateUp[t*2*width+i], gateUp[t*2*width+width+i]
			y[t*width+i] = g / (1 + exp(-g)) * u
		}
	}
}

// SwiGLUGrad overwrites dgateUp from dy.
func SwiGLUGrad[F Float](dgateUp, dy, gateUp []F, width int) {
	for t := range len(dy) / width {
		for i := range width {
			g, u := gateUp[t*2*width+i], gateUp[t*2*width+width+i]
			s := 1 / (1 + exp(-g))
			d := dy[t*width+i]
			dgateUp[t*2*width+i] = d * u * s * (1 + g*(1-s))
			dgateUp[t*2*width+width+i] = d * g * s
		}
	}
}

// Softmax writes exp(invTemp·x − lse) of rows of width values to y and each row's
// log-sum-exp to lse.
func Softmax[F Float](y, lse, x []F, width int, invTemp F) {
	for t := range len(x) / width {
		row := x[t*width:][:width]
		top := invTemp * row[0]
		for _, v := range row {
			top = max(top, invTemp*v)
		}
		var sum F
		for _, v := range row {
			sum += exp(invTemp*v - top)
		}
		lse[t] = top + log(sum)
		for i, v := range row {
			y[t*width+i] = exp(invTemp*v - lse[t])
		}
	}
}

// LogProbs sets logp[t] = log softmax(invTemp·logits[t])[targets[t]] and lse[t].
func LogProbs[F Float](logp, lse, logits []F, targets []int32, width int, invTemp F) {
	Softmax(make([]F, len(logits)), lse, logits, width, invTemp)
	for t, target := range targets {
		logp[t] = invTemp*logits[t*width+int(target)] - lse[t]
	}
}

// LogProbsGrad turns logits in place into dlogp[t]·invTemp·(onehot − softmax).
func LogProbsGrad[F Float](logits, lse []F, targets []int32, dlogp []F, width int, invTemp F) {
	for t, target := range targets {
		row := logits[t*width:][:width]
		scale := dlogp[t] * invTemp
		for i, v := range row {
			row[i] = -scale * exp(invTemp*v-lse[t])
		}
		row[target] += scale
	}
}

// AdamW updates p from gradient g and moments m, v; see device.AdamW for the names.
func AdamW[F Float](p, g, m, v []F, lr, beta1, beta2, eps, weightDecay, clip float64, step int) {
	c1 := 1 - math.Pow(beta1, float64(step))
	c2 := 1 - math.Pow(beta2, float64(step))
	for i := range p {
		d := clip * float64(g[i])
		m[i] = F(beta1*float64(m[i]) + (1-beta1)*d)
		v[i] = F(beta2*float64(v[i]) + (1-beta2)*d*d)
		u := float64(m[i])/c1/(math.Sqrt(float64(v[i])/c2)+eps) + weightDecay*float64(p[i])
		p[i] -= F(lr * u)
	}
}

// BF16 rounds x to the nearest bfloat16, ties to even.
func BF16(x float32) float32 {
	b := math.Float32bits(x)
	if x != x {
		return x
	}
	return math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
}
