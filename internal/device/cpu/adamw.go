package cpu

import (
	"math"

	"agentmill/internal/device"
)

// chunk is how many values of a flat buffer make a unit.
const chunk = 1 << 14

// SumSquares returns Σ x², chunk by chunk (D3).
func (b *Backend) SumSquares(x device.Buffer) float64 {
	j := &b.jobs.squares
	j.k, j.x = b.k, data(x)
	n := (len(j.x) + chunk - 1) / chunk
	if cap(j.sums) < n {
		j.sums = make([]float64, n)
	}
	j.sums = j.sums[:n]
	b.pool.do(j, n)
	var sum float64
	for _, s := range j.sums {
		sum += s
	}
	return sum
}

type squaresJob struct {
	k    *kernels
	x    []float32
	sums []float64
}

func (j *squaresJob) run(_ *worker, unit int) {
	j.sums[unit] = j.k.sumSquares(j.x[unit*chunk : min((unit+1)*chunk, len(j.x))])
}

// AdamW updates p from gradient g and moments m, v.
func (b *Backend) AdamW(p, g, m, v device.Buffer, h device.AdamW) {
	j := &b.jobs.adamw
	*j = adamwJob{k: b.k, p: data(p), g: data(g), m: data(m), v: data(v), h: roundAdamW(h)}
	need("AdamW", len(j.g) == len(j.p) && len(j.m) == len(j.p) && len(j.v) == len(j.p))
	b.pool.do(j, (len(j.p)+chunk-1)/chunk)
}

func roundAdamW(h device.AdamW) adamwConst {
	return adamwConst{
		clip:    float32(h.Clip),
		beta1:   float32(h.Beta1),
		rest1:   float32(1 - h.Beta1),
		beta2:   float32(h.Beta2),
		rest2:   float32(1 - h.Beta2),
		unbias1: float32(h.LR / (1 - math.Pow(h.Beta1, float64(h.Step)))),
		unbias2: float32(1 / (1 - math.Pow(h.Beta2, float64(h.Step)))),
		eps:     float32(h.Eps),
		decay:   float32(h.LR * h.WeightDecay),
	}
}

type adamwJob struct {
	k          *kernels
	p, g, m, v []float32
	h          adamwConst
}

func (j *adamwJob) run(_ *worker, unit int) {
	from, to := unit*chunk, min((unit+1)*chunk, len(j.p))
	j.k.adamw(j.p[from:to], j.g[from:to], j.m[from:to], j.v[from:to], &j.h)
}
