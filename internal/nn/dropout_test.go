package nn

import (
	"math"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/numtest"
)

// TestDropout: a share of the values is 0, the mean stays, a seed decides which.
func TestDropout(t *testing.T) {
	b, err := cpu.New(1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const rows, cols, rate = 200, 50, .3
	run := func(seed, index uint64) []float32 {
		m := device.Dense(b.Alloc(rows*cols), rows, cols)
		ones := make([]float32, rows*cols)
		for i := range ones {
			ones[i] = 1
		}
		b.Upload(m.Buf, ones)
		(&Dropout{Rate: rate, Seed: seed, Active: true}).apply(b, m, index)
		out := make([]float32, rows*cols)
		b.Download(out, m.Buf)
		return out
	}
	values, zeros, sum := run(1, 0), 0, 0.0
	for _, v := range values {
		if v == 0 {
			zeros++
		}
		sum += float64(v)
	}
	if share := float64(zeros) / float64(len(values)); math.Abs(share-rate) > .02 {
		t.Errorf("%v of the values are dropped, want %v", share, rate)
	}
	if mean := sum / float64(len(values)); math.Abs(mean-1) > .03 {
		t.Errorf("the mean is %v, want 1", mean)
	}
	numtest.Close(t, "same seed", run(1, 0), values, numtest.Tol{})
	for name, other := range map[string][]float32{"another seed": run(2, 0), "another adapter": run(1, 1)} {
		equal := 0
		for i := range other {
			if (other[i] == 0) == (values[i] == 0) {
				equal++
			}
		}
		if share := float64(equal) / float64(len(other)); share > .65 {
			t.Errorf("%s drops the same in %v of the places, want about .58", name, share)
		}
	}
}
