//go:build !linux && !darwin

package atomicfile

import "os"

// TryLock does nothing here.
func TryLock(*os.File) LockState { return Unknown }
