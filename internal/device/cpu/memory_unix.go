//go:build linux || darwin

package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapped returns size zeroed bytes of the system's that begin at a large page's
// boundary, or nil. size is a multiple of a large page's.
func mapped(size int) []byte {
	all, err := unix.MmapPtr(-1, 0, nil, uintptr(size+hugePage), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	skip := -uintptr(all) % hugePage
	start := unsafe.Add(all, skip)
	if skip > 0 {
		_ = unix.MunmapPtr(all, skip)
	}
	_ = unix.MunmapPtr(unsafe.Add(start, size), hugePage-skip)
	return unsafe.Slice((*byte)(start), size)
}

// unmap gives what mapped returned back.
func unmap(v []byte) { _ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(v)), uintptr(len(v))) }
