package cpu

import "agentmill/internal/device"

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

// A grid cuts a product into units of rows × panels.
type grid struct {
	rowBlock, rowBlocks int
	group, groups       int // panels a unit, and the number of such groups
}

// gridOf makes about four units a worker, of whole tiles. No result depends on it.
func (b *Backend) gridOf(rows, panels int) grid {
	g := grid{rowBlocks: max(1, (rows+blockRows-1)/blockRows)}
	g.rowBlock = (rows + g.rowBlocks - 1) / g.rowBlocks
	want := max(1, (4*len(b.pool.workers)+g.rowBlocks-1)/g.rowBlocks)
	g.group = max(1, panels/want)
	g.groups = (panels + g.group - 1) / g.group
	return g
}

func (g grid) units() int { return g.rowBlocks * g.groups }

// unit returns the rows and panels of a unit.
func (g grid) unit(i, rows, panels int) (r0, r1, p0, p1 int) {
	r0 = i % g.rowBlocks * g.rowBlock
	p0 = i / g.rowBlocks * g.group
	return r0, min(r0+g.rowBlock, rows), p0, min(p0+g.group, panels)
}

// Linear computes y = x·wᵀ, or adds it to y.
func (b *Backend) Linear(y, x device.Mat, w device.Weight, add bool) {
	j := &b.jobs.linear
	*j = linearJob{k: b.k, y: view(y), x: view(x), w: w.(*weight), add: add}
	need("Linear", j.y.rows == j.x.rows && j.x.cols == j.w.in && j.y.cols == j.w.out)
	if j.y.rows == 0 {
		return
	}
	j.grid = b.gridOf(j.x.rows, panels(j.w.out, b.k.nr))
	b.pool.do(j, j.grid.units())
}

type linearJob struct {
	k    *kernels
	y, x mat
	w    *weight
	add  bool
	grid grid
}

func (j *linearJob) run(w *worker, unit int) {
	nr, in := j.k.nr, j.w.in
	r0, r1, p0, p1 := j.grid.unit(unit, j.x.rows, panels(j.w.out, nr))
	t := &w.tile
	step := stepK(in)
	for k0 := 0; k0 < max(in, 1); k0 += step {
		*t = tile{aRow: j.x.stride, aK: 1, bK: nr, cRow: j.y.stride, k: min(step, in-k0), add: j.add || k0 > 0}
		for p := p0; p < p1; p++ {
			at := (p*in + k0) * nr
			if j.w.dtype == device.BF16 {
				t.b16 = j.w.bf16[at:]
			} else {
				t.b = j.w.f32[at:]
			}
			j.k.sweep(w, j.x.data[r0*j.x.stride+k0:], j.y.data[r0*j.y.stride+p*nr:], r1-r0, min(nr, j.w.out-p*nr))
		}
		if step == 0 {
			return
		}
	}
}

// sweep runs the worker's tile over rows rows of a and c, of which cols columns
// exist. Rows are cut into tiles of nearly equal height.
func (k *kernels) sweep(w *worker, a, c []float32, rows, cols int) {
	t := &w.tile
	parts := (rows + k.mr - 1) / k.mr
	for i := range parts {
		from, to := i*rows/parts, (i+1)*rows/parts
		t.rows = to - from
		t.a = a[from*t.aRow:]
		if cols == k.nr {
			t.c = c[from*t.cRow:]
			k.multiply(t)
			continue
		}
		k.edge(w, c[from*t.cRow:], cols)
	}
}

func (k *kernels) multiply(t *tile) {
	if t.b16 != nil {
		k.gemm16(t)
		return
	}
	k.gemm(t)
}

// edge runs a tile whose last columns do not exist through scratch memory.
func (k *kernels) edge(w *worker, c []float32, cols int) {
	t := &w.tile
	add, stride := t.add, t.cRow
	t.c, t.cRow, t.add = w.floats(slotEdge, t.rows*k.nr), k.nr, false
	k.multiply(t)
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
