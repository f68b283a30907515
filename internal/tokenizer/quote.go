package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Two characters that no text is meant to have (Unicode's noncharacters) keep
// the names of control tokens in a text apart from control tokens.
const (
	quoteMark   = "\uFDD0" // stands in a name that is text
	quoteEscape = "\uFDD1" // before a letter: one of the two themselves
)

var (
	quoteSelf = strings.NewReplacer(quoteMark, quoteEscape+"a", quoteEscape, quoteEscape+"b")
	unquote   = strings.NewReplacer(quoteEscape+"a", quoteMark, quoteEscape+"b", quoteEscape, quoteMark, "")
)

// Quote marks the names of control tokens in text, with all those of any added
// token, so that EncodeQuoted takes them for what they are: text. A template can
// carry quoted text like any other.
func (t *Tokenizer) Quote(text string, all bool) string {
	text = quoteSelf.Replace(text)
	var b strings.Builder
	from := 0
	for i := range len(text) {
		if a, ok := t.addedAt(text[i:]); ok && (all || a.Special) {
			_, first := utf8.DecodeRuneInString(a.Content)
			b.WriteString(text[from : i+first])
			b.WriteString(quoteMark)
			from = i + first
		}
	}
	return b.String() + text[from:]
}

// EncodeQuoted returns the ids of text, in which added tokens are recognised
// but for quoted ones.
func (t *Tokenizer) EncodeQuoted(text string) []int32 { return t.encodeAdded(text, unquote.Replace) }

// Unquote returns quoted text as it was.
func Unquote(text string) string { return unquote.Replace(text) }
