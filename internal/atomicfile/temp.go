package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
)

// Temp creates a file beside path under a temporary name, and removes those that
// killed processes left there. A file is left behind when nobody has its lock;
// the one returned is locked until it is closed.
func Temp(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	removeLeftovers(dir, base)
	for {
		f, err := os.CreateTemp(dir, "."+base+".*.tmp")
		if err != nil {
			return nil, err
		}
		// Between creation and lock another process may have taken it for left behind.
		if TryLock(f) != Taken && there(f) {
			return f, nil
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// removeLeftovers removes abandoned temporary files of dir/base. What cannot be
// removed harms nobody.
func removeLeftovers(dir, base string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !isTemp(e.Name(), base) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if TryLock(f) == Locked {
			_ = os.Remove(path)
		}
		_ = f.Close()
	}
}

// isTemp says that name is one that Temp gives for base.
func isTemp(name, base string) bool {
	number, ok := strings.CutPrefix(name, "."+base+".")
	number, isTmp := strings.CutSuffix(number, ".tmp")
	return ok && isTmp && number != "" && strings.Trim(number, "0123456789") == ""
}

// there says that f still has its name.
func there(f *os.File) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(f.Name())
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// A LockState is what TryLock found.
type LockState int

// What TryLock finds: the lock is ours now, is another process's, or cannot be
// had on this file system.
const (
	Locked LockState = iota
	Taken
	Unknown
)
