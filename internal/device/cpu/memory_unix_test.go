//go:build linux || darwin

package cpu

import (
	"runtime"
	"testing"
	"time"

	"agentmill/internal/device"
)

func countMappings() (n int) {
	mappings.Range(func(any, any) bool { n++; return true })
	return n
}

// Buffers leave at once, scratch memory with the backend, weights with the collector.
func TestMemoryIsGivenBack(t *testing.T) {
	const in, out = 256, 256
	before := countMappings()
	b := open(t, 2, "")
	values := b.Alloc(in * out)
	x, y := b.Alloc(100*in), b.Alloc(100*out)
	w := b.NewWeight(out, in, device.F32)
	b.SetWeight(w, values)
	b.LinearInputGrad(device.Dense(x, 100, in), device.Dense(y, 100, out), w)
	b.NewCache(2, 1000, device.AttentionShape{Heads: 2, KVHeads: 2, HeadDim: 64}).Free()
	during := countMappings()
	for _, x := range []device.Buffer{values, x, y} {
		b.Free(x)
	}
	if n := countMappings(); n != during-3 {
		t.Errorf("%d mappings after freeing three of %d buffers", n, during)
	}
	b.Close()
	for range 200 {
		runtime.GC()
		if countMappings() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d mappings before, %d after", before, countMappings())
}
