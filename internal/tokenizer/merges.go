package tokenizer

import (
	"math"
	"math/bits"
)

// A merge joins a pair of ids into one; lower ranks go first.
type merge struct{ rank, id int32 }

// noMerge is what a pair that nothing joins has.
var noMerge = merge{rank: math.MaxInt32, id: -1}

// mergeTable finds the merge of a pair. It is a hash table with open addressing,
// at most half full: encoding is mostly looking up pairs, and a map takes thrice
// as long.
type mergeTable struct {
	slots []mergeSlot
	shift int
}

type mergeSlot struct {
	key uint64 // pairKey+1, 0: empty
	merge
}

func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

func newMergeTable(size int) mergeTable {
	n := bits.Len(uint(max(2*size, 2)))
	return mergeTable{slots: make([]mergeSlot, 1<<n), shift: 64 - n}
}

// slot is where key is, or would be put.
func (t *mergeTable) slot(key uint64) *mergeSlot {
	for i := key * 0x9E3779B97F4A7C15 >> t.shift; ; i++ { // a multiple of the golden ratio spreads well
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.key == key || s.key == 0 {
			return s
		}
	}
}

// put sets the merge of a pair; a later one replaces it.
func (t *mergeTable) put(left, right int32, m merge) {
	key := pairKey(left, right) + 1
	*t.slot(key) = mergeSlot{key, m}
}

func (t *mergeTable) get(left, right int32) merge {
	if s := t.slot(pairKey(left, right) + 1); s.key != 0 {
		return s.merge
	}
	return noMerge
}
