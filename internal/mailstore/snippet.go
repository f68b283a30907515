package mailstore

import (
	"slices"
	"strings"
)

// A token is a run of letters and digits of a text, as FTS5's unicode61 finds
// them in ASCII.
type token struct{ start, end int }

func tokens(text string) (list []token) {
	for i := 0; i < len(text); {
		if !isAlnum(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isAlnum(text[i]) {
			i++
		}
		list = append(list, token{start, i})
	}
	return list
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isASCII(s string) bool {
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
	words := tokens(text)
	start := snippetStart(text, words, instances)
	end := start + snippetTokens - 1 // the last token
	var out strings.Builder
	from := 0
	if start > 0 {
		out.WriteString(ellipsis)
		from = words[start].start
	}
	for _, m := range merged(instances) {
		if m.token < start || m.token > end {
			continue
		}
		last := min(m.token+m.size-1, end)
		out.WriteString(text[from:words[m.token].start] + marks[0] + text[words[m.token].start:words[last].end] + marks[1])
		from = words[last].end
	}
	if end >= len(words)-1 {
		return out.String() + text[from:]
	}
	return out.String() + text[from:words[end].end] + ellipsis
}

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
	var sentences []int
	if len(words) > snippetTokens {
		sentences = sentenceStarts(text, words)
	}
	for _, m := range instances {
		score, middle := snippetScore(instances, m.token, len(words))
		if score > best {
			best, start = score, middle
		}
		if len(sentences) == 0 {
			continue
		}
		i, found := slices.BinarySearch(sentences, m.token)
		if !found {
			i--
		}
		if at := sentences[i]; at < m.token {
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

// sentenceStarts are the tokens behind a full stop or colon and blanks.
func sentenceStarts(text string, words []token) []int {
	list := []int{0}
	for i, w := range words[1:] {
		before := strings.TrimRight(text[:w.start], " \t\n\r")
		if n := len(before); n < w.start && n > 0 && (before[n-1] == '.' || before[n-1] == ':') {
			list = append(list, i+1)
		}
	}
	return list
}

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
