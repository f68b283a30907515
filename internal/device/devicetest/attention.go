package devicetest

import (
	"fmt"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu/ref"
)

type attentionCase struct {
	shape    device.AttentionShape
	lens     []int
	prefixes [][]device.Span // by sequence; nil: none has one
}

var attentionCases = []attentionCase{
	{shape(1, 1, 2), []int{1}, nil},
	{shape(3, 1, 16), []int{5, 1, 40}, nil},
	{shape(4, 4, 20), []int{33, 7}, nil},
	{shape(9, 3, 64), []int{70, 13}, nil},
	{shape(4, 2, 48), []int{0, 9}, nil},
	{shape(2, 1, 8), []int{600}, nil},
	{shape(2, 1, 7), []int{38}, nil},
	// Sequences that go on from others, from parts of them, and from those that go on.
	{
		shape(9, 3, 64),
		[]int{37, 13, 0, 50, 5},
		[][]device.Span{nil, {{Start: 0, Len: 37}}, nil, {{Start: 0, Len: 21}}, {{Start: 0, Len: 37}, {Start: 37, Len: 1}}},
	},
	{
		shape(4, 2, 20),
		[]int{530, 9, 40, 1},
		[][]device.Span{nil, {{Start: 0, Len: 505}}, {{Start: 0, Len: 505}, {Start: 530, Len: 9}}, {{Start: 0, Len: 1}}},
	},
}

func shape(heads, kvHeads, dim int) device.AttentionShape {
	return device.AttentionShape{Heads: heads, KVHeads: kvHeads, HeadDim: dim}
}

// bothTypes are the cases, each in float32 and with pairs of bfloat16.
func bothTypes(cases []attentionCase) (all []attentionCase) {
	for _, c := range cases {
		pairs := c
		pairs.shape.DType = device.BF16Dot
		all = append(all, c, pairs)
	}
	return all
}

func (c attentionCase) ref() ref.Attention {
	return ref.Attention{Heads: c.shape.Heads, KVHeads: c.shape.KVHeads, HeadDim: c.shape.HeadDim}
}

func (c attentionCase) rows() (n int) {
	for _, l := range c.lens {
		n += l
	}
	return n
}

func (c attentionCase) seqs() (q []device.Seq, r []ref.Span) {
	at := 0
	for i, l := range c.lens {
		one, span := device.Seq{Start: at, Len: l}, ref.Span{Start: at, Len: l}
		if c.prefixes != nil {
			one.Prefix = c.prefixes[i]
			span.Prefix = before(one)
		}
		q, r = append(q, one), append(r, span)
		at += l
	}
	return q, r
}

// before are the rows of q's prefix.
func before(q device.Seq) (rows []int) {
	for _, p := range q.Prefix {
		for t := range p.Len {
			rows = append(rows, p.Start+t)
		}
	}
	return rows
}

func testAttention(s *suite) {
	for _, c := range bothTypes(attentionCases) {
		kind := "default"
		if c.shape.DType == device.BF16Dot {
			kind = "pairs"
		}
		s.attention(kind, c, 1)
	}
}

// testAttentionPeaks has scores far apart, so that most probabilities vanish.
func testAttentionPeaks(s *suite) {
	s.attention("peaks", attentionCase{shape(2, 1, 32), []int{50}, nil}, 5)
}

func (s *suite) attention(kind string, c attentionCase, spread float64) {
	a, rows := c.ref(), c.rows()
	outWidth := a.Heads * a.HeadDim
	qkv, dout := s.values(rows*a.Width(), spread), s.values(rows*outWidth, 1)
	if c.shape.DType == device.BF16Dot { // so that probabilities alone are rounded
		toBF16(qkv)
	}
	seqs, spans := c.seqs()
	out, lse, dqkv := make([]float64, rows*outWidth), make([]float64, rows*a.Heads), make([]float64, len(qkv))
	ref.Forward(out, lse, wide(qkv), a, spans)
	ref.Backward(dqkv, wide(dout), out, lse, wide(qkv), a, spans)

	mo, ml, mq := s.mat(make([]float32, rows*outWidth), outWidth), s.b.Alloc(rows*a.Heads), s.mat(qkv, a.Width())
	s.b.Attention(mo, ml, mq, c.shape, seqs, 0)
	s.close(kind, fmt.Sprint("out of ", c), s.read(mo), out)
	s.close(kind, fmt.Sprint("lse of ", c), s.host(ml), lse)
	again := s.mat(make([]float32, rows*outWidth), outWidth)
	s.b.Attention(again, nil, mq, c.shape, seqs, 0)
	s.same("out without lse", s.read(again), s.read(mo))
	md := s.mat(s.values(len(qkv), 1), a.Width())
	s.b.AttentionGrad(md, s.mat(dout, outWidth), mo, ml, mq, c.shape, seqs)
	s.close(kind, fmt.Sprint("dqkv of ", c), s.read(md), dqkv)
}

// testCache plays sequences in pieces of changing length, two layers at a time,
// and truncates in between: rows must equal those of one call without a cache, bit by bit (D2).
func testCache(s *suite) {
	for _, c := range bothTypes(attentionCases[:4]) {
		a, outWidth := c.ref(), c.shape.Heads*c.shape.HeadDim
		for _, n := range c.lens {
			layers := [][]float32{s.values(n*a.Width(), 1), s.values(n*a.Width(), 1)}
			cache := s.b.NewCache(2, n/3, c.shape)
			s.play(cache, c.shape, layers, n/2) // forgotten again
			cache.Truncate(0)
			for i, got := range s.play(cache, c.shape, layers, n) {
				whole := s.mat(make([]float32, n*outWidth), outWidth)
				s.b.Attention(whole, nil, s.mat(layers[i], a.Width()), c.shape, []device.Seq{{Len: n}}, 0)
				s.same(fmt.Sprintf("layer %d of %v, length %d", i, c, n), got, s.read(whole))
			}
			if cache.Len() != n {
				s.Errorf("cache holds %d positions, want %d", cache.Len(), n)
			}
			cache.Free()
		}
	}
}

// play feeds n rows of every layer to a cache in pieces of 1, 2, 3 … and returns what came out.
func (s *suite) play(cache device.Cache, shape device.AttentionShape, layers [][]float32, n int) [][]float32 {
	out := make([][]float32, len(layers))
	width := shape.Width()
	for from, step := 0, 1; from < n; step++ {
		to := min(from+step, n)
		for i, qkv := range layers {
			m := s.mat(make([]float32, (to-from)*shape.Heads*shape.HeadDim), shape.Heads*shape.HeadDim)
			s.b.Attention(m, nil, s.mat(qkv[from*width:to*width], width), shape, []device.Seq{{Len: to - from, Cache: cache}}, i)
			out[i] = append(out[i], s.read(m)...)
		}
		cache.Advance(to - from)
		from = to
	}
	return out
}
