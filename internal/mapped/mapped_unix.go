//go:build linux || darwin

package mapped

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps the first size bytes of file, or returns nil: they are read then.
func mapFile(file *os.File, size int64) []byte {
	if size > math.MaxInt {
		return nil
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	_ = unix.Madvise(data, unix.MADV_WILLNEED)
	return data
}

func unmap(data []byte) error {
	if data == nil {
		return nil
	}
	return unix.Munmap(data)
}
