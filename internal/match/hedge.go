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
	// longGreeting is how many such words a mail has, and an answer that says
	// "Regards" has not.
	longGreeting = 8
)

// pasted are the signs of a copied mail: its header, its greetings.
var pasted = regexp.MustCompile(`(?i)\b(?:from|subject|sent|cc): |\b(?:best|kind|warm)? ?regards\b|\bsincerely\b|original message|forwarded by|\b(?:hi|hello|dear) (?:all|everyone|team|folks)\b|\bthanks(?:,| for)|\b(?:call|let) me (?:know|with|if)\b`)

// twoTales are answers that leave the choice to the reader.
var twoTales = regexp.MustCompile(`(?i)\bor neither\b|\bone (?:of )?(?:the |these )?(?:mail|e-?mail|message|note|source|place)s? .{0,80}\b(?:another|the other|a second)\b|\bone of(?: these| the following)?:`)

// hedge returns why an answer that says the gold is refused, or "": it is
// right by saying many things, and would be paid for guessing. at are the places
// where it says the gold.
func hedge(asked, golds, said text, at []int) string {
	switch {
	case len(surplus(asked, golds, said)) > max(longAnswer, 4*len(golds.tokens)):
		return "far longer than an answer"
	case denied(asked, golds, said, at):
		return "says that it is not the gold answer"
	case pasted.MatchString(said.folded) && len(surplus(asked, golds, said)) > longGreeting:
		return "copies a mail"
	case twoTales.MatchString(said.folded) && len(surplus(asked, golds, said)) > 0:
		return "tells two stories"
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
var joins = regexp.MustCompile(`(?i)^[\s,;/|&?.-]*(?:\b(?:or|and|to|maybe|perhaps|possibly|probably|also|the|at|on|about|around|either|not sure|alternatively|otherwise|else|if not|if|not|then|another|says|both)\b[\s,;/|&?.-]*)*$`)

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
	orAfter  = regexp.MustCompile(`(?i)^[^\pL\pN]*(?:(?:or|and/or|and also|alternatively|otherwise|if not)\b|/|\?)\s*`)
	orBefore = regexp.MustCompile(`(?i)\s*(?:\b(?:or|and/or|and also|alternatively|otherwise|if not)|/|\?)[^\pL\pN]*(?:(?:maybe|perhaps|possibly|probably|rather|else|even|then),? )*(?:the |an? )?$`)
	bothAnd  = regexp.MustCompile(`(?i)\bboth ([^.;,]{2,60}?) and ([^.;,]{2,60})`)
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
	if m := orAfter.FindStringIndex(after); m != nil && another(asked, golds, read(after[m[1]:]), false) {
		return true
	}
	if m := orBefore.FindStringIndex(before); m != nil && another(asked, golds, read(before[:m[0]]), true) {
		return true
	}
	if m := bothAnd.FindStringSubmatchIndex(said.folded); m != nil && (at[0] >= m[2] && at[0] < m[3] || at[0] >= m[4] && at[0] < m[5]) {
		return another(asked, golds, read(said.folded[m[2]:m[3]]), true) || another(asked, golds, read(said.folded[m[4]:m[5]]), false)
	}
	return manyNames(asked, golds, said, at) || pureList(asked, golds, said, at)
}

// another says whether the few words at an end of a text, as far as they belong
// together, say something that is part of neither gold nor question.
func another(asked, golds, t text, atEnd bool) bool {
	all := members(t)
	if len(all) == 0 {
		return false
	}
	m := all[0]
	if atEnd {
		m = all[len(all)-1]
	}
	tokens := content(m.tokens)
	reach := min(len(tokens), max(2, longestMember(golds)))
	if atEnd {
		tokens = tokens[len(tokens)-reach:]
	} else {
		tokens = tokens[:reach]
	}
	return len(surplus(asked, golds, text{t.folded, tokens})) > 0
}

// pureList says whether the gold stands in a list of short members that are not
// it. Commas alone may also be those of Austin, Texas, USA.
func pureList(asked, golds, said text, at []int) bool {
	if valued(golds) {
		return false
	}
	enough := 3
	if andOr.MatchString(said.folded) {
		enough = 2
	}
	all := members(said)
	here := slices.IndexFunc(all, func(m text) bool { return m.has(at[0]) })
	if here < 0 {
		return false
	}
	others := 0
	for _, step := range []int{-1, 1} {
		for i := here + step; i >= 0 && i < len(all) && !sentenceEnd.MatchString(said.gap(all[min(i, i-step)], all[max(i, i-step)])); i += step {
			m := all[i]
			tokens := content(m.tokens)
			first := step < 0 && i == 0
			if len(tokens) > longMember && !first {
				break
			}
			if first && len(tokens) > 2 {
				m.tokens = tokens[len(tokens)-2:] // behind what introduces the list
			}
			if len(surplus(asked, golds, m)) < len(content(m.tokens)) || said.named(m) != said.named(all[here]) {
				break
			}
			others++
		}
	}
	return others >= enough && others >= 2*len(members(golds))
}

var sentenceEnd = regexp.MustCompile(`[.!?] `)

// gap is what stands between two members.
func (t text) gap(a, b text) string { return t.between(a.tokens[len(a.tokens)-1], b.tokens[0]) }

// named says whether the last word of a member has a capital.
func (t text) named(m text) bool { return t.capital(m.tokens[len(m.tokens)-1]) }

// has says whether a token of the text starts at a place.
func (t text) has(at int) bool {
	return slices.ContainsFunc(t.tokens, func(k token) bool { return k.start == at })
}

// longMember is how many words the member of a list has at most.
const longMember = 4

// manyNames says whether the gold stands in a row of names without a word
// between them, several times as many as it has itself.
func manyNames(asked, golds, said text, at []int) bool {
	const several = 4
	if valued(golds) {
		return false
	}
	if m := places.FindStringIndex(said.folded); m != nil && at[0] >= m[0] && at[0] < m[1] {
		return true
	}
	here := slices.IndexFunc(said.tokens, func(t token) bool { return t.start == at[0] })
	named := 0
	for _, step := range []int{-1, 1} {
		for i := here + step; i >= 0 && i < len(said.tokens); i += step {
			t := said.tokens[i]
			between := said.between(said.tokens[min(i, i-step)], said.tokens[max(i, i-step)])
			switch {
			case strings.ContainsAny(between, ",.(:"), t.kind != word, !said.capital(t) && t.text != "the" && t.text != "and":
				i = len(said.tokens) // ends the row
			case said.capital(t) && !slices.ContainsFunc(golds.tokens, t.fits) && !slices.ContainsFunc(asked.tokens, t.fits):
				named++
			}
			if i == len(said.tokens) {
				break
			}
		}
	}
	return named >= several && named >= 2*longestMember(golds)
}

// places in a row: the Larkfield room the Osprey annex the Cedar depot.
var places = regexp.MustCompile(`(?:\bthe [A-Z]\w+ [a-z]+(?:[ ,;/-]| and | or )*){3,}`)

func longestMember(golds text) int {
	n := 1
	for _, m := range members(golds) {
		n = max(n, len(content(m.tokens)))
	}
	return n
}

var andOr = regexp.MustCompile(`(?i)\b(?:and|or)\b|&`)

var listSign = regexp.MustCompile(`[,;:/|&?]| - |^\. `)

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
		if i > 0 && listSign.MatchString(t.between(t.tokens[i-1], tok)) {
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
