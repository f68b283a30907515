package cpu

import "agentmill/internal/device"

// A kvShape is how keys and values of one kv head are laid out: keys in panels
// [nr keys][dim][nr], values in rows of wide = dim rounded up to nr.
type kvShape struct {
	layers, heads, dim, wide, nr int
}

// keyValues is the memory of one kv head of one layer.
type keyValues struct {
	keys, values []float32
}

// A cache is one slab [layer][kv head][keys | values] for capacity positions.
type cache struct {
	owner     *Backend
	shape     kvShape
	n, room   int
	slab      []float32
	keysSize  int // values of one head's keys
	valueSize int
}

// firstPositions is how many positions a cache has room for at first.
const firstPositions = 512

var _ device.PrefixCache = (*cache)(nil)

// NewCache makes room for capacity positions: for few at first, for more when
// they come, since most sequences stay far below their limit.
func (b *Backend) NewCache(layers, capacity int, s device.AttentionShape) device.Cache {
	c := &cache{owner: b, shape: b.kvShape(s)}
	c.shape.layers = layers
	c.grow(min(capacity, firstPositions))
	return c
}

func (b *Backend) kvShape(s device.AttentionShape) kvShape {
	return kvShape{heads: s.KVHeads, dim: s.HeadDim, wide: panels(s.HeadDim, b.k.nr) * b.k.nr, nr: b.k.nr}
}

// sizes are the values that keys and values of n positions take; n is a multiple of nr.
func (s kvShape) sizes(n int) (keys, values int) { return n * s.dim, n * s.wide }

// Len is the number of positions held.
func (c *cache) Len() int { return c.n }

// Advance makes n appended positions part of the sequence.
func (c *cache) Advance(n int) { c.n += n }

// Truncate forgets positions from n on.
func (c *cache) Truncate(n int) { c.n = min(c.n, n) }

// CopyPrefix makes c, which is empty, hold the first n positions of from.
func (c *cache) CopyPrefix(from device.Cache, n int) {
	src := from.(*cache)
	c.grow(n)
	keys, values := c.shape.sizes(panels(n, c.shape.nr) * c.shape.nr)
	for i := range c.shape.layers * c.shape.heads {
		to, own := c.at(0, i), src.at(0, i)
		copy(to.keys[:keys], own.keys)
		copy(to.values[:values], own.values)
	}
	c.n = n
}

// Free gives the memory back to the backend.
func (c *cache) Free() {
	if c.slab != nil {
		c.owner.kv = append(c.owner.kv, c.slab)
	}
	c.slab, c.n, c.room = nil, 0, 0
}

// at is the memory of a layer's kv head.
func (c *cache) at(layer, head int) keyValues {
	both := c.keysSize + c.valueSize
	own := c.slab[(layer*c.shape.heads+head)*both:][:both]
	return keyValues{own[:c.keysSize], own[c.keysSize:]}
}

// grow makes room for n positions, keeping those held.
func (c *cache) grow(n int) {
	if n <= c.room && c.slab != nil {
		return
	}
	old := *c
	c.room = panels(max(n, 2*old.room, c.shape.nr), c.shape.nr) * c.shape.nr
	c.keysSize, c.valueSize = c.shape.sizes(c.room)
	c.slab = c.owner.takeSlab(c.shape.layers * c.shape.heads * (c.keysSize + c.valueSize))
	if old.slab == nil {
		return
	}
	for i := range c.shape.layers * c.shape.heads {
		from, to := old.at(0, i), c.at(0, i)
		copy(to.keys, from.keys)
		copy(to.values, from.values)
	}
	c.owner.kv = append(c.owner.kv, old.slab)
}

// takeSlab returns n values with any content, from a freed cache where one
// fits. Only pages that get written take memory, so a capacity that is never
// used costs nothing.
func (b *Backend) takeSlab(n int) []float32 {
	for i, s := range b.kv {
		if cap(s) >= n && cap(s) <= 2*n {
			b.kv[i] = b.kv[len(b.kv)-1]
			b.kv = b.kv[:len(b.kv)-1]
			return s[:n]
		}
	}
	return allocateIn(&smallSlabs, n)
}
