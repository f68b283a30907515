package mailstore

import (
	"strings"
	"unicode"
)

// maxKeywords bounds a query; an agent's line has a dozen.
const maxKeywords = 64

// match writes an FTS5 expression that finds keywords as they stand. Each is a
// quoted string, so no character of it is syntax; one of several words is a
// phrase. Keywords without a letter or digit, and repeated ones, are dropped.
// ok is false if nothing is left.
func match(keywords []string, mode Mode) (expr string, ok bool) {
	var quoted []string
	seen := map[string]bool{}
	for _, k := range keywords {
		k = clean(k)
		folded := strings.ToLower(k)
		if !strings.ContainsFunc(k, isWord) || seen[folded] || len(quoted) == maxKeywords {
			continue
		}
		seen[folded] = true
		quoted = append(quoted, `"`+strings.ReplaceAll(k, `"`, `""`)+`"`)
	}
	join := " OR "
	if mode == All {
		join = " AND "
	}
	return strings.Join(quoted, join), len(quoted) > 0
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

// isWord reports whether the tokenizer unicode61 makes r part of a word.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
