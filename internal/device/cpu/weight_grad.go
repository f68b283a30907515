package cpu

import "agentmill/internal/device"

// gradBlockRows is how many rows of a weight gradient are summed together:
// their columns of dy, packed, take half of the second cache.
const gradBlockRows = 96

// LinearWeightGrad adds dyᵀ·x to dw.
func (b *Backend) LinearWeightGrad(dw, dy, x device.Mat) {
	j := &b.jobs.weightGrad
	*j = weightGradJob{k: b.k, dw: view(dw), dy: view(dy), x: view(x)}
	need("LinearWeightGrad", j.dy.rows == j.x.rows && j.dw.rows == j.dy.cols && j.dw.cols == j.x.cols)
	if j.x.rows == 0 || j.dw.rows == 0 {
		return
	}
	n := panels(j.x.cols, b.k.nr)
	b.packedX = regrow(b.packedX, n*j.x.rows*b.k.nr)
	j.packed = b.packedX
	b.jobs.packX = packXJob{b.k, j.x, j.packed}
	b.pool.do(&b.jobs.packX, n)
	j.grid = b.gridOf(j.dw.rows, n, j.x.rows, gradBlockRows, 8)
	b.pool.do(j, j.grid.units())
}

// A packXJob copies x into panels [cols/nr][rows][nr].
type packXJob struct {
	k      *kernels
	x      mat
	packed []float32
}

func (j *packXJob) run(_ *worker, p int) {
	nr := j.k.nr
	cols := min(nr, j.x.cols-p*nr)
	panel := j.packed[p*j.x.rows*nr:][:j.x.rows*nr]
	if cols < nr {
		clear(panel)
	}
	j.k.copyRows(panel, nr, j.x.data[p*nr:], j.x.stride, j.x.rows, cols)
}

// A weightGradJob multiplies columns of dy, packed tile by tile, with panels of x.
type weightGradJob struct {
	k         *kernels
	dw, dy, x mat
	packed    []float32
	grid      grid
}

func (j *weightGradJob) run(w *worker, unit int) {
	nr, tokens := j.k.nr, j.x.rows
	r0, r1, p0, p1 := j.grid.unit(unit)
	step := stepK(tokens)
	for k0 := 0; k0 < tokens; k0 += step {
		k := min(step, tokens-k0)
		a := j.columns(w, k0, k, r0, r1-r0)
		w.tile = tile{aRow: 1, aK: j.k.mr, bK: nr, cRow: j.dw.stride, k: k, add: true}
		for p := p0; p < p1; p++ {
			w.tile.b = j.packed[(p*tokens+k0)*nr:]
			j.k.sweep(w, a, k*j.k.mr, j.dw.data[r0*j.dw.stride+p*nr:], r1-r0, min(nr, j.x.cols-p*nr))
		}
	}
}

// columns packs dy[k0:k0+k, r0:r0+rows] into tiles [k][mr], cut as sweep cuts.
func (j *weightGradJob) columns(w *worker, k0, k, r0, rows int) []float32 {
	mr := j.k.mr
	parts := panels(rows, mr)
	a := w.floats(slotRows, parts*k*mr)
	for i := range parts {
		from, to := i*rows/parts, (i+1)*rows/parts
		j.k.copyRows(a[i*k*mr:], mr, j.dy.data[k0*j.dy.stride+r0+from:], j.dy.stride, k, to-from)
	}
	return a
}
