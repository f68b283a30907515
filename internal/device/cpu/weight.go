package cpu

import "agentmill/internal/device"

// A weight is a matrix [out, in] in panels of nr rows: panel p holds, for every
// k of in, the values w[p·nr … p·nr+nr][k] side by side. The last panel is
// filled up with zeros.
type weight struct {
	out, in int
	dtype   device.DType
	f32     []float32
	bf16    []uint16 // packed pairs, see narrowGeneric
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
	n := panels(out, b.k.nr) * in * b.k.nr
	if dtype == device.BF16 {
		w.bf16 = make([]uint16, n)
	} else {
		w.f32 = alignedFloats(n)
	}
	return w
}

func panels(n, nr int) int { return (n + nr - 1) / nr }

// SetWeight packs row-major values.
func (b *Backend) SetWeight(w device.Weight, values device.Buffer) {
	j := &b.jobs.setWeight
	*j = setWeightJob{b.k, w.(*weight), data(values)}
	need("SetWeight", len(j.values) == j.w.out*j.w.in)
	b.pool.do(j, panels(j.w.out, b.k.nr))
}

type setWeightJob struct {
	k      *kernels
	w      *weight
	values []float32
}

// run packs one panel.
func (j *setWeightJob) run(w *worker, p int) {
	nr, in := j.k.nr, j.w.in
	rows := min(nr, j.w.out-p*nr)
	var panel []float32
	if j.w.dtype == device.BF16 {
		panel = w.floats(slotPanel, in*nr)
	} else {
		panel = j.w.f32[p*in*nr:][:in*nr]
	}
	if rows < nr {
		clear(panel)
	}
	if in > 0 {
		j.k.transpose(panel, nr, j.values[p*nr*in:], in, rows, in)
	}
	if j.w.dtype == device.BF16 {
		j.k.narrow(j.w.bf16[p*in*nr:][:in*nr], panel, nr)
	}
}
