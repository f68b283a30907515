package nn_test

import (
	"slices"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/nn"
)

// counting notes how often and how much is allocated.
type counting struct {
	device.Backend
	calls, live int
}

func (c *counting) Alloc(n int) device.Buffer {
	c.calls++
	c.live += n
	return c.Backend.Alloc(n)
}

func (c *counting) Free(b device.Buffer) {
	c.live -= b.Len()
	c.Backend.Free(b)
}

func arena(t *testing.T) (*nn.Arena, *counting) {
	t.Helper()
	b, err := cpu.New(1, "generic")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	c := &counting{Backend: b}
	return nn.NewArena(c), c
}

// pass hands out as a forward and backward pass does, in units of n floats.
func pass(a *nn.Arena, n int) {
	a.Reset()
	a.Mat(3, n)
	for range 4 {
		mark := a.Mark()
		a.Buffer(10 * n)
		a.Zeros(2, 4*n)
		a.Release(mark)
	}
	a.Buffer(n)
}

func TestArenaSettles(t *testing.T) {
	a, c := arena(t)
	pass(a, 100_000)
	before := c.calls
	for _, n := range []int{100_000, 5, 100_000} {
		pass(a, n)
	}
	if c.calls != before {
		t.Errorf("passes no larger than the first allocated %d times, want 0", c.calls-before)
	}
	pass(a, 200_000)
	if c.calls == before {
		t.Error("a larger pass allocated nothing")
	}
	if most := 4 * 21 * 200_000; c.live > most {
		t.Errorf("%d floats are held for a pass of %d: want at most %d", c.live, 21*200_000, most)
	}
	a.Close()
	if c.live != 0 {
		t.Errorf("%d floats are still allocated after Close", c.live)
	}
}

func TestArenaKeepsApart(t *testing.T) {
	a, c := arena(t)
	for range 2 {
		a.Reset()
		var all []device.Buffer
		for i := range 5 {
			b := a.Buffer(300_000*i + 3)
			values := make([]float32, b.Len())
			for j := range values {
				values[j] = float32(i)
			}
			c.Upload(b, values)
			all = append(all, b)
		}
		for i, b := range all {
			got := make([]float32, b.Len())
			c.Download(got, b)
			if slices.ContainsFunc(got, func(v float32) bool { return v != float32(i) }) {
				t.Fatalf("another buffer wrote to buffer %d", i)
			}
		}
	}
}
