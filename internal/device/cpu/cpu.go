// Package cpu is the device.Backend of the processor: generated AVX-512,
// AVX2 and NEON kernels, plain Go where there are none, no cgo.
//
// The layers of the package, from the bottom up:
//
//	kernels.go   the table of kernels a path has; generic*.go is the plain one
//	pool.go      the workers; an operator is a job of numbered units
//	weight.go    matrices packed into panels
//	linear*.go   matrix products; attention*.go, norm.go … the other operators
//
// All paths share everything above the kernels. D1 to D3 of package device hold
// because every sum runs in an order that the shapes alone fix: products go
// through k in blocks that depend on k only, one multiply-add after the other,
// and a job's units never add to the same values.
package cpu

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"agentmill/internal/device"
)

// PathEnv names the environment variable that forces a kernel path.
const PathEnv = "AGENTMILL_CPU"

// A Backend computes on the processor. It implements device.Backend.
type Backend struct {
	k    *kernels
	pool *pool
	jobs jobs
	rope ropeTable
	kv   []*page // of freed caches

	attention attentionScratch
	packedX   []float32
	rounded   []float32 // rows as pairs of bfloat16
}

var _ device.Backend = (*Backend)(nil)

// jobs holds one reusable job an operator, so that calls allocate nothing.
type jobs struct {
	fill       fillJob
	setWeight  setWeightJob
	turn       turnJob
	product    productJob
	round      roundJob
	packX      packXJob
	weightGrad weightGradJob
	embed      embedJob
	embedGrad  embedGradJob
	norm       normJob
	normGrad   normGradJob
	normWeight normWeightGradJob
	rope       ropeJob
	keys       keysJob
	attend     attendJob
	attendGrad attendGradJob
	prefixGrad prefixGradJob
	swiglu     swigluJob
	swigluGrad swigluGradJob
	add        addJob
	addRow     addRowJob
	addRowGrad addRowGradJob
	logProbs   logProbsJob
	logGrad    logProbsGradJob
	softmax    softmaxJob
	squares    squaresJob
	adamw      adamwJob
}

// New starts a backend with threads workers (0: one a processor). path is a
// kernel path of Paths; empty is what PathEnv names, else the fastest.
func New(threads int, path string) (*Backend, error) {
	if path == "" {
		path = os.Getenv(PathEnv)
	}
	k, err := pick(path)
	if err != nil {
		return nil, err
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Backend{k: k, pool: newPool(threads)}, nil
}

// Paths lists the kernel paths that this machine can run, fastest first.
func Paths() []string {
	var names []string
	for _, k := range available() {
		names = append(names, k.path)
	}
	return names
}

func pick(path string) (*kernels, error) {
	for _, k := range available() {
		if path == "" || path == k.path {
			return k, nil
		}
	}
	return nil, fmt.Errorf("kernel path %q: this machine has %s", path, strings.Join(Paths(), ", "))
}

// Name is "cpu".
func (b *Backend) Name() string { return "cpu" }

// Path is the kernel path in use.
func (b *Backend) Path() string { return b.k.path }

// Close ends the workers and frees what the backend keeps for itself.
func (b *Backend) Close() error {
	b.pool.close()
	for _, p := range b.kv {
		release(p.slab)
	}
	for _, slab := range [][]float32{b.packedX, b.rounded, b.attention.slab, b.attention.grads} {
		release(slab[:cap(slab)])
	}
	b.kv, b.packedX, b.rounded, b.attention.slab, b.attention.grads = nil, nil, nil, nil, nil
	return nil
}
