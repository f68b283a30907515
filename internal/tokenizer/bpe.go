package tokenizer

import (
	"slices"
	"strings"
	"sync"
)

const (
	// longWord is from how many symbols on merging uses a heap: a scan is
	// quadratic, but faster for the usual short word.
	longWord = 32
	// maxCachedWord and maxCached bound the cache to a few megabytes.
	maxCachedWord = 48
	maxCached     = 1 << 16
)

// A wordCache remembers the ids of words. It forgets all when full.
type wordCache struct {
	mu    sync.RWMutex
	words map[string][]int32
}

func (c *wordCache) get(word string) ([]int32, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.words[word]
	return ids, ok
}

func (c *wordCache) put(word string, ids []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == nil || len(c.words) >= maxCached {
		c.words = map[string][]int32{}
	}
	c.words[strings.Clone(word)] = ids
}

// appendWord appends the ids of one word that the split made.
func (t *Tokenizer) appendWord(ids []int32, word string) []int32 {
	if t.vocab.IgnoreMerges {
		if id, ok := t.ids[word]; ok {
			return append(ids, id)
		}
	}
	if len(word) > maxCachedWord {
		return append(ids, t.merge(word)...)
	}
	cached, ok := t.cache.get(word)
	if !ok {
		cached = t.merge(word)
		t.cache.put(word, cached)
	}
	return append(ids, cached...)
}

// merge is BPE: the pair of lowest rank is joined, the leftmost of equals
// first, until no pair has a rank.
func (t *Tokenizer) merge(word string) []int32 {
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

func (t *Tokenizer) mergeShort(syms []int32) []int32 {
	for {
		best, at := merge{}, -1
		for i := 0; i+1 < len(syms); i++ {
			if m, ok := t.merges[pairKey(syms[i], syms[i+1])]; ok && (at < 0 || m.rank < best.rank) {
				best, at = m, i
			}
		}
		if at < 0 {
			return syms
		}
		syms[at] = best.id
		syms = append(syms[:at+1], syms[at+2:]...)
	}
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
		if m, ok := t.merges[pair]; ok {
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
