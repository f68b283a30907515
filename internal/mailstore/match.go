package mailstore

import (
	"strings"
	"unicode"
)

// What bounds a query. An agent's line has a dozen keywords; each word of a
// phrase costs a look into the index.
const (
	maxKeywords = 64
	maxWords    = 64 // of one keyword
)

// wanted is what to look for: keywords without those that have no letter or
// digit, and repeated ones; of a keyword of more than maxWords words those that
// come first.
func wanted(keywords []string) (list []string) {
	seen := map[string]bool{}
	for _, k := range keywords {
		k = firstWords(clean(k))
		folded := strings.ToLower(k)
		if !strings.ContainsFunc(k, isWord) || seen[folded] || len(list) == maxKeywords {
			continue
		}
		seen[folded] = true
		list = append(list, k)
	}
	return list
}

// match writes an FTS5 expression that finds keywords as they stand. Each is a
// quoted string, so no character of it is syntax; one of several words is a
// phrase.
func match(keywords []string, mode Mode) string {
	quoted := make([]string, 0, len(keywords))
	for _, k := range keywords {
		quoted = append(quoted, `"`+strings.ReplaceAll(k, `"`, `""`)+`"`)
	}
	join := " OR "
	if mode == All {
		join = " AND "
	}
	return strings.Join(quoted, join)
}

// clean makes valid UTF-8 without control characters: SQLite would end the
// expression at a NUL.
func clean(s string) string {
	s = strings.ToValidUTF8(s, " ")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

// firstWords is s up to the end of its word maxWords.
func firstWords(s string) string {
	n, inside := 0, false
	for i, r := range s {
		if word := isWord(r) || unicode.IsMark(r); word != inside {
			if inside = word; word {
				n++
			}
		}
		if n > maxWords {
			return s[:i]
		}
	}
	return s
}

// isWord reports whether the tokenizer unicode61 makes r part of a word:
// letters, numbers, and characters of private use (icons of fonts).
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}
