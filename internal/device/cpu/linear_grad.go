package cpu

import "agentmill/internal/device"

// LinearInputGrad adds dy·w to dx.
func (b *Backend) LinearInputGrad(dx, dy device.Mat, w device.Weight) {
	j := &b.jobs.inputGrad
	*j = inputGradJob{k: b.k, dx: view(dx), dy: view(dy), w: w.(*weight)}
	need("LinearInputGrad", j.dx.rows == j.dy.rows && j.dx.cols == j.w.in && j.dy.cols == j.w.out)
	if j.dx.rows == 0 {
		return
	}
	j.grid = b.gridOf(j.dx.rows, panels(j.w.in, b.k.nr))
	b.pool.do(j, j.grid.units())
}

// An inputGradJob turns blocks of the packed weight as it needs them: that
// costs 1/rows of the product and spares a second copy of the weight.
type inputGradJob struct {
	k      *kernels
	dx, dy mat
	w      *weight
	grid   grid
}

func (j *inputGradJob) run(w *worker, unit int) {
	nr := j.k.nr
	r0, r1, p0, p1 := j.grid.unit(unit, j.dx.rows, panels(j.w.in, nr))
	t := &w.tile
	for p := p0; p < p1; p++ {
		cols := min(nr, j.w.in-p*nr)
		for k0 := 0; k0 < j.w.out; k0 += blockK {
			k := min(blockK, j.w.out-k0)
			*t = tile{aRow: j.dy.stride, aK: 1, bK: nr, cRow: j.dx.stride, k: k, add: true}
			t.b = j.turn(w, k0, k, p*nr, cols)
			j.k.sweep(w, j.dy.data[r0*j.dy.stride+k0:], j.dx.data[r0*j.dx.stride+p*nr:], r1-r0, cols)
		}
	}
}

// turn packs w[k0:k0+k, c0:c0+cols] into a panel [k, nr].
func (j *inputGradJob) turn(w *worker, k0, k, c0, cols int) []float32 {
	nr, in := j.k.nr, j.w.in
	panel := w.floats(slotPanel, (k+nr-1)/nr*nr*nr)
	if cols < nr {
		clear(panel)
	}
	for o := 0; o < k; o += nr {
		at := ((k0+o)*in + c0*nr)
		var block []float32
		if j.w.dtype == device.BF16 {
			block = w.floats(slotWide, cols*nr)
			j.k.widen(block, j.w.bf16[at:][:cols*nr], nr)
		} else {
			block = j.w.f32[at:][:cols*nr]
		}
		j.k.transpose(panel[o*nr:], nr, block, nr, cols, nr)
	}
	return panel
}

// LinearWeightGrad adds dyᵀ·x to dw.
func (b *Backend) LinearWeightGrad(dw, dy, x device.Mat) {
	j := &b.jobs.weightGrad
	*j = weightGradJob{k: b.k, dw: view(dw), dy: view(dy), x: view(x)}
	need("LinearWeightGrad", j.dy.rows == j.x.rows && j.dw.rows == j.dy.cols && j.dw.cols == j.x.cols)
	if j.x.rows == 0 || j.dw.rows == 0 {
		return
	}
	n := panels(j.x.cols, b.k.nr)
	if size := n * j.x.rows * b.k.nr; cap(b.packedX) < size {
		b.packedX = alignedFloats(size)
	}
	j.packed = b.packedX[:n*j.x.rows*b.k.nr]
	b.jobs.packX = packXJob{b.k.nr, j.x, j.packed}
	b.pool.do(&b.jobs.packX, n)
	j.grid = b.gridOf(j.dw.rows, n)
	b.pool.do(j, j.grid.units())
}

// A packXJob copies x into panels [cols/nr][rows][nr].
type packXJob struct {
	nr     int
	x      mat
	packed []float32
}

func (j *packXJob) run(_ *worker, p int) {
	cols := min(j.nr, j.x.cols-p*j.nr)
	panel := j.packed[p*j.x.rows*j.nr:][:j.x.rows*j.nr]
	if cols < j.nr {
		clear(panel)
	}
	for t := range j.x.rows {
		copy(panel[t*j.nr:], j.x.row(t)[p*j.nr:][:cols])
	}
}

type weightGradJob struct {
	k         *kernels
	dw, dy, x mat
	packed    []float32
	grid      grid
}

func (j *weightGradJob) run(w *worker, unit int) {
	nr, tokens := j.k.nr, j.x.rows
	r0, r1, p0, p1 := j.grid.unit(unit, j.dw.rows, panels(j.x.cols, nr))
	t := &w.tile
	step := stepK(tokens)
	for k0 := 0; k0 < tokens; k0 += step {
		*t = tile{aRow: 1, aK: j.dy.stride, bK: nr, cRow: j.dw.stride, k: min(step, tokens-k0), add: true}
		for p := p0; p < p1; p++ {
			t.b = j.packed[(p*tokens+k0)*nr:]
			j.k.sweep(w, j.dy.data[k0*j.dy.stride+r0:], j.dw.data[r0*j.dw.stride+p*nr:], r1-r0, min(nr, j.x.cols-p*nr))
		}
	}
}
