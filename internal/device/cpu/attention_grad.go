package cpu

import (
	"slices"

	"agentmill/internal/device"
)

// gradRows is about how many stacked rows the gradient takes at a time: enough
// steps of k for the gradients of keys and values, few enough for the second cache.
const gradRows = 48

// AttentionGrad overwrites dqkv from dout.
func (b *Backend) AttentionGrad(dqkv, dout, out device.Mat, lse device.Buffer, qkv device.Mat, s device.AttentionShape, seqs []device.Seq) {
	call := attentionCall{k: b.k, qkv: view(qkv), s: s, kv: b.kvShape(s), seqs: seqs, scratch: &b.attention}
	j := &b.jobs.attendGrad
	j.attentionCall = call
	j.dqkv, j.dout, j.out, j.lse = view(dqkv), view(dout), view(out), data(lse)
	need("AttentionGrad", j.dqkv.rows == qkv.Rows && j.dqkv.cols == s.Width() && len(j.lse) >= qkv.Rows*s.Heads)
	shared := j.list()
	b.pool.do(j, len(j.order))
	if shared > 0 {
		p := &b.jobs.prefixGrad
		p.k, p.seqs, p.sums = b.k, seqs, j.shared
		p.dqkv = mat{j.dqkv.data[s.Heads*s.HeadDim:], qkv.Rows, j.shared.cols, j.dqkv.stride}
		var parts int
		p.size, parts = b.rowSplit(p.dqkv.rows, p.dqkv.cols)
		b.pool.do(p, parts)
	}
}

// An attendGradJob computes all gradients of one kv head of one sequence, so
// that the sums over queries have one order (D3).
type attendGradJob struct {
	attentionCall
	dqkv, dout, out mat
	lse             []float32
	order           []headKeys
	shared          mat   // gradients [K·D | K·D] of prefixes, one sequence's after another's
	at              []int // a sequence's first row there
}

// list lists the units, the long ones first, and makes room for the gradients of
// prefixes; it returns how many rows those have.
func (j *attendGradJob) list() (rows int) {
	j.order, j.at = j.order[:0], j.at[:0]
	for i, q := range j.seqs {
		past := q.Past()
		for h := range j.s.KVHeads {
			j.order = append(j.order, headKeys{seq: i, head: h, past: past})
		}
		j.at = append(j.at, rows)
		rows += past
	}
	slices.SortStableFunc(j.order, func(x, y headKeys) int { return j.seqs[y.seq].Len - j.seqs[x.seq].Len })
	cols := 2 * j.s.KVHeads * j.s.HeadDim
	j.scratch.grads = regrow(j.scratch.grads, rows*cols)
	j.shared = mat{j.scratch.grads, rows, cols, cols}
	return rows
}

// A gradHead is the packed state of one unit.
type gradHead struct {
	headKeys
	pad            int       // keys, rounded up to nr
	valuePanels    []float32 // values in panels, as keys are
	keyRows        []float32 // keys in rows, as values are
	dkeys, dvalues []float32 // in rows of wide
}

func (j *attendGradJob) run(w *worker, unit int) {
	g := j.pack(w, j.order[unit])
	rows := j.seqs[g.seq].Len * j.group()
	step := panels(gradRows, j.k.mr) * j.k.mr
	for from := 0; from < rows; from += step {
		j.block(w, g, attendTile{from: from, to: min(from+step, rows)})
	}
	j.store(g)
}

// pack lays out keys and values both ways and clears their gradients.
func (j *attendGradJob) pack(w *worker, h headKeys) *gradHead {
	seq, dim, wide, nr := j.seqs[h.seq], j.s.HeadDim, j.kv.wide, j.kv.nr
	g := &w.grad
	*g = gradHead{headKeys: h, pad: panels(h.past+seq.Len, nr) * nr}
	depth := j.kv.depth()
	slab := w.floats(slotKeys, g.pad*(depth+dim)+g.pad*3*wide)
	take := func(n int) []float32 {
		part := slab[:n]
		slab = slab[n:]
		return part
	}
	g.keys, g.valuePanels = take(g.pad*depth), take(g.pad*dim)
	g.keyRows, g.dkeys, g.dvalues = take(g.pad*wide), take(g.pad*wide), take(g.pad*wide)
	clear(g.dkeys)
	clear(g.dvalues)
	if (h.past+seq.Len)%nr > 0 { // what no key fills
		clear(g.keys[(g.pad-nr)*depth:])
		clear(g.valuePanels[(g.pad-nr)*dim:])
	}
	pos := 0
	for _, p := range seq.Prefix {
		j.packRows(w, g, pos, p)
		pos += p.Len
	}
	j.packRows(w, g, pos, device.Span{Start: seq.Start, Len: seq.Len})
	return g
}

// packRows lays out keys and values of rows at positions from pos on.
func (j *attendGradJob) packRows(w *worker, g *gradHead, pos int, from device.Span) {
	dim, wide, nr := j.s.HeadDim, j.kv.wide, j.kv.nr
	atK := (j.s.Heads + g.head) * dim
	atV := atK + j.s.KVHeads*dim
	for t := 0; t < from.Len; {
		n := min(nr-pos%nr, from.Len-t)
		rows := j.qkv.data[(from.Start+t)*j.qkv.stride:]
		first, column := pos/nr*nr, pos%nr // of the panel
		j.storeKeys(w, g.keys[first*j.kv.depth()+column:], mat{rows[atK:], n, dim, j.qkv.stride})
		j.k.transpose(g.valuePanels[first*dim+column:], nr, rows[atV:], j.qkv.stride, n, dim)
		for i := range n {
			row := g.keyRows[(pos+i)*wide:][:wide]
			clear(row[copy(row, rows[i*j.qkv.stride+atK:][:dim]):])
		}
		t, pos = t+n, pos+n
	}
}

// block takes the rows of u through: probabilities from the log-sum-exp, their
// gradients, and from both the gradients of queries, keys and values.
func (j *attendGradJob) block(w *worker, g *gradHead, u attendTile) {
	rows, dim, wide := u.to-u.from, j.s.HeadDim, j.kv.wide
	keys := g.past + (u.to-1)/j.group() + 1
	pad := panels(keys, j.kv.nr) * j.kv.nr
	p, ds := w.floats(slotScores, rows*pad), w.floats(slotDscores, rows*pad)
	dout, dq := w.floats(slotDout, rows*wide), w.floats(slotOut, rows*wide)
	clear(dout)
	j.stack(dout, j.dout, &g.headKeys, u, 1, wide)
	j.scores(w, p, pad, &g.headKeys, u)
	w.tile = tile{aRow: wide, aK: 1, bK: j.kv.nr, cRow: pad, k: dim}
	for at := 0; at < pad; at += j.kv.nr {
		w.tile.b = g.valuePanels[at*dim:]
		j.k.sweep(w, dout, 0, ds[at:], rows, j.kv.nr)
	}
	for r := range rows {
		j.rowGrad(p[r*pad:][:pad], ds[r*pad:][:pad], dout[r*wide:][:dim], g, u.from+r)
	}
	plain := j.attentionCall
	plain.kv.pairs = false
	plain.weigh(w, dq, ds, pad, &headKeys{keyValues: keyValues{values: g.keyRows}}, rows, keys)
	for r := range rows {
		t, head := j.place(&g.headKeys, u.from+r)
		j.k.scale(j.dqkv.row(t)[head*dim:][:dim], j.scale(), dq[r*wide:][:dim])
	}
	j.spread(w, g.dvalues, p, dout, rows, keys, pad)
	clear(dq)
	j.stack(dq, j.qkv, &g.headKeys, u, j.scale(), wide)
	j.spread(w, g.dkeys, ds, dq, rows, keys, pad)
}

// rowGrad turns scores into probabilities and their gradients into those of the scores.
func (j *attendGradJob) rowGrad(p, ds, dout []float32, g *gradHead, r int) {
	n := g.past + r/j.group() + 1
	t, head := j.place(&g.headKeys, r)
	delta := j.k.dot(dout, j.out.row(t)[head*j.s.HeadDim:][:j.s.HeadDim])
	j.k.expMul(p[:n], p[:n], j.scoreScale(), -j.lse[t*j.s.Heads+head], 1)
	j.k.mulDiff(ds[:n], p[:n], delta)
	clear(p[n:])
	clear(ds[n:])
}

// spread adds p[rows, keys]ᵀ·x[rows, wide] to sum[keys, wide].
func (j *attendGradJob) spread(w *worker, sum, p, x []float32, rows, keys, pad int) {
	wide := j.kv.wide
	w.tile = tile{aRow: 1, aK: pad, bK: wide, cRow: wide, k: rows, add: true}
	for at := 0; at < wide; at += j.kv.nr {
		w.tile.b = x[at:]
		j.k.sweep(w, p, 0, sum[at:], keys, j.kv.nr)
	}
}

// store copies the gradients of keys and values to their places: those of a
// prefix to where they are added up.
func (j *attendGradJob) store(g *gradHead) {
	seq, dim := j.seqs[g.seq], j.s.HeadDim
	atK, values := g.head*dim, j.s.KVHeads*dim
	put := func(row []float32, pos int) {
		copy(row[atK:][:dim], g.dkeys[pos*j.kv.wide:])
		copy(row[atK+values:][:dim], g.dvalues[pos*j.kv.wide:])
	}
	for pos := range g.past {
		put(j.shared.row(j.at[g.seq]+pos), pos)
	}
	for t := range seq.Len {
		put(j.dqkv.row(seq.Start + t)[j.s.Heads*dim:], g.past+t)
	}
}

// A prefixGradJob adds what sequences leave to the rows of their prefixes.
type prefixGradJob struct {
	k          *kernels
	seqs       []device.Seq
	dqkv, sums mat // the columns [K·D | K·D]
	size       int
}

// run adds to a range of rows, in the order of sequences (D3).
func (j *prefixGradJob) run(_ *worker, unit int) {
	first, end := unit*j.size, min((unit+1)*j.size, j.dqkv.rows)
	at := 0 // the row of sums
	for _, q := range j.seqs {
		for _, p := range q.Prefix {
			for t := max(p.Start, first); t < min(p.Start+p.Len, end); t++ {
				j.k.axpy(j.dqkv.row(t), 1, j.sums.row(at+t-p.Start))
			}
			at += p.Len
		}
	}
}
