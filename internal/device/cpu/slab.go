package cpu

import (
	"slices"
	"sync"
	"unsafe"
)

const (
	// hugePage is the size of a large page.
	hugePage = 2 << 20
	// slabSize is how much is asked of the system at a time. Only pages that are
	// written take memory.
	slabSize = 64 << 20
	// pieceUnit is the granularity of pieces: a small page.
	pieceUnit = 4096
)

// slabs is the memory outside the heap of all backends: weights are given back
// by the collector, when their backend may be gone. smallSlabs holds what has a
// capacity that may never be used, in small pages: with large ones 32 attempts
// of 440 tokens, 755 MB of caches, took 1.2 times as long.
var (
	slabs      = slabHeap{huge: true}
	smallSlabs slabHeap
)

// A slabHeap hands out pieces of slabs, or whole slabs for what is larger.
type slabHeap struct {
	huge  bool
	mu    sync.Mutex
	all   []*slab
	owner map[unsafe.Pointer]piece
}

// A piece is a part of a slab that is in use.
type piece struct {
	slab     *slab
	from, to int
}

// A slab is memory of the system's. Its free parts are in order and never touch.
type slab struct {
	memory []byte
	free   []span
	used   int // up to here memory may have been written
	pieces int
}

type span struct{ from, to int }

// take returns size zeroed bytes, or nil when the system refuses.
func (h *slabHeap) take(size int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := (size + pieceUnit - 1) / pieceUnit * pieceUnit
	for _, s := range h.all {
		if at := s.fit(room); at >= 0 {
			return h.hand(s, at, size, room)
		}
	}
	s := newSlab(room, h.huge)
	if s == nil {
		return nil
	}
	h.all = append(h.all, s)
	return h.hand(s, 0, size, room)
}

// newSlab maps a slab with room for one piece at least.
func newSlab(room int, huge bool) *slab {
	size := slabSize
	if room > slabSize/2 {
		size = (room + hugePage - 1) / hugePage * hugePage
	}
	memory := mapped(size)
	if memory == nil {
		return nil
	}
	if huge {
		preferHuge(memory)
	}
	return &slab{memory: memory, free: []span{{0, size}}}
}

// fit finds the index of the first free part with room, or -1.
func (s *slab) fit(room int) int {
	return slices.IndexFunc(s.free, func(f span) bool { return f.to-f.from >= room })
}

// hand takes room bytes from free part at of s.
func (h *slabHeap) hand(s *slab, at, size, room int) []byte {
	from := s.free[at].from
	s.free[at].from += room
	if s.free[at].from == s.free[at].to {
		s.free = slices.Delete(s.free, at, at+1)
	}
	own := s.memory[from:][:size:size]
	clear(own[:min(size, max(0, s.used-from))])
	s.used = max(s.used, from+room)
	s.pieces++
	if h.owner == nil {
		h.owner = map[unsafe.Pointer]piece{}
	}
	h.owner[unsafe.Pointer(unsafe.SliceData(own))] = piece{s, from, from + room}
	return own
}

// give takes the piece that starts at p back, if it is one.
func (h *slabHeap) give(p unsafe.Pointer) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	own, ok := h.owner[p]
	if !ok {
		return false
	}
	delete(h.owner, p)
	s := own.slab
	s.putBack(span{own.from, own.to})
	if s.pieces--; s.pieces == 0 {
		h.all = slices.DeleteFunc(h.all, func(x *slab) bool { return x == s })
		unmap(s.memory)
	}
	return true
}

// putBack makes f free and joins it with its neighbours.
func (s *slab) putBack(f span) {
	i, _ := slices.BinarySearchFunc(s.free, f, func(a, b span) int { return a.from - b.from })
	if i < len(s.free) && s.free[i].from == f.to {
		f.to = s.free[i].to
		s.free = slices.Delete(s.free, i, i+1)
	}
	if i > 0 && s.free[i-1].to == f.from {
		s.free[i-1].to = f.to
		return
	}
	s.free = slices.Insert(s.free, i, f)
}
