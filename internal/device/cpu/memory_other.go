//go:build !linux && !darwin

package cpu

import "unsafe"

// mapped says that there is no memory outside the heap here.
func mapped(int, bool) []byte { return nil }

func unmap(unsafe.Pointer) {}
