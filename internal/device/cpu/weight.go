package cpu

import (
	"runtime"

	"agentmill/internal/device"
)

// A packed matrix lies in panels of nr columns: panel p holds, for every k, the
// values of columns p·nr to p·nr+nr side by side; the last panel is filled up
// with zeros.
type packed struct {
	f32  []float32
	bf16 []uint16 // pairs, see narrowGeneric
}

// A weight is a matrix [out, in], packed with its rows as columns.
type weight struct {
	out, in int
	dtype   device.DType
	packed  packed
	turned  packed // the transpose, made when a gradient first asks for it
	fresh   bool   // turned belongs to the present values
}

// Out is the number of results.
func (w *weight) Out() int { return w.out }

// In is the number of inputs.
func (w *weight) In() int { return w.in }

// DType is the storage format.
func (w *weight) DType() device.DType { return w.dtype }

// NewWeight makes a matrix of zeros.
func (b *Backend) NewWeight(out, in int, dtype device.DType) device.Weight {
	w := &weight{out: out, in: in, dtype: dtype}
	w.packed = w.newPacked(panels(out, b.k.nr) * in * b.k.nr)
	return w
}

// newPacked makes memory for n values, n even, that is given back with w.
func (w *weight) newPacked(n int) packed {
	if w.dtype == device.BF16 {
		memory := allocate(n / 2)
		runtime.AddCleanup(w, release, memory)
		return packed{bf16: halves(memory)}
	}
	memory := allocate(n)
	runtime.AddCleanup(w, release, memory)
	return packed{f32: memory}
}

// panels is how many parts of size make n.
func panels(n, size int) int { return (n + size - 1) / size }

// SetWeight packs row-major values.
func (b *Backend) SetWeight(w device.Weight, values device.Buffer) {
	j := &b.jobs.setWeight
	*j = setWeightJob{b.k, w.(*weight), data(values)}
	need("SetWeight", len(j.values) == j.w.out*j.w.in)
	j.w.fresh = false
	b.pool.do(j, panels(j.w.out, b.k.nr))
}

// panel is where a panel of k rows is built: in place, or for bfloat16 in scratch memory.
func (p packed) panel(w *worker, at, n int) []float32 {
	if p.bf16 != nil {
		return w.floats(slotPanel, n)
	}
	return p.f32[at:][:n]
}

// keep stores a panel built by panel.
func (p packed) keep(k *kernels, at int, panel []float32) {
	if p.bf16 != nil {
		k.narrow(p.bf16[at:][:len(panel)], panel, k.nr)
	}
}

type setWeightJob struct {
	k      *kernels
	w      *weight
	values []float32
}

// run packs one panel.
func (j *setWeightJob) run(w *worker, p int) {
	nr, in := j.k.nr, j.w.in
	if in == 0 {
		return
	}
	rows := min(nr, j.w.out-p*nr)
	panel := j.w.packed.panel(w, p*in*nr, in*nr)
	if rows < nr {
		clear(panel)
	}
	j.k.transpose(panel, nr, j.values[p*nr*in:], in, rows, in)
	j.w.packed.keep(j.k, p*in*nr, panel)
}

// turn brings the transposed packing up to date.
func (b *Backend) turn(w *weight) {
	if w.fresh {
		return
	}
	n := panels(w.in, b.k.nr)
	if w.turned.f32 == nil && w.turned.bf16 == nil {
		w.turned = w.newPacked(n * w.out * b.k.nr)
	}
	b.jobs.turn = turnJob{b.k, w}
	b.pool.do(&b.jobs.turn, n)
	w.fresh = true
}

type turnJob struct {
	k *kernels
	w *weight
}

// run makes one panel: columns q·nr to q·nr+nr of the matrix, for every row.
func (j *turnJob) run(w *worker, q int) {
	nr, in, out := j.k.nr, j.w.in, j.w.out
	cols := min(nr, in-q*nr)
	panel := j.w.turned.panel(w, q*out*nr, out*nr)
	if cols < nr {
		clear(panel)
	}
	for o := 0; o < out; o += nr {
		at := o*in + q*nr*nr
		var block []float32
		if j.w.dtype == device.BF16 {
			block = w.floats(slotWide, cols*nr)
			j.k.widen(block, j.w.packed.bf16[at:][:cols*nr], nr)
		} else {
			block = j.w.packed.f32[at:][:cols*nr]
		}
		j.k.transpose(panel[o*nr:], nr, block, nr, cols, min(nr, out-o))
	}
	j.w.turned.keep(j.k, q*out*nr, panel)
}
