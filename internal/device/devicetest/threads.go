package devicetest

import (
	"fmt"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/seed"
)

func testRepeatable(s *suite) {
	s.rng = seed.Stream(2)
	first := everything(s)
	s.rng = seed.Stream(2)
	for i, again := range everything(s) {
		s.same(fmt.Sprint("result ", i), again, first[i])
	}
}

// Threads checks that backends of different numbers of threads agree in every
// bit (D2, D3). open makes one; the suite closes it.
func Threads(t *testing.T, numbers []int, open func(t testing.TB, threads int) device.Backend) {
	var first [][]float32
	for _, n := range numbers {
		b := open(t, n)
		results := everything(&suite{T: t, b: b, rng: seed.Stream(3)})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = results
		}
		s := &suite{T: t}
		for i, r := range results {
			s.same(fmt.Sprintf("result %d with %d threads", i, n), r, first[i])
		}
	}
}
