package match

import (
	"regexp"
	"slices"
	"strings"
)

const (
	// longAnswer is how many words beyond gold and question an answer may have.
	longAnswer = 60
	// manyRivals is how many other values of the gold's kind make an answer a
	// copied text rather than an answer.
	manyRivals = 3
)

// hedge returns why an answer that says the gold is refused, or "": it is
// right by saying many things, and would be paid for guessing. at are the places
// where it says the gold.
func hedge(asked, golds, said text, at []int) string {
	switch {
	case len(surplus(asked, golds, said)) > max(longAnswer, 4*len(golds.tokens)):
		return "far longer than an answer"
	case denied(asked, golds, said, at):
		return "says that it is not the gold answer"
	}
	rivals := rivalsOf(asked, golds, said)
	for _, r := range rivals {
		if listed(said, at, r) {
			return "names several values"
		}
	}
	if len(distinct(rivals)) >= manyRivals {
		return "names several values"
	}
	if alternatives(asked, golds, said, at) {
		return "names several alternatives"
	}
	return ""
}

// surplus is what an answer says beyond gold and question.
func surplus(asked, golds, said text) []token {
	var out []token
	for _, t := range content(said.tokens) {
		if !slices.ContainsFunc(golds.tokens, t.fits) && !slices.ContainsFunc(asked.tokens, t.fits) {
			out = append(out, t)
		}
	}
	return out
}

// rivalsOf returns the answer's values that could stand where a value of the
// gold stands and are not it.
func rivalsOf(asked, golds, said text) []token {
	var out []token
	for _, t := range surplus(asked, golds, said) {
		if slices.ContainsFunc(golds.tokens, t.rivals) {
			out = append(out, t)
		}
	}
	return out
}

// rivals says whether both are values of one kind, as exact as each other.
func (t token) rivals(g token) bool {
	if t.kind != g.kind || t.soft || g.soft {
		return false
	}
	switch t.kind {
	case number:
		return t.nth == g.nth && t.likeYear() == g.likeYear() && (t.unit == g.unit || t.unit == "" && g.unit != "%")
	case date:
		return (t.day != 0) == (g.day != 0) && (t.month != 0) == (g.month != 0)
	case clock, phone:
		return true
	case word:
	}
	return false
}

// likeYear says whether a bare number is probably a year.
func (t token) likeYear() bool {
	return t.unit == "" && t.value >= 1900 && t.value < 2100 && t.end-t.start == 4
}

func distinct(values []token) []token {
	var out []token
	for _, v := range values {
		if !slices.ContainsFunc(out, v.fits) {
			out = append(out, v)
		}
	}
	return out
}

// joins is what stands between the members of a list.
var joins = regexp.MustCompile(`(?i)^[\s,;/|&-]*(?:\b(?:or|and|to|maybe|perhaps|possibly|probably|also|the|at|on|about|around|either|not sure)\b[\s,;/|&-]*)*$`)

// listed says whether a rival stands next to the gold as in a list, whether
// before or after it.
func listed(said text, at []int, rival token) bool {
	for _, t := range said.tokens {
		if t.kind != rival.kind || !slices.Contains(at, t.start) {
			continue
		}
		first, second := t, rival
		if first.start > second.start {
			first, second = second, first
		}
		if first.end <= second.start && joins.MatchString(said.folded[first.end:second.start]) && !fromBefore.MatchString(said.folded[:first.start]) {
			return true
		}
	}
	return false
}

// fromBefore: in "from Thursday to Friday" both ends are meant.
var fromBefore = regexp.MustCompile(`(?i)\bfrom [^,;.]{0,30}$`)

// notBefore are the words that deny what follows.
var notBefore = regexp.MustCompile(`(?i)(?:\bnot|n't|\bnever|\bneither|\bnor|\bexcept|\brather than|\binstead of|\bother than)(?: \w+)?[ "'(]*$`)

// denied says whether the answer says a short gold only to deny it. Where
// question or gold deny something themselves, it cannot be told.
func denied(asked, golds, said text, at []int) bool {
	const short = 3 // matched tokens
	if len(at) == 0 || len(at) > short || negation.MatchString(asked.folded) || negation.MatchString(golds.folded) {
		return false
	}
	return notBefore.MatchString(said.folded[:at[0]])
}

var negation = regexp.MustCompile(`(?i)\b(?:not?|never|nor|neither|nobody|nothing|cannot)\b|n't\b`)

// or, just after what was matched and just before it.
var (
	orAfter  = regexp.MustCompile(`(?i)^[^\pL\pN]*(?:(?:or|and/or)\b|/)\s*`)
	orBefore = regexp.MustCompile(`(?i)\s*(?:\b(?:or|and/or)|/)[^\pL\pN]*(?:the |an? )?$`)
)

// alternatives says whether an answer without values of the gold's kind names
// the gold as one of several.
func alternatives(asked, golds, said text, at []int) bool {
	if len(at) == 0 || strings.Contains(golds.folded, " or ") {
		return false
	}
	end := 0
	for _, t := range said.tokens {
		if slices.Contains(at, t.start) {
			end = max(end, t.end)
		}
	}
	before, after := said.folded[:at[0]], said.folded[end:]
	if m := orAfter.FindStringIndex(after); m != nil && another(asked, golds, content(read(after[m[1]:]).tokens), 0) {
		return true
	}
	if m := orBefore.FindStringIndex(before); m != nil {
		left := content(read(before[:m[0]]).tokens)
		if another(asked, golds, left, len(left)-1) {
			return true
		}
	}
	return pureList(asked, golds, said)
}

// another says whether the i-th token is part of neither gold nor question.
func another(asked, golds text, tokens []token, i int) bool {
	return i >= 0 && i < len(tokens) &&
		!slices.ContainsFunc(golds.tokens, tokens[i].fits) && !slices.ContainsFunc(asked.tokens, tokens[i].fits)
}

// pureList says whether the whole answer is a list of short members, more than
// the gold has. Commas alone may also be those of Austin, Texas, USA.
func pureList(asked, golds, said text) bool {
	const longMember = 4 // tokens; a longer one is a sentence
	if valued(golds) {
		return false
	}
	others, enough := 0, 3
	if andOr.MatchString(said.folded) {
		enough = 2
	}
	for _, m := range members(said) {
		switch {
		case len(m.tokens) > longMember:
			return false
		case len(surplus(asked, golds, m)) == len(content(m.tokens)):
			others++
		}
	}
	return others >= enough && others >= 2*len(members(golds))
}

var andOr = regexp.MustCompile(`(?i)\b(?:and|or)\b|&`)

// members splits a text at commas and the like, and at and and or.
func members(t text) []text {
	var out []text
	var open []token
	end := func() {
		if len(open) > 0 {
			out = append(out, text{t.folded, open})
		}
		open = nil
	}
	for i, tok := range t.tokens {
		if i > 0 && strings.ContainsAny(t.folded[min(t.tokens[i-1].end, tok.start):tok.start], ",;/|&") {
			end()
		}
		if tok.kind == word && (tok.text == "and" || tok.text == "or") {
			end()
			continue
		}
		open = append(open, tok)
	}
	end()
	return out
}
