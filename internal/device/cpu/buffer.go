package cpu

import "agentmill/internal/device"

var _ device.HostBuffer = (*buffer)(nil)

// A buffer is device memory: plain float32 values, 64-byte aligned when whole.
type buffer struct{ data []float32 }

// Len is the number of values.
func (b *buffer) Len() int { return len(b.data) }

// Slice views values from to to.
func (b *buffer) Slice(from, to int) device.Buffer { return &buffer{b.data[from:to:to]} }

// Host is the buffer's memory.
func (b *buffer) Host() []float32 { return b.data }

// Alloc makes a zeroed buffer.
func (b *Backend) Alloc(n int) device.Buffer { return &buffer{allocate(n)} }

// Free gives a buffer of Alloc back. Neither it nor its slices may be used again.
func (b *Backend) Free(x device.Buffer) {
	own := x.(*buffer)
	release(own.data)
	own.data = nil
}

// Upload copies host values to dst.
func (b *Backend) Upload(dst device.Buffer, src []float32) { copy(data(dst), src) }

// Download copies src to host values.
func (b *Backend) Download(dst []float32, src device.Buffer) { copy(dst, data(src)) }

// Copy copies src to dst.
func (b *Backend) Copy(dst, src device.Buffer) {
	b.jobs.fill = fillJob{dst: data(dst), src: data(src)}
	b.pool.do(&b.jobs.fill, panels(len(b.jobs.fill.dst), fillUnit))
}

// Zero clears a buffer.
func (b *Backend) Zero(x device.Buffer) {
	b.jobs.fill = fillJob{dst: data(x)}
	b.pool.do(&b.jobs.fill, panels(len(b.jobs.fill.dst), fillUnit))
}

// fillUnit is how many values one worker copies or clears at a time.
const fillUnit = 1 << 16

// A fillJob copies src to dst, or clears it.
type fillJob struct{ dst, src []float32 }

func (j *fillJob) run(_ *worker, unit int) {
	from, to := unit*fillUnit, min((unit+1)*fillUnit, len(j.dst))
	if j.src == nil {
		clear(j.dst[from:to])
		return
	}
	copy(j.dst[from:to], j.src[from:])
}

// data is the memory of one of our buffers; nil stays nil.
func data(b device.Buffer) []float32 {
	if b == nil {
		return nil
	}
	return b.(*buffer).data
}

// A mat is a device.Mat with its memory at hand.
type mat struct {
	data               []float32
	rows, cols, stride int
}

func view(m device.Mat) mat {
	v := mat{data(m.Buf), m.Rows, m.Cols, m.Stride}
	if m.Rows > 0 && (m.Stride < m.Cols || len(v.data) < (m.Rows-1)*m.Stride+m.Cols) {
		panic("cpu: matrix is larger than its buffer")
	}
	return v
}

func (m mat) row(t int) []float32 { return m.data[t*m.stride:][:m.cols] }

// need panics when an operator is called with shapes that do not fit: a bug of
// the calling model code.
func need(operator string, ok bool) {
	if !ok {
		panic("cpu: " + operator + ": shapes do not fit")
	}
}
