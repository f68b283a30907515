package cpu

import "agentmill/internal/device"

// A kvShape is how keys and values of one kv head are laid out: keys in panels
// [dim][nr keys], values in rows of wide = dim rounded up to nr. With pairs, the
// neighbours along dim of a key, and those of two positions of a value, share
// the place of one value.
type kvShape struct {
	layers, heads, dim, wide, nr int
	pairs                        bool
	block                        int // most keys of an output tile, positions of a page
}

// keyValues is the memory of one kv head of one layer.
type keyValues struct {
	keys, values []float32
}

// A page is keys and values of as many positions as one output tile has, so that no
// sum runs over the end of a page: [layer][kv head][keys | values]. Caches that begin alike hold the same pages; who writes to one that
// others hold writes to a copy.
type page struct {
	slab []float32
	refs int
}

// A cache is the pages of one sequence.
type cache struct {
	owner *Backend
	shape kvShape
	n     int
	pages []*page
}

var _ device.PrefixCache = (*cache)(nil)

// NewCache makes room for positions when they come: most sequences stay far below
// their capacity. Of a page only what is written takes memory.
func (b *Backend) NewCache(layers, _ int, s device.AttentionShape) device.Cache {
	c := &cache{owner: b, shape: b.kvShape(s)}
	c.shape.layers = layers
	return c
}

func (b *Backend) kvShape(s device.AttentionShape) kvShape {
	shape := kvShape{heads: s.KVHeads, dim: s.HeadDim, wide: panels(s.HeadDim, b.k.nr) * b.k.nr, nr: b.k.nr, block: blockKeys}
	if s.DType == device.BF16Dot && b.k.gemmPairs != nil {
		shape.pairs, shape.block = true, blockPairs
	}
	return shape
}

// depth is how many rows a panel of keys has.
func (s kvShape) depth() int { return s.steps(s.dim) }

// steps is how many steps a sum over n products takes.
func (s kvShape) steps(n int) int {
	if s.pairs {
		return (n + 1) / 2
	}
	return n
}

// valuesAt is where the values of position pos are.
func (s kvShape) valuesAt(pos int) int {
	if s.pairs {
		pos /= 2
	}
	return pos * s.wide
}

// sizes are the values that keys and values of n positions take; n is a multiple of nr.
func (s kvShape) sizes(n int) (keys, values int) { return n * s.depth(), s.steps(n) * s.wide }

// pageSize is the values that a page takes.
func (s kvShape) pageSize() int {
	keys, values := s.sizes(s.block)
	return s.layers * s.heads * (keys + values)
}

// at is the part of p that belongs to a layer's kv head.
func (s kvShape) at(p *page, layer, head int) keyValues {
	keys, values := s.sizes(s.block)
	own := p.slab[(layer*s.heads+head)*(keys+values):][:keys+values]
	return keyValues{own[:keys], own[keys:]}
}

// at is where the keys and values of position pos lie, and its place there.
func (c *cache) at(pos, layer, head int) (keyValues, int) {
	return c.shape.at(c.pages[pos/c.shape.block], layer, head), pos % c.shape.block
}

// Len is the number of positions held.
func (c *cache) Len() int { return c.n }

// Advance makes n appended positions part of the sequence.
func (c *cache) Advance(n int) { c.n += n }

// Truncate forgets positions from n on.
func (c *cache) Truncate(n int) {
	c.n = min(c.n, n)
	c.drop(panels(c.n, c.shape.block))
}

// CopyPrefix makes c, which is empty, hold the first n positions of from: whole
// pages are shared, the rest is copied.
func (c *cache) CopyPrefix(from device.Cache, n int) {
	src := from.(*cache)
	whole := n / c.shape.block
	c.drop(0)
	for _, p := range src.pages[:whole] {
		p.refs++
		c.pages = append(c.pages, p)
	}
	if rest := n % c.shape.block; rest > 0 {
		c.pages = append(c.pages, c.copyOf(src.pages[whole], rest))
	}
	c.n = n
}

// Free gives the memory back to the backend.
func (c *cache) Free() {
	c.drop(0)
	c.n = 0
}

// drop lets go of all pages but the first keep.
func (c *cache) drop(keep int) {
	for i := keep; i < len(c.pages); i++ {
		c.release(c.pages[i])
		c.pages[i] = nil
	}
	c.pages = c.pages[:min(keep, len(c.pages))]
}

// release gives p back where nobody else holds it.
func (c *cache) release(p *page) {
	if p.refs--; p.refs == 0 {
		c.owner.kv = append(c.owner.kv, p)
	}
}

// reserve makes room for n more positions, in pages that are c's alone.
func (c *cache) reserve(n int) {
	if first := c.n / c.shape.block; first < len(c.pages) && c.pages[first].refs > 1 {
		shared := c.pages[first]
		c.pages[first] = c.copyOf(shared, c.n%c.shape.block)
		c.release(shared)
	}
	for len(c.pages) < panels(c.n+n, c.shape.block) {
		c.pages = append(c.pages, c.newPage())
	}
}

// newPage returns a page with any content, one that was given back where there is
// one of the size.
func (c *cache) newPage() *page {
	free, size := c.owner.kv, c.shape.pageSize()
	for i, p := range free {
		if len(p.slab) == size {
			free[i] = free[len(free)-1]
			c.owner.kv = free[:len(free)-1]
			p.refs = 1
			return p
		}
	}
	from := &slabs
	if c.shape.block == blockKeys {
		from = &smallSlabs // most of such a page is never used
	}
	return &page{slab: allocateIn(from, size), refs: 1}
}

// copyOf returns a page that holds the first n positions of p.
func (c *cache) copyOf(p *page, n int) *page {
	to := c.newPage()
	keys, values := c.shape.sizes(panels(n, c.shape.nr) * c.shape.nr)
	for layer := range c.shape.layers {
		for head := range c.shape.heads {
			dst, src := c.shape.at(to, layer, head), c.shape.at(p, layer, head)
			copy(dst.keys[:keys], src.keys)
			copy(dst.values[:values], src.values)
		}
	}
	return to
}
