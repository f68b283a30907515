package ref

import (
	"math"
	"slices"
)

// A Span is one sequence: rows Start to Start+Len, which go on from the rows of Prefix.
type Span struct {
	Start, Len int
	Prefix     []int
}

// keys are the rows that row t of s sees.
func (s Span) keys(t int) []int {
	all := slices.Clone(s.Prefix)
	for j := s.Start; j <= t; j++ {
		all = append(all, j)
	}
	return all
}

// An Attention is the shape of fused rows [H·D | K·D | K·D] of q, k and v.
type Attention struct{ Heads, KVHeads, HeadDim int }

// Width is the length of a fused row.
func (a Attention) Width() int { return (a.Heads + 2*a.KVHeads) * a.HeadDim }

// offsets tells where a row holds query head h and its key and value.
func (a Attention) offsets(h int) (q, k, v int) {
	kv := h / (a.Heads / a.KVHeads)
	return h * a.HeadDim, (a.Heads + kv) * a.HeadDim, (a.Heads + a.KVHeads + kv) * a.HeadDim
}

// Forward is causal grouped-query attention of every span on its own:
// out[T, H·D] and lse[T, H] from qkv[T, Width].
func Forward[F Float](out, lse, qkv []F, a Attention, spans []Span) {
	for _, s := range spans {
		for t := s.Start; t < s.Start+s.Len; t++ {
			for h := range a.Heads {
				lse[t*a.Heads+h] = forwardRow(out[(t*a.Heads+h)*a.HeadDim:][:a.HeadDim], qkv, a, s.keys(t), t, h)
			}
		}
	}
}

func forwardRow[F Float](out, qkv []F, a Attention, keys []int, t, h int) F {
	oq, ok, ov := a.offsets(h)
	w, d := a.Width(), a.HeadDim
	p := make([]F, len(keys))
	var norm [1]F
	for i, j := range keys {
		p[i] = Dot(qkv[t*w+oq:][:d], qkv[j*w+ok:][:d]) / F(math.Sqrt(float64(d)))
	}
	Softmax(p, norm[:], p, len(p), 1)
	clear(out)
	for i, j := range keys {
		Axpy(out, p[i], qkv[j*w+ov:][:d])
	}
	return norm[0]
}

// Backward overwrites dqkv from dout[T, H·D], with out, lse and qkv of Forward.
func Backward[F Float](dqkv, dout, out, lse, qkv []F, a Attention, spans []Span) {
	clear(dqkv)
	for _, s := range spans {
		for t := s.Start; t < s.Start+s.Len; t++ {
			for h := range a.Heads {
				backwardRow(dqkv, dout, out, lse, qkv, a, s.keys(t), t, h)
			}
		}
	}
}

func backwardRow[F Float](dqkv, dout, out, lse, qkv []F, a Attention, keys []int, t, h int) {
	oq, ok, ov := a.offsets(h)
	w, d := a.Width(), a.HeadDim
	scale := F(1 / math.Sqrt(float64(d)))
	do := dout[(t*a.Heads+h)*d:][:d]
	delta := Dot(do, out[(t*a.Heads+h)*d:][:d])
	q := qkv[t*w+oq:][:d]
	for _, j := range keys {
		k, v := qkv[j*w+ok:][:d], qkv[j*w+ov:][:d]
		p := exp(Dot(q, k)*scale - lse[t*a.Heads+h])
		ds := p * (Dot(do, v) - delta) * scale
		Axpy(dqkv[j*w+ov:][:d], p, do)
		Axpy(dqkv[t*w+oq:][:d], ds, k)
		Axpy(dqkv[j*w+ok:][:d], ds, q)
	}
}
