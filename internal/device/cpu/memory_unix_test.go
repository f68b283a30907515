//go:build linux || darwin

package cpu

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"agentmill/internal/device"
)

func countPieces() (n int) {
	for _, h := range []*slabHeap{&slabs, &smallSlabs} {
		h.mu.Lock()
		n += len(h.owner)
		h.mu.Unlock()
	}
	return n
}

// Buffers leave at once, scratch memory with the backend, weights with the collector.
func TestMemoryIsGivenBack(t *testing.T) {
	const in, out = 256, 256
	before := countPieces()
	b := open(t, 2, "")
	values := b.Alloc(in * out)
	x, y := b.Alloc(100*in), b.Alloc(100*out)
	w := b.NewWeight(out, in, device.F32)
	b.SetWeight(w, values)
	b.LinearInputGrad(device.Dense(x, 100, in), device.Dense(y, 100, out), w)
	b.NewCache(2, 1000, device.AttentionShape{Heads: 2, KVHeads: 2, HeadDim: 64}).Free()
	during := countPieces()
	for _, x := range []device.Buffer{values, x, y} {
		b.Free(x)
	}
	if n := countPieces(); n != during-3 {
		t.Errorf("%d pieces after freeing three of %d buffers", n, during)
	}
	b.Close()
	for range 200 {
		runtime.GC()
		if countPieces() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d pieces before, %d after", before, countPieces())
}

// Memory that was written and given back is zero when it is handed out again,
// pieces never overlap, and an empty slab goes back to the system.
func TestSlabs(t *testing.T) {
	var h slabHeap
	rng := rand.New(rand.NewPCG(1, 2))
	var held [][]byte
	for range 400 {
		if len(held) > 8 || len(held) > 0 && rng.IntN(3) == 0 {
			i := rng.IntN(len(held))
			checkPiece(t, held[i], held[i][0])
			h.give(unsafe.Pointer(&held[i][0]))
			held = slices.Delete(held, i, i+1)
			continue
		}
		v := h.take(1 + rng.IntN(3*hugePage))
		checkPiece(t, v, 0)
		mark := byte(1 + rng.IntN(255))
		for i := range v {
			v[i] = mark
		}
		held = append(held, v)
	}
	for _, v := range held {
		h.give(unsafe.Pointer(&v[0]))
	}
	if len(h.all) != 0 || len(h.owner) != 0 {
		t.Errorf("%d slabs and %d pieces are left", len(h.all), len(h.owner))
	}
}

func checkPiece(t *testing.T, v []byte, want byte) {
	t.Helper()
	if slices.ContainsFunc(v, func(b byte) bool { return b != want }) {
		t.Fatalf("a piece of %d bytes does not hold %d alone", len(v), want)
	}
}
