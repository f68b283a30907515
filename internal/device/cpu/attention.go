package cpu

import (
	"math"

	"agentmill/internal/device"
)

// Attention works by kv head. Its query heads are stacked: row r of a stack is
// query head r%group of token r/group, so one token alone still fills a tile.
// Keys lie in panels like a weight and values in rows, both in a cache or in
// memory of the call, so that scores and outputs are ordinary tiles. A row's
// scores are all there before its softmax: nothing depends on where tiles begin.

// The most keys of one output tile; blocks start at its multiples, which are
// multiples of nr. Pairs have fewer, since a page of a cache holds as many.
const (
	blockKeys  = 512
	blockPairs = 128
)

// attentionScratch is the memory of calls without a cache.
type attentionScratch struct {
	heads []headKeys
	tiles []attendTile
	cut   bool // a head has several tiles
	slab  []float32
	grads []float32 // of prefixes
}

// headKeys is one kv head of one sequence of a call. Its memory is of the call,
// or the pages of a cache.
type headKeys struct {
	keyValues
	cache *cache
	layer int
	seq   int
	head  int
	past  int // keys before the sequence's own
}

// from is the memory of the keys and values from position pos on, as far as it
// has no gap.
func (h *headKeys) from(pos int) (keyValues, int) {
	if h.cache == nil {
		return h.keyValues, pos
	}
	return h.cache.at(pos, h.layer, h.head)
}

// An attendTile is a unit: rows from to to of the stack of heads[at]. Alone, it
// is the whole stack.
type attendTile struct {
	at, from, to int
	alone        bool
}

// Attention is causal grouped-query attention; see device.Backend.
func (b *Backend) Attention(out device.Mat, lse device.Buffer, qkv device.Mat, s device.AttentionShape, seqs []device.Seq, layer int) {
	call := attentionCall{k: b.k, qkv: view(qkv), s: s, kv: b.kvShape(s), seqs: seqs, scratch: &b.attention}
	need("Attention", out.Rows == qkv.Rows && qkv.Cols == s.Width() && out.Cols == s.Heads*s.HeadDim)
	b.prepare(&call, layer)
	if b.attention.cut { // else each tile stores its own
		b.jobs.keys.attentionCall = call
		b.pool.do(&b.jobs.keys, len(b.attention.heads))
	}
	j := &b.jobs.attend
	j.attentionCall, j.out, j.lse, j.workers = call, view(out), data(lse), len(b.pool.workers)
	b.pool.do(j, len(b.attention.tiles))
}

// An attentionCall is what the jobs of one call share.
type attentionCall struct {
	k       *kernels
	qkv     mat
	s       device.AttentionShape
	kv      kvShape
	seqs    []device.Seq
	scratch *attentionScratch
}

func (c *attentionCall) group() int     { return c.s.Heads / c.s.KVHeads }
func (c *attentionCall) scale() float32 { return float32(1 / math.Sqrt(float64(c.s.HeadDim))) }

// prepare lists heads and tiles and finds the memory of keys and values.
func (b *Backend) prepare(c *attentionCall, layer int) {
	a := &b.attention
	a.heads, a.tiles, a.cut = a.heads[:0], a.tiles[:0], false
	a.reserve(c)
	used := 0
	for i, q := range c.seqs {
		past := q.Past()
		keys, values := c.kv.sizes(panels(past+q.Len, c.kv.nr) * c.kv.nr)
		for h := range c.s.KVHeads {
			head := headKeys{seq: i, head: h, past: past}
			if q.Cache == nil {
				own := a.slab[used:][:keys+values]
				used += keys + values
				head.keyValues = keyValues{own[:keys], own[keys:]}
			} else {
				head.cache, head.layer = q.Cache.(*cache), layer
				head.past = head.cache.n
				head.cache.reserve(q.Len)
			}
			a.heads = append(a.heads, head)
		}
	}
	a.listTiles(c)
}

// reserve makes the slab large enough for all sequences without a cache.
func (a *attentionScratch) reserve(c *attentionCall) {
	size := 0
	for _, q := range c.seqs {
		if q.Cache == nil {
			keys, values := c.kv.sizes(panels(q.Past()+q.Len, c.kv.nr) * c.kv.nr)
			size += c.s.KVHeads * (keys + values)
		}
	}
	a.slab = regrow(a.slab, size)
}

// listTiles cuts every stack into tiles, the long ones first.
func (a *attentionScratch) listTiles(c *attentionCall) {
	for i := range a.heads {
		rows := c.seqs[a.heads[i].seq].Len * c.group()
		parts := panels(rows, c.k.mr)
		a.cut = a.cut || parts > 1
		for p := parts - 1; p >= 0; p-- {
			a.tiles = append(a.tiles, attendTile{i, p * rows / parts, (p + 1) * rows / parts, parts == 1})
		}
	}
}

// A keysJob writes the new keys and values of one head that has several tiles.
type keysJob struct{ attentionCall }

func (j *keysJob) run(w *worker, unit int) {
	if h := &j.scratch.heads[unit]; j.seqs[h.seq].Len*j.group() > j.k.mr {
		j.storeNew(w, h)
	}
}

// storeNew writes the new keys and values of a head. Those of a prefix are copied
// for every sequence that has it, so that a row's keys lie in order: that costs
// little beside the products, and keeps their bits.
func (c *attentionCall) storeNew(w *worker, h *headKeys) {
	seq := c.seqs[h.seq]
	pos := h.past - seq.Past()
	for _, p := range seq.Prefix {
		c.storeRows(w, h, pos, p)
		pos += p.Len
	}
	c.storeRows(w, h, pos, device.Span{Start: seq.Start, Len: seq.Len})
}

// storeRows writes keys and values of rows to positions from pos on.
func (c *attentionCall) storeRows(w *worker, h *headKeys, pos int, from device.Span) {
	dim, nr := c.s.HeadDim, c.kv.nr
	atK := (c.s.Heads + h.head) * dim
	atV := atK + c.s.KVHeads*dim
	for t := 0; t < from.Len; {
		n := min(nr-pos%nr, from.Len-t) // keys that go to this panel
		rows := mat{c.qkv.data[(from.Start+t)*c.qkv.stride:], n, dim, c.qkv.stride}
		own, at := h.from(pos)
		c.storeKeys(w, own.keys[at/nr*nr*c.kv.depth()+at%nr:], mat{rows.data[atK:], n, dim, rows.stride})
		c.storeValues(w, own.values, at, mat{rows.data[atV:], n, dim, rows.stride})
		t, pos = t+n, pos+n
	}
}

// storeKeys writes rows of keys to columns of a panel.
func (c *attentionCall) storeKeys(w *worker, panel []float32, rows mat) {
	if c.kv.pairs {
		rows = c.k.roundedRows(w.floats(slotRows, rows.rows*c.kv.depth()), rows)
	}
	c.k.transpose(panel, c.kv.nr, rows.data, rows.stride, rows.rows, rows.cols)
}

// storeValues writes rows of values from position at on.
func (c *attentionCall) storeValues(w *worker, values []float32, at int, rows mat) {
	if c.kv.pairs {
		c.pairValues(w, values, at, rows)
		return
	}
	for i := range rows.rows {
		v := values[c.kv.valuesAt(at+i):][:c.kv.wide]
		clear(v[copy(v, rows.row(i)):])
	}
}

// An attendJob computes one tile of stacked rows.
type attendJob struct {
	attentionCall
	out     mat
	lse     []float32
	workers int
}

func (j *attendJob) run(w *worker, unit int) {
	u := j.scratch.tiles[unit]
	h := &j.scratch.heads[u.at]
	rows, group := u.to-u.from, j.group()
	keys := h.past + (u.to-1)/group + 1
	pad, scale := panels(keys, j.kv.nr)*j.kv.nr, j.scoreScale()
	if u.alone {
		j.storeNew(w, h)
	}
	p := w.floats(slotScores, rows*pad)
	j.scores(w, p, pad, h, u)
	o := w.floats(slotOut, rows*j.kv.wide)
	for r := range rows {
		n := h.past + (u.from+r)/group + 1
		row := p[r*pad:][:pad]
		top := scale * j.k.maxOf(row[:n])
		sum := j.k.expSum(row[:n], row[:n], scale, -top)
		clear(row[n:])
		if j.kv.pairs {
			j.k.pairs(halves(row)[:pad], row)
		}
		j.keep(h, u.from+r, top, sum)
		w.sums[r] = sum
	}
	if next := unit + j.workers; u.alone && next < len(j.scratch.tiles) {
		j.fetchKeys(&j.scratch.heads[j.scratch.tiles[next].at])
	}
	j.weigh(w, o, p, pad, h, rows, keys)
	for r := range rows {
		t, head := j.place(h, u.from+r)
		j.k.scale(j.out.row(t)[head*j.s.HeadDim:][:j.s.HeadDim], 1/w.sums[r], o[r*j.kv.wide:][:j.s.HeadDim])
	}
}

// fetched is the most values that are fetched at a time: of longer sequences the
// processor sees by itself what comes next.
const fetched = 4096

// fetchKeys starts to bring the first keys of the head near that the worker
// probably takes next.
func (j *attendJob) fetchKeys(h *headKeys) {
	own, _ := h.from(0)
	keys := h.past + j.seqs[h.seq].Len
	n := min(panels(min(keys, j.kv.block), j.kv.nr)*j.kv.nr*j.kv.depth(), fetched)
	j.k.fetch(own.keys[:n])
}

// keep stores the log-sum-exp of row r.
func (j *attendJob) keep(h *headKeys, r int, top, sum float32) {
	if j.lse == nil {
		return
	}
	t, head := j.place(h, r)
	j.lse[t*j.s.Heads+head] = top + float32(math.Log(float64(sum)))
}

// place is the token and query head of row r of a stack.
func (c *attentionCall) place(h *headKeys, r int) (token, head int) {
	group := c.group()
	return c.seqs[h.seq].Start + r/group, h.head*group + r%group
}

// stack copies scale times the rows of a tile from a matrix with a column per head and dimension.
func (c *attentionCall) stack(dst []float32, m mat, h *headKeys, u attendTile, scale float32, stride int) {
	for r := range u.to - u.from {
		t, head := c.place(h, u.from+r)
		c.k.scale(dst[r*stride:][:c.s.HeadDim], scale, m.row(t)[head*c.s.HeadDim:][:c.s.HeadDim])
	}
}

// scores sets p[rows, pad] to the scores of a tile against all its keys, which
// scoreScale is still to be multiplied with.
func (c *attentionCall) scores(w *worker, p []float32, pad int, h *headKeys, u attendTile) {
	depth := c.kv.depth()
	q := w.floats(slotQuery, (u.to-u.from)*depth)
	if c.kv.pairs {
		c.stackPairs(q, h, u)
	} else {
		c.stack(q, c.qkv, h, u, c.scale(), depth)
	}
	w.tile = tile{aRow: depth, aK: 1, bK: c.kv.nr, cRow: pad, k: depth, pairs: c.kv.pairs}
	w.tile.aheadStep = 4 * c.kv.nr
	for at := 0; at < pad; at += c.kv.nr {
		own, pos := h.from(at)
		w.tile.b = own.keys[pos*depth:]
		w.tile.ahead = 0
		if at+c.kv.nr < pad {
			w.tile.ahead = 4 * c.kv.nr * depth
		}
		c.k.sweep(w, q, 0, p[at:], u.to-u.from, c.kv.nr)
	}
}

// scoreScale is what scores are multiplied with after they are summed: queries
// that are rounded are not scaled before.
func (c *attentionCall) scoreScale() float32 {
	if c.kv.pairs {
		return c.scale()
	}
	return 1
}

// weigh sets o[rows, wide] to p[rows, keys]·values.
func (c *attentionCall) weigh(w *worker, o, p []float32, pad int, h *headKeys, rows, keys int) {
	wide := c.kv.wide
	for k0 := 0; k0 < keys; k0 += c.kv.block {
		k := c.kv.steps(min(c.kv.block, keys-k0))
		w.tile = tile{aRow: pad, aK: 1, bK: wide, cRow: wide, k: k, add: k0 > 0, pairs: c.kv.pairs}
		own, pos := h.from(k0)
		for at := 0; at < wide; at += c.kv.nr {
			w.tile.b = own.values[c.kv.valuesAt(pos)+at:]
			c.k.sweep(w, p[c.kv.steps(k0):], 0, o[at:], rows, c.kv.nr)
		}
	}
}
