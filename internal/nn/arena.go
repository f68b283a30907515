// Package nn has the layers that model families are made of, forward and
// backward, over device.Backend. A family (package model/llama) reads like its
// paper because the layers here hide packing, fused matrices, adapters and the
// chunked head.
//
// Dimension names are those of package device. A gradient is named d and the
// name. Activations are overwritten and gradients accumulated, where nothing
// else is said. Layers hold no activations: what backward needs is handed back
// to it.
package nn

import "agentmill/internal/device"

// align is the granularity of an Arena in floats: 64 bytes, a cache line.
const align = 16

// An Arena hands out activations from one slab, which grows to the largest
// pass seen, so that a steady state allocates nothing on the device. What it
// hands out is not zeroed.
type Arena struct {
	backend  device.Backend
	slab     device.Buffer
	used     int // floats handed out, spilled ones included
	peak     int
	overflow []spill
}

// A spill is a buffer that did not fit the slab.
type spill struct {
	at  int
	buf device.Buffer
}

// NewArena returns an empty arena on b.
func NewArena(b device.Backend) *Arena { return &Arena{backend: b} }

// Buffer hands out n floats.
func (a *Arena) Buffer(n int) device.Buffer {
	at, size := a.used, (n+align-1)/align*align
	a.used += size
	a.peak = max(a.peak, a.used)
	if a.slab != nil && a.used <= a.slab.Len() {
		return a.slab.Slice(at, at+n)
	}
	buf := a.backend.Alloc(n)
	a.overflow = append(a.overflow, spill{at, buf})
	return buf
}

// Mat hands out a dense rows×cols matrix.
func (a *Arena) Mat(rows, cols int) device.Mat {
	return device.Dense(a.Buffer(rows*cols), rows, cols)
}

// Zeros hands out a dense rows×cols matrix of zeros.
func (a *Arena) Zeros(rows, cols int) device.Mat {
	m := a.Mat(rows, cols)
	a.backend.Zero(m.Buf)
	return m
}

// Mark returns a point to Release to.
func (a *Arena) Mark() int { return a.used }

// Release takes back everything handed out since Mark returned mark.
func (a *Arena) Release(mark int) {
	a.used = mark
	for n := len(a.overflow); n > 0 && a.overflow[n-1].at >= mark; n-- {
		a.backend.Free(a.overflow[n-1].buf)
		a.overflow = a.overflow[:n-1]
	}
}

// Reserve makes the slab large enough for n floats, if nothing is handed out: a
// first pass of a size that is known then does not spill.
func (a *Arena) Reserve(n int) {
	a.peak = max(a.peak, n)
	if a.used == 0 {
		a.Reset()
	}
}

// Reset takes everything back and makes the slab large enough for the largest
// pass so far.
func (a *Arena) Reset() {
	a.Release(0)
	if a.slab != nil && a.slab.Len() >= a.peak {
		return
	}
	a.free()
	if a.peak > 0 {
		a.slab = a.backend.Alloc(a.peak)
	}
}

// Close frees the arena's memory.
func (a *Arena) Close() {
	a.Release(0)
	a.free()
}

func (a *Arena) free() {
	if a.slab != nil {
		a.backend.Free(a.slab)
		a.slab = nil
	}
}
