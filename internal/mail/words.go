package mail

import (
	"strings"
	"unicode"
)

// decodeWords decodes the RFC 2047 encoded words of a header value. It takes
// what writers get wrong: blanks inside a word, words that touch each other or
// other text, words inside quotes, a character split over two words, an end
// that is missing. What is no encoded word stays as it is.
func decodeWords(s string) string {
	at := strings.Index(s, "=?")
	if at < 0 {
		return s
	}
	var b strings.Builder
	var run encodedWord // words of one charset, not decoded yet
	for at >= 0 {
		word, rest, ok := cutWord(s[at:])
		if !ok {
			run.flush(&b)
			b.WriteString(s[:at+2])
			s = s[at+2:]
			at = strings.Index(s, "=?")
			continue
		}
		between := s[:at]
		if run.label != word.label || strings.TrimSpace(between) != "" {
			joined := run.label != "" && strings.TrimSpace(between) == ""
			run.flush(&b)
			if !joined {
				b.WriteString(between)
			}
		}
		run.label, run.bytes = word.label, append(run.bytes, word.bytes...)
		s = rest
		at = strings.Index(s, "=?")
	}
	run.flush(&b)
	b.WriteString(s)
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// An encodedWord is the content of one or more words that stand together.
type encodedWord struct {
	label string
	bytes []byte
}

func (w *encodedWord) flush(b *strings.Builder) {
	if w.label != "" {
		text, _ := decodeCharset(w.bytes, w.label)
		b.WriteString(text)
	}
	*w = encodedWord{}
}

// cutWord reads =?charset?encoding?text?= at the beginning of s.
func cutWord(s string) (w encodedWord, rest string, ok bool) {
	label, more, found := strings.Cut(s[2:], "?")
	if !found || label == "" || len(label) > 60 || strings.ContainsAny(label, " \t=<>\"") || len(more) < 2 || more[1] != '?' {
		return w, "", false
	}
	text, rest, closed := strings.Cut(more[2:], "?=")
	if !closed { // the end is missing: the word goes to the next blank
		i := strings.IndexAny(text, " \t\"<>")
		if i < 0 {
			i = len(text)
		}
		text, rest = text[:i], text[i:]
	}
	w.label = strings.ToLower(label)
	switch more[0] {
	case 'q', 'Q':
		w.bytes = decodeQuotedPrintable([]byte(strings.ReplaceAll(text, "_", " ")))
	case 'b', 'B':
		w.bytes, _ = decodeBase64([]byte(text))
	default:
		return w, "", false
	}
	return w, rest, true
}

// shown makes a header value fit to be shown: control characters, which could
// steer a terminal, become blanks, and blanks are folded. The result shares no
// memory with s.
func shown(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			return strings.Join(strings.FieldsFunc(s, isUnshown), " ")
		}
	}
	return strings.Clone(s)
}

func isUnshown(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || isDirection(r)
}

// isDirection reports the marks that turn the direction of text, with which a
// file's name can hide its ending.
func isDirection(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
