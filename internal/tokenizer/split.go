package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Split says how text is cut into words. The published rules are regular
// expressions with look-ahead, which Go's regexp lacks; they are written out
// here by hand.
type Split int

// The known splits. Patterns with (?i) and such are quoted in json.go.
const (
	SplitGPT2   Split = iota // GPT-2's expression
	SplitSmolLM              // each digit alone, then GPT-2's expression
	SplitQwen2               // Qwen2's expression, each digit alone
	SplitLlama3              // Qwen2's with groups of up to three digits
)

// each calls yield for the words of text, in order. They cover all of it.
func (s Split) each(text string, yield func(word string)) {
	switch s {
	case SplitSmolLM:
		eachSmolLM(text, yield)
	case SplitQwen2:
		eachWord(text, yield, func(rest string) int { return nextQwen2(rest, 1) })
	case SplitLlama3:
		eachWord(text, yield, func(rest string) int { return nextQwen2(rest, 3) })
	default:
		eachWord(text, yield, nextGPT2)
	}
}

func eachWord(text string, yield func(string), next func(rest string) int) {
	for len(text) > 0 {
		n := next(text)
		yield(text[:n])
		text = text[n:]
	}
}

// eachSmolLM isolates numeric characters first, so what stands between two of
// them is split as if it were a text of its own.
func eachSmolLM(text string, yield func(string)) {
	for len(text) > 0 {
		n := prefixNot(text, number)
		eachWord(text[:n], yield, nextGPT2)
		text = text[n:]
		if len(text) > 0 {
			n = prefix(text, number, 1)
			yield(text[:n])
			text = text[n:]
		}
	}
}

// nextGPT2 is the length of the first match of
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func nextGPT2(rest string) int {
	if n := contraction(rest, false); n > 0 {
		return n
	}
	start := 0
	if rest[0] == ' ' && len(rest) > 1 {
		start = 1
	}
	if kind, _ := classAt(rest[start:]); kind != space {
		return start + prefix(rest[start:], kind, -1)
	}
	return whitespace(rest)
}

// nextQwen2 is the length of the first match of
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func nextQwen2(rest string, digits int) int {
	if n := contraction(rest, true); n > 0 {
		return n
	}
	kind, size := classAt(rest)
	switch {
	case kind == letter:
		return prefix(rest, letter, -1)
	case kind == number:
		return prefix(rest, number, digits)
	case rest[0] != '\r' && rest[0] != '\n':
		if n := prefix(rest[size:], letter, -1); n > 0 {
			return size + n
		}
	}
	start := 0
	if rest[0] == ' ' {
		start = 1
	}
	if n := prefix(rest[start:], other, -1); n > 0 {
		n += start
		return n + len(rest[n:]) - len(strings.TrimLeft(rest[n:], "\r\n"))
	}
	run := prefix(rest, space, -1)
	if i := strings.LastIndexAny(rest[:run], "\r\n"); i >= 0 {
		return i + 1
	}
	return whitespace(rest)
}

// whitespace is the length of \s+(?!\S)|\s+ at the start of rest: a run of
// white space without its last character, which belongs to the next word, but
// all of it at the end of the text or where it is one character only.
func whitespace(rest string) int {
	run := prefix(rest, space, -1)
	if run == len(rest) {
		return run
	}
	_, last := utf8.DecodeLastRuneInString(rest[:run])
	if last == run {
		return run
	}
	return run - last
}

// contraction is the length of 's, 't, 're … at the start of rest, or 0. With
// fold, case does not matter, and the long s counts as s.
func contraction(rest string, fold bool) int {
	if rest[0] != '\'' {
		return 0
	}
	for _, c := range [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(rest, c) || fold && len(rest) >= len(c) && strings.EqualFold(rest[:len(c)], c) {
			return len(c)
		}
	}
	if fold && strings.HasPrefix(rest, "'ſ") {
		return len("'ſ")
	}
	return 0
}

// A class is what the splits know of a character.
type class uint8

const (
	other  class = iota // neither of these
	letter              // \p{L}
	number              // \p{N}
	space               // \s
)

// classes are those of the characters below U+10000.
var classes = makeClasses()

func makeClasses() *[1 << 16]class {
	var c [1 << 16]class
	for _, t := range []struct {
		table *unicode.RangeTable
		class class
	}{{unicode.White_Space, space}, {unicode.Letter, letter}, {newLetters, letter}, {unicode.Number, number}} {
		for _, r := range t.table.R16 {
			for at := int(r.Lo); at <= int(r.Hi); at += int(r.Stride) {
				c[at] = t.class
			}
		}
	}
	return &c
}

func classOf(r rune) class {
	switch {
	case int(r) < len(classes):
		return classes[r]
	case unicode.In(r, unicode.Letter, newLetters):
		return letter
	case unicode.In(r, unicode.Number, newNumbers):
		return number
	}
	return other
}

// classAt returns class and size of the character that s starts with. A byte
// that is not UTF-8 is other. At the end of s there is white space of size 0.
func classAt(s string) (class, int) {
	if s == "" {
		return space, 0
	}
	if s[0] < utf8.RuneSelf {
		return classes[s[0]], 1
	}
	r, n := utf8.DecodeRuneInString(s)
	return classOf(r), n
}

// prefix is the length of the run of at most limit characters (-1: any number)
// of class c that s starts with.
func prefix(s string, c class, limit int) int {
	n := 0
	for n < len(s) && limit != 0 {
		got, size := classes[s[n]], 1
		if s[n] >= utf8.RuneSelf {
			got, size = classAt(s[n:])
		}
		if got != c {
			break
		}
		n += size
		limit--
	}
	return n
}

// prefixNot is the length of the longest prefix of s without a character of class c.
func prefixNot(s string, c class) int {
	n := 0
	for n < len(s) {
		got, size := classes[s[n]], 1
		if s[n] >= utf8.RuneSelf {
			got, size = classAt(s[n:])
		}
		if got == c {
			break
		}
		n += size
	}
	return n
}
