package mailstore

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// A token is a run of letters and digits of a text, as FTS5's unicode61 finds
// them in ASCII: where it begins.
type token int32

// end is where a token of text ends.
func (t token) end(text string) int {
	i := int(t)
	for i < len(text) && alnum[text[i]] {
		i++
	}
	return i
}

// alnum marks the letters and digits of ASCII.
var alnum = func() (set [256]bool) {
	for _, c := range "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		set[c] = true
	}
	return set
}()

func tokens(text string) []token { return firstTokens(nil, text, math.MaxInt) }

// firstTokens appends to list at least the first n tokens, or all, of a text of
// ASCII. It looks at 64 bytes at a time: whole bodies are read for their snippets.
func firstTokens(list []token, text string, n int) []token {
	carry := uint64(0) // 1: the byte before was part of a token
	for base := 0; base < len(text) && len(list) < n; base += 64 {
		var in uint64 // a bit a byte: it is a letter or a digit
		if base+64 <= len(text) {
			for i := 0; i < 64; i += 8 {
				in |= alnumBits(load(text[base+i:])) << i
			}
		} else {
			for i := range len(text) - base {
				if alnum[text[base+i]] {
					in |= 1 << i
				}
			}
		}
		for starts := in &^ (in<<1 | carry); starts != 0; starts &= starts - 1 {
			list = append(list, token(base+bits.TrailingZeros64(starts)))
		}
		carry = in >> 63
	}
	return list
}

func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

const eachByte = 0x0101010101010101

// alnumBits has a bit for each of eight bytes of ASCII: a byte's high bit is set
// by adding what is missing to it.
func alnumBits(x uint64) uint64 {
	const high = 0x80 * eachByte
	letter := x | 0x20*eachByte // lower case
	letters := (letter + (0x80-'a')*eachByte) &^ (letter + (0x80-'z'-1)*eachByte)
	digits := (x + (0x80-'0')*eachByte) &^ (x + (0x80-'9'-1)*eachByte)
	return ((letters | digits) & high >> 7) * 0x0102040810204080 >> 56
}

func isASCII(s string) bool {
	for len(s) >= 8 {
		x := load(s)
		if (x|(x-eachByte))&(0x80*eachByte) != 0 { // a byte beyond 0x7f, or a zero below which it borrows
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] == 0 {
			return false
		}
	}
	return true
}

// An instance is a phrase in a text: its first token.
type instance struct{ phrase, token, size int }

// snippet is the part of text that shows most of the instances, which are in
// order, with marks around them: FTS5's function of that name on one column.
func snippet(text string, instances []instance, marks [2]string) string {
	memory := wordLists.Get().(*[]token) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer wordLists.Put(memory)
	last := 0
	if n := len(instances); n > 0 {
		last = instances[n-1].token + instances[n-1].size
	}
	words := firstTokens((*memory)[:0], text, last+2*snippetTokens) // those behind are never shown
	*memory = words
	start := snippetStart(text, words, instances)
	end := start + snippetTokens - 1 // the last token
	var out strings.Builder
	from := 0
	if start > 0 {
		out.WriteString(ellipsis)
		from = int(words[start])
	}
	for _, m := range merged(instances) {
		if m.token < start || m.token > end {
			continue
		}
		first, last := int(words[m.token]), words[min(m.token+m.size-1, end)].end(text)
		out.WriteString(text[from:first] + marks[0] + text[first:last] + marks[1])
		from = last
	}
	if end >= len(words)-1 {
		return out.String() + text[from:]
	}
	return out.String() + text[from:words[end].end(text)] + ellipsis
}

var wordLists = sync.Pool{New: func() any { return &[]token{} }}

const ellipsis = "…"

// merged joins instances that overlap.
func merged(instances []instance) (list []instance) {
	for _, m := range instances {
		if n := len(list) - 1; n >= 0 && m.token < list[n].token+list[n].size {
			list[n].size = max(list[n].size, m.token+m.size-list[n].token)
			continue
		}
		list = append(list, m)
	}
	return list
}

// What a snippet scores: for each phrase it shows the first time, for each
// again, and for beginning at a sentence, or at the text's first.
const (
	scoreNew      = 1000
	scoreAgain    = 1
	scoreSentence = 100
	scoreFirst    = 120
)

// snippetStart is the first token of the best snippet: for each instance the one
// with it in the middle is tried, and the one from the sentence before it on.
func snippetStart(text string, words []token, instances []instance) (start int) {
	best := 0
	sentence, seen := 0, 0 // where the sentence begins that has token seen
	for _, m := range instances {
		score, middle := snippetScore(instances, m.token, len(words))
		if score > best {
			best, start = score, middle
		}
		if len(words) <= snippetTokens {
			continue
		}
		sentence, seen = sentenceOf(text, words, m.token, sentence, seen), m.token
		if at := sentence; at < m.token {
			score, _ := snippetScore(instances, at, len(words))
			if score += scoreSentence; at == 0 {
				score += scoreFirst - scoreSentence
			}
			if score > best {
				best, start = score, at
			}
		}
	}
	return start
}

// sentenceOf is the first token of the sentence that has token at: the last one
// behind a full stop or colon and blanks, or that of the sentence of an earlier
// token, seen.
func sentenceOf(text string, words []token, at, sentence, seen int) int {
	for ; at > seen; at-- {
		start := int(words[at])
		n := start
		for n > 0 && isBlank(text[n-1]) {
			n--
		}
		if n < start && n > 0 && (text[n-1] == '.' || text[n-1] == ':') {
			return at
		}
	}
	return sentence
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// snippetScore is what the tokens from at on show, and where to begin to have
// that in the middle.
func snippetScore(instances []instance, at, size int) (score, middle int) {
	first, last := -1, 0
	i, _ := slices.BinarySearchFunc(instances, at, func(m instance, at int) int { return m.token - at })
	for j, m := range instances[i:] {
		if m.token >= at+snippetTokens {
			break
		}
		seen := slices.ContainsFunc(instances[i:i+j], func(o instance) bool { return o.phrase == m.phrase })
		if score += scoreAgain; !seen {
			score += scoreNew - scoreAgain
		}
		if first < 0 {
			first = m.token
		}
		last = m.token + m.size
	}
	middle = first - (snippetTokens-(last-first))/2
	return score, max(0, min(middle, size-snippetTokens))
}
