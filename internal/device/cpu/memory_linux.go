package cpu

import "golang.org/x/sys/unix"

// hugePage is the size of a large page.
const hugePage = 2 << 20

// preferHuge asks for large pages under v. Where they are refused nothing changes.
func preferHuge(v []byte) {
	if len(v) >= 2*hugePage {
		_ = unix.Madvise(v, unix.MADV_HUGEPAGE)
	}
}
