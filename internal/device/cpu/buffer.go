package cpu

import (
	"unsafe"

	"agentmill/internal/device"
)

// A buffer is device memory: plain float32 values, 64-byte aligned when whole.
type buffer struct{ data []float32 }

// Len is the number of values.
func (b *buffer) Len() int { return len(b.data) }

// Slice views values from to to.
func (b *buffer) Slice(from, to int) device.Buffer { return &buffer{b.data[from:to:to]} }

// alignedFloats makes n zeroed values on a 64-byte boundary.
func alignedFloats(n int) []float32 {
	const line = 16
	all := make([]float32, n+line)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) % (4 * line) / 4)
	return all[skip : skip+n : skip+n]
}

// Alloc makes a zeroed buffer.
func (b *Backend) Alloc(n int) device.Buffer {
	if kept := b.free[n]; len(kept) > 0 {
		data := kept[len(kept)-1]
		b.free[n] = kept[:len(kept)-1]
		clear(data)
		return &buffer{data}
	}
	return &buffer{alignedFloats(n)}
}

// largestKept is the longest buffer that is kept for reuse: longer ones are few,
// seldom of the same length again, and left to the garbage collector.
const largestKept = 1 << 22

// Free gives a buffer of Alloc back for reuse.
func (b *Backend) Free(x device.Buffer) {
	own := x.(*buffer)
	if n := len(own.data); n > 0 && n <= largestKept {
		b.free[len(own.data)] = append(b.free[len(own.data)], own.data)
	}
	own.data = nil
}

// Upload copies host values to dst.
func (b *Backend) Upload(dst device.Buffer, src []float32) { copy(data(dst), src) }

// Download copies src to host values.
func (b *Backend) Download(dst []float32, src device.Buffer) { copy(dst, data(src)) }

// Copy copies src to dst.
func (b *Backend) Copy(dst, src device.Buffer) { copy(data(dst), data(src)) }

// Zero clears a buffer.
func (b *Backend) Zero(x device.Buffer) { clear(data(x)) }

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
