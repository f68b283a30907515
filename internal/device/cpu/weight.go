package cpu

import (
	"runtime"

	"agentmill/internal/device"
)

// A packed matrix lies in panels of nr columns: panel p holds, for every k, the
// values of columns p·nr to p·nr+nr side by side; the last panel is filled up
// with zeros.
type packed struct {
	f32   []float32
	bf16  []uint16 // pairs, see narrowGeneric
	pairs bool     // bf16 holds pairs along k, see kernels.gemmPairs
	int8  []int8   // multiples of the column's step
	steps []float32
}

// A weight is a matrix [out, in], packed with its rows as columns.
type weight struct {
	out, in int
	dtype   device.DType
	pairs   bool // BF16Dot, on a processor that has it
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
	w := &weight{out: out, in: in, dtype: dtype, pairs: dtype == device.BF16Dot && b.k.gemmPairs != nil}
	w.packed = w.newPacked(dtype, panels(out, b.k.nr)*w.depth(in)*b.k.nr)
	if dtype == device.Int8 {
		w.packed.steps = make([]float32, panels(out, b.k.nr)*b.k.nr)
	}
	return w
}

// depth is how many rows a panel has for sums of length k: an even number for pairs.
func (w *weight) depth(k int) int {
	if w.pairs {
		return k + k%2
	}
	return k
}

// newPacked makes memory for n values, a multiple of four, that is given back with w.
func (w *weight) newPacked(dtype device.DType, n int) packed {
	memory := allocate(n * dtype.Size() / 4)
	runtime.AddCleanup(w, release, memory)
	switch dtype {
	case device.F32:
		return packed{f32: memory}
	case device.Int8:
		return packed{int8: quarters(memory)}
	default:
		return packed{bf16: halves(memory), pairs: w.pairs}
	}
}

// stepBytes is the size of a step of k of a panel of nr columns.
func (p packed) stepBytes(nr int) int {
	switch {
	case p.int8 != nil:
		return nr
	case p.bf16 != nil && !p.pairs:
		return 2 * nr
	}
	return 4 * nr
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

// panel is where a panel of k rows is built: in place for float32, else in scratch memory.
func (p packed) panel(w *worker, at, n int) []float32 {
	if p.f32 == nil {
		return w.floats(slotPanel, n)
	}
	return p.f32[at:][:n]
}

// keep stores a whole panel built by panel.
func (p packed) keep(k *kernels, at int, panel []float32) {
	switch {
	case p.pairs:
		k.narrowPairs(p.bf16[at:][:len(panel)], panel)
	case p.bf16 != nil:
		k.narrow(p.bf16[at:][:len(panel)], panel, k.nr)
	case p.int8 != nil:
		steps := p.steps[at/len(panel)*k.nr:][:k.nr]
		stepsOf(steps, panel)
		toSteps(p.int8[at:][:len(panel)], panel, steps)
	}
}

// rows returns n values of panel q of a packed matrix, as float32.
func (p packed) rows(k *kernels, w *worker, q, at, n int) []float32 {
	if p.f32 != nil {
		return p.f32[at:][:n]
	}
	block := w.floats(slotWide, n)
	switch {
	case p.int8 != nil:
		fromSteps(block, p.int8[at:][:n], p.steps[q*k.nr:][:k.nr])
	case p.pairs:
		k.widenPairs(block, p.bf16[at:][:n])
	default:
		k.widen(block, p.bf16[at:][:n], k.nr)
	}
	return block
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
	rows, depth := min(nr, j.w.out-p*nr), j.w.depth(in)
	panel := j.w.packed.panel(w, p*depth*nr, depth*nr)
	if rows < nr || depth > in {
		clear(panel)
	}
	j.k.transpose(panel, nr, j.values[p*nr*in:], in, rows, in)
	j.w.packed.keep(j.k, p*depth*nr, panel)
}

// turn brings the transposed packing up to date.
func (b *Backend) turn(w *weight) {
	if w.fresh {
		return
	}
	n := panels(w.in, b.k.nr)
	if w.turned.f32 == nil && w.turned.bf16 == nil {
		w.turned = w.newPacked(w.turnedType(), n*w.depth(w.out)*b.k.nr)
	}
	b.jobs.turn = turnJob{b.k, w}
	b.pool.do(&b.jobs.turn, n)
	w.fresh = true
}

// turnedType is how the transpose is stored. Whole numbers have a step for each row of
// the matrix, which are columns here: float32 holds them as they are.
func (w *weight) turnedType() device.DType {
	if w.dtype == device.Int8 {
		return device.F32
	}
	return w.dtype
}

type turnJob struct {
	k *kernels
	w *weight
}

// run makes one panel: columns q·nr to q·nr+nr of the matrix, for every row.
func (j *turnJob) run(w *worker, q int) {
	nr, in, out := j.k.nr, j.w.in, j.w.out
	cols, depth := min(nr, in-q*nr), j.w.depth(out)
	panel := j.w.turned.panel(w, q*depth*nr, depth*nr)
	if cols < nr || depth > out {
		clear(panel)
	}
	for o := 0; o < out; o += nr {
		block := j.w.packed.rows(j.k, w, o/nr, o*j.w.depth(in)+q*nr*nr, j.w.depth(cols)*nr)
		j.k.transpose(panel[o*nr:], nr, block, nr, cols, min(nr, out-o))
	}
	j.w.turned.keep(j.k, q*depth*nr, panel)
}
