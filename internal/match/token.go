package match

import (
	"math"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A kind says what a token is.
type kind uint8

const (
	word kind = iota
	number
	date
	clock
	phone
)

// A token is one word or one value of a text.
type token struct {
	kind kind
	text string // a word folded and stemmed; the digits of a number

	// of a number
	value  float64 // in the base unit of its dimension
	bare   float64 // as written, scaled but without unit
	unit   string  // $, %, a dimension, or "" for none
	scale  float64 // of k, million and the like; 1 for none
	nth    bool    // an ordinal
	counts bool    // a word that is no unit follows: 2 people
	soft   bool    // "one", "second": also plain words, so never a rival
	loose  bool    // of a gold: "about 50" is no exact number

	// of a date; 0 is not said. short is a number that may be day or year.
	year, month, day, short int

	// of a time of day
	minutes int
	half    bool // morning or afternoon is known

	start, end int // bytes of the folded text
}

// A text is an answer read as tokens.
type text struct {
	folded string
	tokens []token
}

// maxText bounds what is read of one answer, in bytes. A longer one is not an
// answer anyway.
const maxText = 8 << 10

// fold decomposes, drops accents and makes quotes, dashes and blanks plain. It
// keeps case: May is a month, may is not.
func fold(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r), r == '\u00ad', r == '\u200b':
		case strings.ContainsRune("’‘`´ʼ", r):
			b.WriteByte('\'')
		case strings.ContainsRune("“”«»", r):
			b.WriteByte('"')
		case unicode.Is(unicode.Pd, r), r == '−':
			b.WriteByte('-')
		case r == '⁄':
			b.WriteByte('/')
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// read splits a text into tokens: at each place the first reader that knows
// what stands there takes it.
func read(s string) text {
	t := text{folded: fold(s)}
	for at := 0; at < len(t.folded); {
		tokens, n := next(t.folded, at)
		for _, tok := range tokens {
			tok.start, tok.end = at, at+n
			if tok.kind == number && tok.unit == "" && tok.scale == 1 && at > 1 && t.folded[at-1] == '-' && letter(t.folded[at-2]) {
				tok = token{text: tok.text, start: at, end: at + n} // the 10 of I-10 is a name
			}
			t.tokens = append(t.tokens, tok)
		}
		at += max(1, n)
	}
	t.spread()
	t.count()
	return t
}

func letter(c byte) bool { return wordByte(c) && (c < '0' || c > '9') }

// count marks numbers that a word follows at once.
func (t *text) count() {
	for i := 1; i < len(t.tokens); i++ {
		a, b := &t.tokens[i-1], &t.tokens[i]
		a.counts = a.kind == number && b.kind == word && !stops[b.text] && a.end < b.start && t.folded[a.end:b.start] == " "
	}
}

// spread carries what is said once for a range to its other end: 6-14 July,
// July 6-14, 2-4 pm.
func (t *text) spread() {
	for i := 1; i < len(t.tokens); i++ {
		a, b := &t.tokens[i-1], &t.tokens[i]
		if b.kind == word && i+1 < len(t.tokens) {
			b = &t.tokens[i+1] // the word may be to or and
		}
		if a.end > b.start || !rangeSign.MatchString(t.folded[a.end:b.start]) {
			continue
		}
		switch {
		case a.day1to31() && b.kind == date && b.day != 0:
			*a = token{kind: date, day: int(a.value), month: b.month, year: b.year, start: a.start, end: a.end}
		case a.kind == date && a.day != 0 && b.day1to31():
			*b = token{kind: date, day: int(b.value), month: a.month, year: a.year, start: b.start, end: b.end}
		case a.day1to31() && b.kind == clock && a.value <= 12:
			*a = token{kind: clock, minutes: int(a.value) * 60, start: a.start, end: a.end}
		case a.kind == number && b.kind == number && !a.nth && !b.nth:
			a.alike(b)
		}
	}
}

// alike makes both ends of 15-20 million and of $15-20 what one of them says.
func (t *token) alike(b *token) {
	if t.scale == 1 && b.scale > 1 && t.unit == "" {
		t.bare, t.scale = t.bare*b.scale, b.scale
		t.value = t.bare
	}
	for _, x := range [][2]*token{{t, b}, {b, t}} {
		if x[0].unit == "" && (x[1].unit == "$" || x[1].unit == "%") && x[1].value == x[1].bare {
			x[0].unit = x[1].unit
		}
	}
}

var rangeSign = regexp.MustCompile(`^ ?(?:-|to|through|thru|until|and|&) ?$`)

func (t *token) day1to31() bool {
	return t.kind == number && t.unit == "" && t.value >= 1 && t.value <= 31 && t.value == math.Trunc(t.value)
}

// next reads what stands at a place: n bytes that make some tokens, or nothing.
func next(s string, at int) (tokens []token, n int) {
	if !startsToken(s, at) {
		return nil, 0
	}
	first := s[at]
	if first >= 'A' && first <= 'Z' {
		first += 'a' - 'A'
	}
	for _, r := range readers {
		if r.first != "" && strings.IndexByte(r.first, first) < 0 {
			continue
		}
		if m := r.re.FindStringSubmatch(s[at:]); m != nil {
			if tokens, ok := r.make(m); ok && endsToken(s, at+len(m[0])) {
				return tokens, len(m[0])
			}
		}
	}
	return nil, 0
}

// startsToken says whether a token may begin here: at a letter, digit or what
// may stand before a number, and not inside a word.
func startsToken(s string, at int) bool {
	if at > 0 && wordByte(s[at-1]) && wordByte(s[at]) {
		return false
	}
	signed := strings.IndexByte("+-", s[at]) >= 0 && (at == 0 || !wordByte(s[at-1]))
	return wordByte(s[at]) || signed || strings.IndexByte("$.(", s[at]) >= 0
}

// endsToken refuses a value that goes on as a word: 11N1 is not 11.
func endsToken(s string, at int) bool {
	return at >= len(s) || !wordByte(s[at]) || !wordByte(s[at-1])
}

// wordByte is true for ASCII letters and digits and every byte of other letters.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
