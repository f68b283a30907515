package match

import (
	"slices"
	"strings"
)

// Unsupported returns the numbers, dates, times and names of an answer that
// stand in none of the sources and not in the question, as they are written. A
// number in other writing stands there all the same: $1.2K for $1,200.
func Unsupported(question, answer string, sources []string) []string {
	asked := read(question)
	said := read(takeApart(fold(answer)))
	var claims []token
	for _, t := range said.tokens {
		if claim(said, t) && !slices.ContainsFunc(asked.tokens, t.fits) {
			claims = append(claims, t)
		}
	}
	for _, source := range sources {
		for part := range pieces(source) {
			if len(claims) == 0 {
				return nil
			}
			stands := read(part).tokens
			claims = slices.DeleteFunc(claims, func(c token) bool {
				return slices.ContainsFunc(stands, func(s token) bool { return c.fits(s) || s.fits(c) })
			})
		}
	}
	var out []string
	for _, c := range claims {
		if text := said.folded[c.start:c.end]; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// claim says whether a token can be looked up: a value, a name with digits, or a
// word with a capital that is not in everybody's mouth.
func claim(said text, t token) bool {
	switch {
	case t.kind != word:
		return !t.soft
	case strings.ContainsAny(t.text, digitFirst):
		return true
	}
	return said.capital(t) && len(t.text) > 1 && !stops[t.text] && !common[t.text] && !fillers[t.text]
}

// fillers are words with a capital that begin an answer or stand for what it
// says: no names.
var fillers = stemmed("yes no not none unknown sorry unfortunately according answer mail email e-mail message mr mrs ms dr am pm monday tuesday wednesday thursday friday saturday sunday im ive id ill dont theyre its hes shes")

// pieces cuts a long text, which read would not read whole, at blanks.
func pieces(s string) func(yield func(string) bool) {
	const piece = maxText / 2 // folding makes texts longer
	return func(yield func(string) bool) {
		for len(s) > piece {
			cut := strings.LastIndexAny(s[:piece], " \n\t")
			if cut <= 0 {
				cut = piece
			}
			if !yield(strings.ToValidUTF8(s[:cut], "")) {
				return
			}
			s = s[cut:]
		}
		yield(s)
	}
}
