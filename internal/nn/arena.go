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

// smallestChunk and largestChunk bound a chunk of an Arena, in floats.
const (
	smallestChunk = 1 << 20
	largestChunk  = 1 << 26
)

// An Arena hands out activations from chunks of device memory. It grows to the
// largest pass seen and keeps its chunks, so that a steady state allocates
// nothing on the device. What it hands out is not zeroed.
type Arena struct {
	backend device.Backend
	chunks  []device.Buffer
	at      Mark
}

// A Mark is a point in what an Arena has handed out.
type Mark struct {
	chunk, used int
}

// NewArena returns an empty arena on b.
func NewArena(b device.Backend) *Arena { return &Arena{backend: b} }

// Buffer hands out n floats.
func (a *Arena) Buffer(n int) device.Buffer {
	size := (n + align - 1) / align * align
	for a.at.chunk < len(a.chunks) && a.at.used+size > a.chunks[a.at.chunk].Len() {
		a.at = Mark{chunk: a.at.chunk + 1}
	}
	if a.at.chunk == len(a.chunks) {
		a.grow(size)
	}
	from := a.at.used
	a.at.used += size
	return a.chunks[a.at.chunk].Slice(from, from+n)
}

// grow adds a chunk for at least n floats, as large as all before it together.
func (a *Arena) grow(n int) {
	total := 0
	for _, c := range a.chunks {
		total += c.Len()
	}
	a.chunks = append(a.chunks, a.backend.Alloc(max(n, min(max(total, smallestChunk), largestChunk))))
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
func (a *Arena) Mark() Mark { return a.at }

// Release takes back everything handed out since Mark returned mark.
func (a *Arena) Release(mark Mark) { a.at = mark }

// Reset takes everything back.
func (a *Arena) Reset() { a.at = Mark{} }

// Close frees the arena's memory.
func (a *Arena) Close() {
	for _, c := range a.chunks {
		a.backend.Free(c)
	}
	a.chunks, a.at = nil, Mark{}
}
