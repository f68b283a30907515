package tokenizer

import (
	"container/heap"
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
			heap.Push(&queue, candidate{merge: m, left: left, pair: pair})
		}
	}
	for i := range syms {
		push(i)
	}
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
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

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].left < c[j].left
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
