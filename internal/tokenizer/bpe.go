package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	// longWord is from how many symbols on merging uses a heap: a scan is
	// quadratic, but faster for the usual short word.
	longWord = 32
	// maxCachedWord and cacheBits bound the cache to a few megabytes.
	maxCachedWord = 48
	cacheBits     = 16
)

// A wordCache remembers the ids of words. A word has one place, from which a
// newer one drives it out: no lock is needed.
type wordCache struct {
	seed  maphash.Seed
	words [1 << cacheBits]atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word string
	ids  []int32
}

func (c *wordCache) at(word string) *atomic.Pointer[cachedWord] {
	return &c.words[maphash.String(c.seed, word)%(1<<cacheBits)]
}

// appendWord appends the ids of one word that the split made.
func (t *Tokenizer) appendWord(ids []int32, word string) []int32 {
	if len(word) > maxCachedWord {
		return append(ids, t.encodeWord(word)...)
	}
	place := t.cache.at(word)
	if c := place.Load(); c != nil && c.word == word {
		return append(ids, c.ids...)
	}
	c := &cachedWord{word: strings.Clone(word), ids: t.encodeWord(word)}
	place.Store(c)
	return append(ids, c.ids...)
}

// encodeWord is BPE: the pair of lowest rank is joined, the leftmost of equals
// first, until no pair has a rank.
func (t *Tokenizer) encodeWord(word string) []int32 {
	if t.vocab.IgnoreMerges {
		if id, ok := t.ids[word]; ok {
			return []int32{id}
		}
	}
	syms := make([]int32, 0, len(word))
	for i := range len(word) {
		if id := t.byteID[word[i]]; id >= 0 {
			syms = append(syms, id)
		}
	}
	if len(syms) >= longWord {
		return t.mergeLong(syms)
	}
	return t.mergeShort(syms)
}

// mergeShort looks for the best of all pairs before each merge.
func (t *Tokenizer) mergeShort(syms []int32) []int32 {
	pairs := make([]merge, 0, longWord) // pairs[i] joins syms[i] and syms[i+1]
	for i := 1; i < len(syms); i++ {
		pairs = append(pairs, t.merges.get(syms[i-1], syms[i]))
	}
	for len(pairs) > 0 {
		at := 0
		for i := range pairs {
			if pairs[i].rank < pairs[at].rank {
				at = i
			}
		}
		if pairs[at] == noMerge {
			break
		}
		syms[at] = pairs[at].id
		syms = append(syms[:at+1], syms[at+2:]...)
		pairs = append(pairs[:at], pairs[at+1:]...)
		if at > 0 {
			pairs[at-1] = t.merges.get(syms[at-1], syms[at])
		}
		if at < len(pairs) {
			pairs[at] = t.merges.get(syms[at], syms[at+1])
		}
	}
	return syms
}

// mergeLong is mergeShort in n log n: symbols are a linked list, candidate
// pairs a heap from which outdated ones are dropped when they come up.
func (t *Tokenizer) mergeLong(syms []int32) []int32 {
	next, prev := make([]int, len(syms)), make([]int, len(syms))
	for i := range syms {
		next[i], prev[i] = i+1, i-1
	}
	var queue candidates
	push := func(left int) {
		if left < 0 || next[left] >= len(syms) {
			return
		}
		pair := pairKey(syms[left], syms[next[left]])
		if m := t.merges.get(syms[left], syms[next[left]]); m != noMerge {
			queue.push(candidate{merge: m, left: left, pair: pair})
		}
	}
	for i := range syms {
		push(i)
	}
	for len(queue) > 0 {
		c := queue.pop()
		right := next[c.left]
		if syms[c.left] < 0 || right >= len(syms) || pairKey(syms[c.left], syms[right]) != c.pair {
			continue
		}
		syms[c.left], syms[right] = c.id, -1
		next[c.left] = next[right]
		if next[right] < len(syms) {
			prev[next[right]] = c.left
		}
		push(prev[c.left])
		push(c.left)
	}
	return slices.DeleteFunc(syms, func(id int32) bool { return id < 0 })
}

// A candidate is a pair of symbols as it was when it was queued.
type candidate struct {
	merge
	left int
	pair uint64
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.left < d.left
}

// candidates is a heap; the first is before all others.
type candidates []candidate

func (q *candidates) push(c candidate) {
	*q = append(*q, c)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *candidates) pop() candidate {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < last && h[down+1].before(h[down]) {
			down++
		}
		if down >= last || !h[down].before(h[i]) {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	*q = h
	return first
}
