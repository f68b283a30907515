package ref_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"agentmill/internal/device/cpu/ref"
	"agentmill/internal/numtest"
	"agentmill/internal/seed"
)

// tight is what central differences in float64 reach.
var tight = numtest.Tol{Abs: 1e-7, Rel: 1e-7}

func values(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// Every case has a forward pass y of x and its gradient for dy.
func TestGradients(t *testing.T) {
	rng := seed.Stream(1)
	const rows, in, out = 3, 4, 5
	x, w, norm, dy := values(rng, rows*in), values(rng, in*out), values(rng, in), values(rng, rows*out)
	ids, positions := []int32{2, 0, 2}, []int32{0, 7, 3}
	freq := []float64{1, 0.1}
	shape, spans := ref.Attention{Heads: 4, KVHeads: 2, HeadDim: 3}, []ref.Span{{Start: 0, Len: 2}, {Start: 2, Len: 3}, {Start: 5, Len: 2, Prefix: []int{0, 2}}}
	qkv, heads := values(rng, 7*shape.Width()), values(rng, 7*12)

	for _, c := range []struct {
		name    string
		x, dy   []float64
		forward func(y, x []float64)
		grad    func(dx, dy, x []float64)
	}{
		{"linear by x", x, dy, func(y, x []float64) { ref.Linear(y, x, w, in, out) }, func(dx, dy, _ []float64) { ref.LinearInputGrad(dx, dy, w, in, out) }},
		{"linear by w", w, dy, func(y, w []float64) { ref.Linear(y, x, w, in, out) }, func(dw, dy, _ []float64) { ref.LinearWeightGrad(dw, dy, x, in, out) }},
		{"embed", w, values(rng, rows*in), func(y, w []float64) { ref.Embed(y, w, ids, in) }, func(dw, dy, _ []float64) { ref.EmbedGrad(dw, dy, ids, in) }},
		{
			"rmsnorm by x", x, values(rng, rows*in),
			func(y, x []float64) { ref.RMSNorm(y, make([]float64, rows), x, norm, 0.1) },
			func(dx, dy, x []float64) { rmsNormGrad(dx, make([]float64, in), dy, x, norm) },
		},
		{
			"rmsnorm by weight", norm, values(rng, rows*in),
			func(y, w []float64) { ref.RMSNorm(y, make([]float64, rows), x, w, 0.1) },
			func(dw, dy, w []float64) { rmsNormGrad(make([]float64, rows*in), dw, dy, x, w) },
		},
		{
			"rope", x, values(rng, rows*in),
			func(y, x []float64) { copy(y, x); ref.Rope(y, in, positions, 1, in, freq, 1) },
			func(dx, dy, _ []float64) { copy(dx, dy); ref.Rope(dx, in, positions, 1, in, freq, -1) },
		},
		{
			"swiglu", x, values(rng, rows*in/2),
			func(y, x []float64) { ref.SwiGLU(y, x, in/2) },
			func(dx, dy, x []float64) { ref.SwiGLUGrad(dx, dy, x, in/2) },
		},
		{
			"log-probs", x, values(rng, rows),
			func(y, x []float64) { ref.LogProbs(y, make([]float64, rows), x, ids, in, 0.7) },
			func(dx, dy, x []float64) {
				lse := make([]float64, rows)
				ref.LogProbs(make([]float64, rows), lse, x, ids, in, 0.7)
				copy(dx, x)
				ref.LogProbsGrad(dx, lse, ids, dy, in, 0.7)
			},
		},
		{
			"attention", qkv, heads,
			func(y, x []float64) { ref.Forward(y, make([]float64, 28), x, shape, spans) },
			func(dx, dy, x []float64) {
				out, lse := make([]float64, len(dy)), make([]float64, 28)
				ref.Forward(out, lse, x, shape, spans)
				ref.Backward(dx, dy, out, lse, x, shape, spans)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make([]float64, len(c.x))
			c.grad(got, c.dy, c.x)
			want := numtest.Grad(func(x []float64) float64 {
				y := make([]float64, len(c.dy))
				c.forward(y, x)
				return ref.Dot(y, c.dy)
			}, c.x)
			numtest.Close(t, "gradient", got, want, tight)
		})
	}
}

func rmsNormGrad(dx, dw, dy, x, w []float64) {
	y, rstd := make([]float64, len(x)), make([]float64, len(x)/len(w))
	ref.RMSNorm(y, rstd, x, w, 0.1)
	ref.RMSNormGrad(dx, dw, dy, x, w, rstd)
}

func TestForwardByHand(t *testing.T) {
	y := make([]float64, 2)
	ref.Linear(y, []float64{1, 2}, []float64{3, 4, 5, 6}, 2, 2)
	numtest.Close(t, "linear", y, []float64{11, 17}, numtest.Tol{})
	ref.RMSNorm(y, make([]float64, 1), []float64{3, 4}, []float64{1, 2}, 0)
	numtest.Close(t, "rmsnorm", y, []float64{3 / math.Sqrt(12.5), 8 / math.Sqrt(12.5)}, tight)
	ref.SwiGLU(y[:1], []float64{0.5, 3}, 1)
	numtest.Close(t, "swiglu", y[:1], []float64{1.5 / (1 + math.Exp(-0.5))}, tight)
	lse := make([]float64, 1)
	ref.Softmax(y, lse, []float64{0, math.Log(3)}, 2, 1)
	numtest.Close(t, "softmax", slices.Concat(y, lse), []float64{0.25, 0.75, math.Log(4)}, tight)
	turned := []float64{1, 0}
	ref.Rope(turned, 2, []int32{2}, 1, 2, []float64{0.5}, 1)
	numtest.Close(t, "rope", turned, []float64{math.Cos(1), math.Sin(1)}, tight)

	// One query head, two tokens: the second sees scores 0 and 1.
	qkv := []float64{0, 0, 10, 1, 1, 20}
	out := make([]float64, 2)
	ref.Forward(out, make([]float64, 2), qkv, ref.Attention{Heads: 1, KVHeads: 1, HeadDim: 1}, []ref.Span{{Len: 2}})
	numtest.Close(t, "attention", out, []float64{10, (10 + 20*math.E) / (1 + math.E)}, tight)
}

func TestAdamWByHand(t *testing.T) {
	p, m, v := []float64{1}, []float64{0}, []float64{0}
	ref.AdamW(p, []float64{4}, m, v, 0.1, 0.9, 0.99, 0, 0.5, 0.5, 1)
	// clipped gradient 2: m̂ = 2, v̂ = 4, so the step is lr·(1 + 0.5·1).
	numtest.Close(t, "p, m, v", []float64{p[0], m[0], v[0]}, []float64{0.85, 0.2, 0.04}, tight)
}

func TestBF16(t *testing.T) {
	for x, want := range map[float32]float32{
		1:               1,
		1 + 1.0/256:     1,            // a tie, to even
		1 + 3.0/256:     1 + 4.0/256,  // a tie, to even
		1 + 1.01/256:    1 + 2.0/256,  // above the tie
		-1 - 1.01/256:   -1 - 2.0/256, // and below zero
		math.MaxFloat32: float32(math.Inf(1)),
	} {
		if got := ref.BF16(x); got != want {
			t.Errorf("BF16(%v) = %v, want %v", x, got, want)
		}
	}
}
