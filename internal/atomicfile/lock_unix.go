//go:build linux || darwin

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock locks f against other processes until it is closed, without waiting.
func TryLock(f *os.File) LockState {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		return Locked
	case errors.Is(err, unix.EWOULDBLOCK):
		return Taken
	}
	return Unknown
}
