//go:build purego || !(amd64 || arm64)

package cpu

// available lists the paths of this machine, fastest first: without assembly only the plain one.
func available() []*kernels { return []*kernels{&generic} }
