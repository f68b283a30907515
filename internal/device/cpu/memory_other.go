//go:build !linux && !darwin

package cpu

// mapped says that there is no memory outside the heap here.
func mapped(int) []byte { return nil }

func unmap([]byte) {}

func preferHuge([]byte) {}
