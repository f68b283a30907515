package cpu

import (
	"cmp"

	"agentmill/internal/device"
)

const (
	// blockK is the most steps of k a kernel runs in one go: a tile's rows of a
	// stay in the first cache. It is a multiple of every nr.
	blockK = 768
	// blockRows is the most rows of a product that share a pass over panels:
	// they stay in the second cache.
	blockRows = 240
)

// stepK is how k is cut: into equal blocks of at most blockK. It depends on k alone (D2).
func stepK(k int) int {
	parts := max(1, (k+blockK-1)/blockK)
	return (k + parts - 1) / parts
}

// A grid cuts a product into units of rows × panels. No result depends on it.
type grid struct {
	rows, panels           int
	rowBlocks, panelGroups int
}

const (
	// unitsEach is how many units a worker gets, so that none waits long for another.
	unitsEach = 12
	// unitWork is the least multiply-adds of a unit: about a microsecond's.
	unitWork = 1 << 17
)

// gridOf makes blocks of at most block rows, and groups of at least least
// panels; k is the length of the sums.
func (b *Backend) gridOf(rows, panels, k, block, least int) grid {
	g := grid{rows: rows, panels: panels, rowBlocks: max(1, (rows+block-1)/block)}
	work := max(1, rows*k*b.k.nr/g.rowBlocks) // of a panel
	least = max(least, unitWork/work, 1)
	workers := len(b.pool.workers)
	g.panelGroups = max(1, min(panels/least, (unitsEach*workers+g.rowBlocks-1)/g.rowBlocks))
	if g.rowBlocks == 1 && g.panelGroups > workers {
		g.panelGroups -= g.panelGroups % workers // all workers get the same
	}
	return g
}

func (g grid) units() int { return g.rowBlocks * g.panelGroups }

// unit returns the rows and panels of a unit.
func (g grid) unit(i int) (r0, r1, p0, p1 int) {
	r, p := i%g.rowBlocks, i/g.rowBlocks
	return r * g.rows / g.rowBlocks, (r + 1) * g.rows / g.rowBlocks, p * g.panels / g.panelGroups, (p + 1) * g.panels / g.panelGroups
}

// Linear computes y = x·wᵀ, or adds it to y.
func (b *Backend) Linear(y, x device.Mat, w device.Weight, add bool) {
	own := w.(*weight)
	j := &b.jobs.product
	*j = productJob{k: b.k, c: view(y), a: view(x), w: own, b: own.packed, add: add}
	need("Linear", j.c.rows == j.a.rows && j.a.cols == own.in && j.c.cols == own.out)
	b.multiply(j)
}

// LinearInputGrad adds dy·w to dx.
func (b *Backend) LinearInputGrad(dx, dy device.Mat, w device.Weight) {
	own := w.(*weight)
	j := &b.jobs.product
	*j = productJob{k: b.k, c: view(dx), a: view(dy), w: own, add: true}
	need("LinearInputGrad", j.c.rows == j.a.rows && j.c.cols == own.in && j.a.cols == own.out)
	if j.a.rows == 0 {
		return
	}
	b.turn(own)
	j.b = own.turned
	b.multiply(j)
}

// A productJob computes c[rows, n] = a[rows, k]·b, or adds it.
type productJob struct {
	k    *kernels
	c, a mat
	w    *weight // owns the memory of b
	b    packed
	add  bool
	grid grid
	move bool // rows of a must be moved apart

	workers int
}

// aliasing is the distance in values at which rows fall on each other in the caches.
const aliasing = 1024

func (b *Backend) multiply(j *productJob) {
	if j.a.rows == 0 {
		return
	}
	least := 1
	if j.w.pairs {
		b.roundRows(j)
	}
	if j.a.stride%aliasing == 0 && j.a.rows > 2*b.k.mr {
		j.move, least = true, 8
	}
	j.grid = b.gridOf(j.a.rows, panels(j.c.cols, b.k.nr), j.a.cols, blockRows, least)
	j.workers = len(b.pool.workers)
	b.pool.do(j, j.grid.units())
}

func (j *productJob) run(w *worker, unit int) {
	nr, inner := j.k.nr, j.a.cols // inner counts pairs where b has them
	r0, r1, p0, p1 := j.grid.unit(unit)
	step := max(1, stepK(inner))
	for k0 := 0; k0 < max(inner, 1); k0 += step {
		k := min(step, inner-k0)
		w.tile = tile{aRow: j.a.stride, aK: 1, bK: nr, cRow: j.c.stride, k: k, add: j.add || k0 > 0, pairs: j.b.pairs}
		a := j.a.data[r0*j.a.stride+k0:]
		if j.move {
			a = j.apart(w, a, r1-r0, k)
		}
		for p := p0; p < p1; p++ {
			w.tile.setB(j.b, p, (p*inner+k0)*nr)
			w.tile.next = cmp.Or(j.after(unit, p, k0)*j.b.stepBytes(nr), near)
			j.k.sweep(w, a, 0, j.c.data[r0*j.c.stride+p*nr:], r1-r0, min(nr, j.c.cols-p*nr))
		}
	}
}

// after is how many steps of k from those of panel p that begin with k0 the next
// ones of the worker lie, if that can be known: the workers take turns.
func (j *productJob) after(unit, p, k0 int) int {
	inner := j.a.cols
	_, _, p0, p1 := j.grid.unit(unit)
	switch step := stepK(inner); {
	case p+1 < p1:
		return inner
	case k0+step < inner:
		return (p0-p)*inner + step
	}
	if j.grid.rowBlocks > 1 || unit+j.workers >= j.grid.units() {
		return 0
	}
	_, _, p0, _ = j.grid.unit(unit + j.workers)
	return (p0-p)*inner - k0
}

// apart copies rows of a to scratch memory, an odd number of cache lines apart.
func (j *productJob) apart(w *worker, a []float32, rows, k int) []float32 {
	const line = 16
	stride := (k+line-1)/line*line + line
	if stride/line%2 == 0 {
		stride += line
	}
	moved := w.floats(slotRows, rows*stride)
	for t := range rows {
		copy(moved[t*stride:], a[t*w.tile.aRow:][:k])
	}
	w.tile.aRow = stride
	return moved
}

// setB points the tile at values of panel p of a packed matrix.
func (t *tile) setB(b packed, p, at int) {
	switch {
	case b.int8 != nil:
		t.b8, t.steps = b.int8[at:], b.steps[p*t.bK:]
	case b.pairs:
		t.b = words(b.bf16)[at:]
	case b.bf16 != nil:
		t.b16 = b.bf16[at:]
	default:
		t.b = b.f32[at:]
	}
}

// near is how many bytes of a panel are fetched ahead where a tile reads it once.
// Measured with weights from memory: 8 rows of bfloat16 go from 48 to 88 % of the
// peak, of float32 from 38 to 48 %; 4 and 32 KB do the same within the noise.
const near = 8192

// fetch says what pass i of passes over a panel fetches: a share of the next
// panel, so that memory is as busy in every pass; in a single one what comes soon.
func (t *tile) fetch(i, passes int) {
	size := 4 * t.bK
	switch {
	case t.b8 != nil:
		size = t.bK
	case t.b16 != nil:
		size = 2 * t.bK
	}
	if passes == 1 || t.next == near {
		t.ahead, t.aheadStep = near, size
		return
	}
	t.aheadStep = (size + passes - 1) / passes
	t.ahead = t.next + i*t.k*t.aheadStep
}

// sweep runs the worker's tile over rows rows of a and c, of which cols columns
// exist. Rows are cut into tiles of nearly equal height. With aTile set, a
// holds tiles of that size, one after the other.
func (k *kernels) sweep(w *worker, a []float32, aTile int, c []float32, rows, cols int) {
	t := &w.tile
	parts := panels(rows, k.mr)
	for i := range parts {
		from, to := i*rows/parts, (i+1)*rows/parts
		t.rows = to - from
		if t.next != 0 {
			t.fetch(i, parts)
		}
		if aTile > 0 {
			t.a = a[i*aTile:]
		} else {
			t.a = a[from*t.aRow:]
		}
		if cols == k.nr {
			t.c = c[from*t.cRow:]
			k.run(t)
			continue
		}
		k.edge(w, c[from*t.cRow:], cols)
	}
}

func (k *kernels) run(t *tile) {
	switch {
	case t.pairs:
		k.gemmPairs(t)
	case t.b8 != nil:
		k.gemm8(t)
	case t.b16 != nil:
		k.gemm16(t)
	default:
		k.gemm(t)
	}
}

// edge runs a tile whose last columns do not exist through scratch memory.
func (k *kernels) edge(w *worker, c []float32, cols int) {
	t := &w.tile
	add, stride := t.add, t.cRow
	t.c, t.cRow, t.add = w.floats(slotEdge, t.rows*k.nr), k.nr, false
	k.run(t)
	for i := range t.rows {
		src, dst := t.c[i*k.nr:][:cols], c[i*stride:][:cols]
		if !add {
			copy(dst, src)
			continue
		}
		for j, v := range src {
			dst[j] += v
		}
	}
	t.cRow, t.add = stride, add
}
