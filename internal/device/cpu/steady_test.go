package cpu

import (
	"runtime"
	"testing"
	"time"

	"agentmill/internal/device"
)

// A training step and a decoding step allocate nothing once memory has grown.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, path := range Paths() {
		t.Run(path, func(t *testing.T) {
			b := open(t, 2, path)
			defer b.Close()
			step := steps(b)
			step()
			if n := testing.AllocsPerRun(3, step); n > 0 {
				t.Errorf("%.0f allocations a step", n)
			}
		})
	}
}

// steps returns a call of every operator that training and decoding use.
func steps(b *Backend) func() {
	const rows, c, f, v = 30, 64, 96, 70
	s := device.AttentionShape{Heads: 4, KVHeads: 2, HeadDim: 16}
	mat := func(rows, cols int) device.Mat { return device.Dense(b.Alloc(rows*cols), rows, cols) }
	x, y, dx, rstd, norm := mat(rows, c), mat(rows, c), mat(rows, c), b.Alloc(rows), b.Alloc(c)
	qkv, dqkv, lse := mat(rows, s.Width()), mat(rows, s.Width()), b.Alloc(rows*s.Heads)
	gateUp, dgateUp, hidden, logits, table := mat(rows, 2*f), mat(rows, 2*f), mat(rows, f), mat(rows, v), mat(v, c)
	down, dw := b.NewWeight(c, f, device.F32), mat(c, f)
	ids, logp, other := make([]int32, rows), make([]float32, rows), make([]float32, rows)
	freq := []float64{1, .5, .2, .1, .05, .02, .01, .001}
	seqs := []device.Seq{{Len: 10}, {Start: 10, Len: 20}}
	cache := b.NewCache(1, 64, s)
	one := []device.Seq{{Len: 1, Cache: cache}}
	qkv1, out1 := device.Dense(qkv.Buf.Slice(0, s.Width()), 1, s.Width()), device.Dense(x.Buf.Slice(0, c), 1, c)
	return func() {
		b.Embed(x, table, ids)
		b.RMSNorm(y, rstd, x, norm, 1e-5)
		b.Rope(qkv, ids, 6, 16, freq, 1)
		b.Attention(y, lse, qkv, s, seqs, 0)
		b.Attention(out1, nil, qkv1, s, one, 0)
		b.SwiGLU(hidden, gateUp)
		b.Linear(y, hidden, down, true)
		b.LogProbs(logp, other, logits, ids, 1)
		b.LogProbsGrad(logits, other, ids, logp, 1)
		b.LinearInputGrad(hidden, y, down)
		b.LinearWeightGrad(dw, y, hidden)
		b.SwiGLUGrad(dgateUp, hidden, gateUp)
		b.AttentionGrad(dqkv, y, y, lse, qkv, s, seqs)
		b.RMSNormGrad(dx, norm, y, x, norm, rstd)
		b.EmbedGrad(table, dx, ids)
		b.SumSquares(dw.Buf)
		b.AdamW(dw.Buf, dw.Buf, dw.Buf, dw.Buf, device.AdamW{Step: 1})
		b.SetWeight(down, dw.Buf)
		b.Zero(dw.Buf)
	}
}

// No goroutine of a pool outlives Close.
func TestCloseEndsWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		b := open(t, 4, "")
		steps(b)()
		b.Close()
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond) // a goroutine that has returned may still be counted
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}
