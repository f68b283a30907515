package nn_test

import (
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

// pass hands out as a forward and backward pass does.
func pass(a *nn.Arena) {
	a.Reset()
	a.Mat(3, 5)
	for range 4 {
		mark := a.Mark()
		a.Buffer(100)
		a.Zeros(2, 20)
		a.Release(mark)
	}
	a.Buffer(7)
}

func TestArenaSettles(t *testing.T) {
	a, c := arena(t)
	pass(a)
	pass(a)
	before := c.calls
	pass(a)
	if c.calls != before {
		t.Errorf("the third pass allocated %d times, want 0", c.calls-before)
	}
	const peak = 16 + 112 + 48 // each rounded up to 16
	if c.live != peak {
		t.Errorf("the slab has %d floats, want %d", c.live, peak)
	}
	a.Close()
	if c.live != 0 {
		t.Errorf("%d floats are still allocated after Close", c.live)
	}
}

func TestArenaReserve(t *testing.T) {
	a, c := arena(t)
	a.Reserve(1000)
	pass(a)
	if c.calls != 1 {
		t.Errorf("%d allocations with enough reserved, want 1", c.calls)
	}
	a.Reserve(5000) // in use: the slab must stay
	if c.calls != 1 {
		t.Error("the slab was replaced while it was in use")
	}
	a.Reset()
	if c.live != 5000 {
		t.Errorf("the slab has %d floats after a reset, want 5000", c.live)
	}
}

func TestArenaKeepsApart(t *testing.T) {
	a, c := arena(t)
	for range 2 { // spilled, then from the slab
		a.Reset()
		var all []device.Buffer
		for i := range 5 {
			b := a.Buffer(3 + i)
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
			for _, v := range got {
				if v != float32(i) {
					t.Fatalf("buffer %d holds %v: another one wrote to it", i, v)
				}
			}
		}
	}
}
