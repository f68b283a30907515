package extract

import "strings"

var prepositions = set(`in on at by for to from with until till through before after of per via under as into onto off during around since between
	over about within against toward towards across near behind inside outside beyond without throughout among along up`)

// approximations stand between a preposition and a number and are no part of either.
var approximations = set(`about around approximately roughly only just nearly almost exactly another`)

// named are nouns that a fact follows as a name: "gate code 4471".
var named = set(`code pin number password passcode flight locator invoice order ticket case reference confirmation docket badge policy claim account extension room suite dock gate bay line shelf toner model drawing reservation space booth`)

// pieces splits what follows a verb into facts with their prepositions and the
// words between them.
func pieces(tokens []token) []Piece {
	var out []Piece
	var words []token
	flush := func() {
		words = trimComma(words)
		if len(words) > 0 && words[0].text == "," {
			words = words[1:]
		}
		if len(words) > 0 && join(words) != "and" {
			out = append(out, plainPieces(words)...)
		}
		words = nil
	}
	for _, t := range tokens {
		if t.fact == nil {
			words = append(words, t)
			continue
		}
		var p Piece
		p.Start, p.End = t.start, t.end
		p.Fact, p.Text = t.fact, strings.Join(strings.Fields(t.text), " ")
		words = p.takeLead(words)
		words = p.takePrep(words)
		flush()
		out = append(out, p)
	}
	flush()
	return out
}

// plainPieces cuts words without facts before "for" and "over", so that the
// object of a verb stands alone.
func plainPieces(words []token) []Piece {
	var out []Piece
	start := 0
	for i := 1; i <= len(words); i++ {
		if i == len(words) || words[i].low == "for" || words[i].low == "over" {
			part := words[start:i]
			out = append(out, Piece{Text: join(part), Start: part[0].start, End: part[len(part)-1].end})
			start = i
		}
	}
	return out
}

// takeLead moves "a deposit of", "the gate code", "about" from the end of words
// into p.
func (p *Piece) takeLead(words []token) []token {
	n := len(words)
	for n > 0 && (approximations[words[n-1].low] || n > 1 && words[n-1].low == "to" && words[n-2].low == "up") {
		n--
	}
	if n >= 3 && words[n-1].low == "of" {
		for k := 3; k <= 5 && k <= n; k++ {
			if d := words[n-k].low; d == "a" || d == "an" || d == "the" || d == "your" || d == "our" || d == "my" {
				p.Lead, p.Of = join(words[n-k:n-1]), true
				return words[:n-k]
			}
		}
	}
	if n >= 1 && named[words[n-1].low] {
		k := n - 1
		for k > 0 && n-k < 5 && !prepositions[words[k-1].low] && !determiners[words[k-1].low] && words[k-1].fact == nil && words[k-1].text != "," {
			k--
		}
		if k > 0 && determiners[words[k-1].low] {
			k--
		}
		p.Lead = join(words[k:n])
		return words[:k]
	}
	return words[:n]
}

// longPreps are prepositions of several words, the longest first.
var longPreps = [][]string{{"no", "later", "than"}, {"not", "later", "than"}, {"at", "the", "latest"}, {"as", "of"}, {"starting", "on"}, {"beginning", "on"}, {"starting", "at"}, {"effective", "on"}, {"due", "on"}, {"due", "by"}, {"instead", "of"}, {"out", "of"}, {"up", "to"}, {"next", "to"}, {"starting"}, {"effective"}, {"beginning"}, {"due"}}

// takePrep moves the preposition at the end of words into p.
func (p *Piece) takePrep(words []token) []token {
	n := len(words)
	if n > 0 && (words[n-1].low == "the" || words[n-1].low == "a") && p.Lead == "" && n > 1 && prepositions[words[n-2].low] {
		n--
	}
	for _, lp := range longPreps {
		if endsWith(words[:n], lp) {
			p.Prep = strings.Join(lp, " ")
			return words[:n-len(lp)]
		}
	}
	if n > 0 && (prepositions[words[n-1].low] || words[n-1].low == "every") {
		p.Prep = words[n-1].low
		return words[:n-1]
	}
	return words[:n]
}

func endsWith(words []token, low []string) bool {
	if len(words) < len(low) {
		return false
	}
	for i, w := range low {
		if words[len(words)-len(low)+i].low != w {
			return false
		}
	}
	return true
}
