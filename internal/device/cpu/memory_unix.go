//go:build linux || darwin

package cpu

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappings holds what mapped returned, by its start.
var mappings sync.Map

// mapped returns size zeroed bytes of the system's, or nil.
func mapped(size int, huge bool) []byte {
	v, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	if huge {
		preferHuge(v)
	}
	mappings.Store(unsafe.Pointer(unsafe.SliceData(v)), v)
	return v
}

// unmap gives the mapping that starts at p back; other memory is left alone.
func unmap(p unsafe.Pointer) {
	if v, ok := mappings.LoadAndDelete(p); ok {
		_ = unix.Munmap(v.([]byte))
	}
}
