// Package devicetest is the contract suite of device.Backend: every operator
// against the plain loops of package ref, in float64, over odd and empty
// shapes, and the promises D2 and D3 bit by bit.
//
// Matrices of the suite have gaps between their rows that must stay untouched.
package devicetest

import (
	"math/rand/v2"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/numtest"
	"agentmill/internal/seed"
)

// Run checks a backend. open makes one that is closed by the suite.
func Run(t *testing.T, open func(t testing.TB) device.Backend) {
	for _, c := range []struct {
		name string
		test func(s *suite)
	}{
		{"memory", testMemory},
		{"linear", testLinear},
		{"linear of nothing", testLinearEmpty},
		{"linear, bf16 weight", testLinearBF16},
		{"linear, int8 weight", testLinearInt8},
		{"linear gradients", testLinearGrads},
		{"embed", testEmbed},
		{"rmsnorm", testRMSNorm},
		{"rope", testRope},
		{"swiglu", testSwiGLU},
		{"add", testAdd},
		{"attention", testAttention},
		{"attention, spread scores", testAttentionPeaks},
		{"attention with a cache", testCache},
		{"D2: sequences that begin alike share", testPrefixes},
		{"log-probs", testLogProbs},
		{"log-probs, extreme logits", testLogProbsExtreme},
		{"adamw", testAdamW},
		{"sum of squares", testSumSquares},
		{"D2: rows one at a time", testRowsAlone},
		{"D2: sequences alone and in pieces", testSequencesAlone},
		{"D3: the same call twice", testRepeatable},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t)
			defer b.Close()
			c.test(&suite{T: t, b: b, rng: seed.Stream(1, "devicetest", c.name)})
		})
	}
}

// tolerance is what a result may differ from ref in float64: float32 rounding
// of sums of a few thousand terms of order one, where nothing else is said.
var tolerance = map[string]numtest.Tol{
	"default":     {Abs: 2e-5, Rel: 2e-5},
	"linear":      {Abs: 5e-5, Rel: 2e-5}, // up to 1,600 products
	"rope":        {Abs: 1e-5, Rel: 1e-5},
	"adamw":       {Abs: 1e-6, Rel: 2e-5},
	"sum squares": {Abs: 0, Rel: 1e-7},
	"peaks":       {Abs: 1e-3, Rel: 1e-3}, // scores of order 100, so exponents of error 1e-5 and more
	"pairs":       {Abs: 2e-2, Rel: 1e-2}, // probabilities have 8 bits
	"logp":        {Abs: 5e-5, Rel: 1e-5}, // a difference of two logarithms of order ten
}

type suite struct {
	*testing.T
	b   device.Backend
	rng *rand.Rand
}

// guard fills what no operator may write.
const guard = 12345.5

// values makes n normal values of the given spread.
func (s *suite) values(n int, spread float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(s.rng.NormFloat64() * spread)
	}
	return v
}

func (s *suite) ids(n, below int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(s.rng.IntN(below))
	}
	return v
}

func (s *suite) buffer(v []float32) device.Buffer {
	b := s.b.Alloc(len(v))
	s.b.Upload(b, v)
	return b
}

func (s *suite) host(b device.Buffer) []float32 {
	v := make([]float32, b.Len())
	s.b.Download(v, b)
	return v
}

// mat makes a matrix with guarded gaps.
func (s *suite) mat(v []float32, cols int) device.Mat {
	if cols == 0 {
		return device.Mat{Buf: s.b.Alloc(0)}
	}
	rows, stride := len(v)/cols, cols+3
	all := make([]float32, rows*stride)
	for i := range all {
		all[i] = guard
	}
	for t := range rows {
		copy(all[t*stride:], v[t*cols:][:cols])
	}
	return device.Mat{Buf: s.buffer(all), Rows: rows, Cols: cols, Stride: stride}
}

// read returns a matrix without its gaps, which it checks.
func (s *suite) read(m device.Mat) []float32 {
	s.Helper()
	all := s.host(m.Buf)
	var v []float32
	for t := range m.Rows {
		row := all[t*m.Stride : (t+1)*m.Stride]
		v = append(v, row[:m.Cols]...)
		for _, x := range row[m.Cols:] {
			if x != guard {
				s.Fatalf("row %d: the gap behind it was overwritten", t)
			}
		}
	}
	return v
}

func (s *suite) weight(v []float32, out, in int, d device.DType) device.Weight {
	w := s.b.NewWeight(out, in, d)
	s.b.SetWeight(w, s.buffer(v))
	return w
}

// close compares a result with the reference's.
func (s *suite) close(kind, name string, got []float32, want []float64) {
	s.Helper()
	tol, ok := tolerance[kind]
	if !ok {
		tol = tolerance["default"]
	}
	numtest.Close(s.T, name, wide(got), want, tol)
}

func (s *suite) same(name string, got, want []float32) {
	s.Helper()
	numtest.Close(s.T, name, got, want, numtest.Tol{})
}

// wide converts to float64.
func wide(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}
