package devicetest

import (
	"slices"

	"agentmill/internal/device"
)

// A sharing plays sequences twice: in caches that begin as others did, and in
// ones that hold all for themselves.
type sharing struct {
	*suite
	shape device.AttentionShape
	rows  [2][]float32 // of qkv, by token, a layer each
	seqs  []*twins
}

// twins are the two caches of one sequence.
type twins struct {
	shared device.PrefixCache
	alone  device.Cache
	tokens []int
}

const sharedTokens = 20

// testPrefixes grows, shares, truncates and frees sequences in a random order:
// whatever shares memory with whatever, what comes out must be the same bits.
func testPrefixes(s *suite) {
	for _, c := range bothTypes([]attentionCase{{shape: shape(2, 1, 8)}}) {
		s.prefixes(c.shape)
	}
}

func (s *suite) prefixes(shape device.AttentionShape) {
	probe := s.b.NewCache(1, 1, shape)
	defer probe.Free()
	if _, ok := probe.(device.PrefixCache); !ok {
		s.Skip("the device shares no beginnings")
	}
	g := &sharing{suite: s, shape: shape}
	for i := range g.rows {
		g.rows[i] = s.values(sharedTokens*shape.Width(), 1)
	}
	g.rewriteShared()
	for range 50 {
		switch at := g.any(); {
		case at == nil:
			g.feedBoth(g.begin(nil, 0), g.some(600))
		case len(g.seqs) < 3 && s.rng.IntN(2) == 0:
			g.begin(at, s.rng.IntN(len(at.tokens)+1))
		case s.rng.IntN(12) == 0:
			g.end(at)
		case s.rng.IntN(4) == 0:
			at.truncate(len(at.tokens) - s.rng.IntN(min(300, len(at.tokens)+1)))
		default:
			g.grow(at)
		}
	}
	for len(g.seqs) > 0 {
		g.end(g.seqs[0])
	}
}

// rewriteShared has those who share write to what they share, and one of them go.
func (g *sharing) rewriteShared() {
	first := g.begin(nil, 0)
	g.feedBoth(first, g.some(700))
	second := g.begin(first, 650)
	second.truncate(300)
	g.feedBoth(second, g.some(250))
	g.feedBoth(first, g.some(5))
	third := g.begin(first, 600)
	first.truncate(100)
	g.feedBoth(first, g.some(30))
	g.feedBoth(third, g.some(3))
	g.end(first)
	fourth := g.begin(third, 520)
	g.end(third)
	g.feedBoth(g.begin(nil, 0), g.some(600))
	g.feedBoth(fourth, g.some(3))
}

func (q *twins) truncate(n int) {
	q.shared.Truncate(n)
	q.alone.Truncate(n)
	q.tokens = q.tokens[:n]
}

// any is one of the sequences, nil if there is none.
func (g *sharing) any() *twins {
	if len(g.seqs) == 0 {
		return nil
	}
	return g.seqs[g.rng.IntN(len(g.seqs))]
}

// begin adds a sequence that begins with n tokens of like, if that is one.
func (g *sharing) begin(like *twins, n int) *twins {
	q := &twins{shared: g.b.NewCache(2, 2000, g.shape).(device.PrefixCache), alone: g.b.NewCache(2, 2000, g.shape)} //nolint:forcetypeassert // testPrefixes looked
	g.seqs = append(g.seqs, q)
	if like != nil {
		q.tokens = slices.Clone(like.tokens[:n])
		q.shared.CopyPrefix(like.shared, n)
		g.feed(q.alone, q.tokens)
	}
	return q
}

func (g *sharing) end(q *twins) {
	q.shared.Free()
	q.alone.Free()
	g.seqs = slices.DeleteFunc(g.seqs, func(x *twins) bool { return x == q })
}

// some are tokens.
func (g *sharing) some(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = g.rng.IntN(sharedTokens)
	}
	return all
}

// grow appends a few or many tokens to a sequence, or ends one that is long.
func (g *sharing) grow(q *twins) {
	if len(q.tokens) > 1000 {
		g.end(q)
		return
	}
	g.feedBoth(q, g.some(1+g.rng.IntN([]int{3, 30, 200}[g.rng.IntN(3)])))
}

// feedBoth appends tokens to both caches of a sequence and compares what comes out.
func (g *sharing) feedBoth(q *twins, more []int) {
	q.tokens = append(q.tokens, more...)
	got, want := g.feed(q.shared, more), g.feed(q.alone, more)
	for layer := range got {
		g.same("a sequence that shares its beginning", got[layer], want[layer])
	}
	if q.shared.Len() != len(q.tokens) {
		g.Fatalf("the cache holds %d positions, want %d", q.shared.Len(), len(q.tokens))
	}
}

// feed appends tokens to a cache and returns what comes out of each layer.
func (g *sharing) feed(c device.Cache, tokens []int) (out [2][]float32) {
	width, outWidth := g.shape.Width(), g.shape.Heads*g.shape.HeadDim
	for layer, table := range g.rows {
		qkv := make([]float32, 0, len(tokens)*width)
		for _, t := range tokens {
			qkv = append(qkv, table[t*width:][:width]...)
		}
		m := g.mat(make([]float32, len(tokens)*outWidth), outWidth)
		g.b.Attention(m, nil, g.mat(qkv, width), g.shape, []device.Seq{{Len: len(tokens), Cache: c}}, layer)
		out[layer] = g.read(m)
	}
	c.Advance(len(tokens))
	return out
}
