package cpu

import "unsafe"

// Large buffers lie outside the Go heap: the collector would let the heap grow
// to twice the live size, and here the live size is the model. What is small,
// or what the system refuses, comes from the heap.

// offHeap is the least number of values for which memory is asked of the system.
const offHeap = 1 << 14

// allocate makes n zeroed values on a 64-byte boundary, with room behind them
// for nothing else. huge asks for large pages: fewer faults for memory that is
// used whole.
func allocate(n int, huge bool) []float32 {
	if n >= offHeap {
		if v := mapped(4*n, huge); v != nil {
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
	if cap(v) >= offHeap {
		unmap(unsafe.Pointer(unsafe.SliceData(v)))
	}
}

// regrow returns memory for n values with any content in place of v.
func regrow(v []float32, n int) []float32 {
	if cap(v) >= n {
		return v[:n]
	}
	release(v[:cap(v)])
	return allocate(n+n/4, true)[:n]
}

// halves views values as twice as many 16-bit values.
func halves(v []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(v))), 2*len(v))
}
