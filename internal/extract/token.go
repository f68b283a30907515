package extract

import (
	"regexp"
	"strings"
)

// A token is a word, a punctuation mark or a whole fact of a sentence.
type token struct {
	text       string
	low        string // lower case, straight apostrophes
	start, end int
	fact       *Span
}

var tokenRE = regexp.MustCompile(`[A-Za-z0-9$#%]+(?:['’&.@/-][A-Za-z0-9]+)*|--+|[^\sA-Za-z0-9]`)

// tokenize splits text[r.Start:r.End]; a fact is one token.
func tokenize(text string, r Range, facts []Span) []token {
	var out []token
	words := func(from, to int) {
		for _, m := range tokenRE.FindAllStringIndex(text[from:to], -1) {
			t := text[from+m[0] : from+m[1]]
			out = append(out, token{t, strings.ReplaceAll(strings.ToLower(t), "’", "'"), from + m[0], from + m[1], nil})
		}
	}
	at := r.Start
	inside := Within(facts, r)
	for i := range inside {
		f := &inside[i]
		if f.Start < at || f.End > r.End {
			continue
		}
		words(at, f.Start)
		t := f.Text(text)
		out = append(out, token{t, strings.ToLower(t), f.Start, f.End, f})
		at = f.End
	}
	words(at, r.End)
	return contractions(out)
}

// short maps the endings of contractions to the word that they stand for.
var short = map[string]string{"'ll": "will", "'ve": "have", "'re": "are", "'m": "am", "'d": "would"}

// contractions splits "we'll" into "we" and "will".
func contractions(in []token) []token {
	out := make([]token, 0, len(in))
	for _, t := range in {
		i := strings.LastIndexByte(t.low, '\'')
		full := ""
		if i > 0 {
			full = short[t.low[i:]]
		}
		if full == "" {
			out = append(out, t)
			continue
		}
		cut := len(t.text) - (len(t.low) - i)
		if strings.Contains(t.text, "’") {
			cut = strings.LastIndex(t.text, "’")
		}
		out = append(out, token{t.text[:cut], t.low[:i], t.start, t.start + cut, nil},
			token{full, full, t.start + cut, t.end, nil})
	}
	return out
}

// join renders tokens as running text: as in the mail, white space folded.
func join(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && !glued(tokens[i-1], t) {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Join(strings.Fields(t.text), " "))
	}
	return b.String()
}

// glued reports whether no blank stands between two tokens.
func glued(a, b token) bool {
	return a.end == b.start && !strings.HasPrefix(b.low, "will") && short["'"+strings.TrimPrefix(b.low, "'")] == "" && b.text != "are" && b.text != "have" && b.text != "am" && b.text != "would"
}
