package cpu

import "unsafe"

// Large buffers lie outside the Go heap: the collector would let the heap grow
// to twice the live size, and here the live size is the model. They lie in
// large pages where the system has them, since a step walks through hundreds of
// megabytes and each small page costs a walk of the page table. What is small,
// or what the system refuses, comes from the heap.

// offHeap is the least number of values for which memory is asked of the system.
const offHeap = 1 << 14

// allocate makes n zeroed values on a 64-byte boundary.
func allocate(n int) []float32 { return allocateIn(&slabs, n) }

func allocateIn(h *slabHeap, n int) []float32 {
	if n >= offHeap {
		if v := h.take(4 * n); v != nil {
			return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(v))), n)
		}
	}
	const line = 16
	all := make([]float32, n+line)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) % (4 * line) / 4)
	return all[skip : skip+n : skip+n]
}

// release gives memory of allocate back. The slice must be the one allocate returned.
func release(v []float32) {
	if p := unsafe.Pointer(unsafe.SliceData(v)); cap(v) >= offHeap && !slabs.give(p) {
		smallSlabs.give(p)
	}
}

// regrow returns memory for n values with any content in place of v.
func regrow(v []float32, n int) []float32 {
	if cap(v) >= n {
		return v[:n]
	}
	release(v[:cap(v)])
	return allocate(n + n/4)[:n]
}

// words views pairs of 16-bit values as half as many values.
func words(v []uint16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(v))), len(v)/2)
}

// quarters views values as four times as many 8-bit values.
func quarters(v []float32) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// halves views values as twice as many 16-bit values.
func halves(v []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(v))), 2*len(v))
}
