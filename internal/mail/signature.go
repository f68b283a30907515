package mail

import (
	"regexp"
	"strings"
)

// A signature without the mark "-- " has at most so many lines, none longer than
// a line of an address.
const (
	cardLines = 8
	cardWidth = 64
)

var contact = regexp.MustCompile(`(?i)\(?\d{3}\)?[-. /]{1,2}\d{3}[-. ]\d{4}|\+\d{1,3}[ .-]?\(?\d|\d{3}-\d{4}\b|@|www\.|\b(tel|fax|phone|cell|mobile|pager|ext)\b`)

// markSignature marks a signature at the end of own text that no "-- " begins:
// the sender's name alone on a line, and below it, to the end, short lines of
// which one tells how to reach him. A name alone is none: it ends the text.
func markSignature(spans []Span, own, sender string) []Span {
	if sender == "" {
		return spans
	}
	end := len(strings.TrimRight(own, " \t\n"))
	start := -1
	for i, at := 0, end; i < cardLines && at > 0; i++ {
		from := strings.LastIndexByte(own[:at-1], '\n') + 1
		line := strings.TrimSpace(own[from:at])
		if len(line) > cardWidth || strings.HasPrefix(line, ">") {
			break
		}
		if i > 0 && isNameLine(line, sender) && contact.MatchString(own[at:end]) {
			start = from
		}
		at = from
	}
	if start < 0 || len(spans) > 0 && spans[len(spans)-1].End > start {
		return spans
	}
	return extend(spans, start, len(own))
}

// isNameLine reports whether a line is a person's name: the words of sender,
// maybe with others between and behind, such as an initial and a title.
func isNameLine(line, sender string) bool {
	first, last, found := strings.Cut(sender, " ")
	if len(line) < len(sender) || !strings.EqualFold(line[:len(first)], first) {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return r == ' ' || r == ',' || r == '.' || r == '\t' })
	if !found || len(words) < 2 || len(words) > 6 || words[0] != first {
		return false
	}
	return words[1] == last || len(words) > 2 && words[2] == last
}

// senderWords is "first last" in lower case, of the display name or of an
// address of the form first.last; it may be empty.
func senderWords(m *Message) string {
	for _, name := range [...]string{m.XFrom, m.FromName} {
		if name != "" && !strings.Contains(name, "@") {
			if w := strings.Split(localPart(name), "."); len(w) >= 2 {
				return w[0] + " " + w[len(w)-1]
			}
		}
	}
	local, _, _ := strings.Cut(m.From, "@")
	if w := strings.FieldsFunc(local, func(r rune) bool { return r == '.' || r == '_' }); len(w) >= 2 && len(w[0]) > 1 {
		return w[0] + " " + w[len(w)-1]
	}
	return ""
}
