package mail

import (
	"regexp"
	"strings"
)

var (
	separatorLine = regexp.MustCompile(`^[>\s]*-{3,}\s*(Original Message|Original Appointment|Forwarded|Begin forwarded|Reply Separator|Urspr|Message d'origine|Mensaje original)`)
	wroteLine     = regexp.MustCompile(`^\s*(On|At|Am|Le|El) .{4,120}(wrote|writes|schrieb.{0,60}|a écrit|escribió) ?:?\s*$`)

	// Notes writes the sender, on the same line or a line above, then the date,
	// which it may wrap before the time.
	notesDate     = regexp.MustCompile(`^.{0,90}\b\d{1,2}/\d{1,2}/\d{2,4} \d{1,2}:\d{2}(:\d{2})? ?[AP]M\s*$`)
	notesDateHead = regexp.MustCompile(`^.{0,90}\bon \d{1,2}/\d{1,2}/\d{2,4}\s*$`)
	notesDateTail = regexp.MustCompile(`^\s*\d{1,2}:\d{2}(:\d{2})? ?[AP]M\s*$`)
	dateAlone     = regexp.MustCompile(`^\s*\d{1,2}/\d{1,2}/\d{2,4} \d{1,2}:\d{2}(:\d{2})? ?[AP]M\s*$`)
)

// How far below a separator the lines that confirm it may stand. Lists of
// recipients are long, so the subject may come late.
const (
	confirmLines   = 15
	toLines        = 6
	subjectLines   = 80
	signatureLines = 20
)

// quotedSpans marks the parts of a body that its writer did not write for this
// mail: the history below a separator, lines that begin with '>', and a
// signature. History is marked only where the lines below confirm it, and
// nothing is removed. Spans are sorted and do not overlap. sender is whose name
// begins a signature; it may be empty.
func quotedSpans(body, sender string) (spans []Span) {
	q := quoter{body: body}
	for q.pos < len(body) {
		line := q.line()
		switch {
		case q.isHistory(line):
			start := q.pos - q.senderAbove(line)
			spans = markSignature(spans, body[:start], sender)
			return extend(spans, start, len(body))
		case line == "-- \n" || line == "-- ":
			if end := q.signatureEnd(); end > 0 {
				spans = extend(spans, q.pos, end)
				q.skipTo(end)
				continue
			}
		case isQuoteLine(line):
			spans = extend(spans, q.pos, q.pos+len(line))
		}
		q.skipTo(q.pos + len(line))
	}
	return markSignature(spans, body, sender)
}

// extend adds a range, joined to the last span if it touches or overlaps that.
func extend(spans []Span, start, end int) []Span {
	if n := len(spans); n > 0 && spans[n-1].End >= start {
		spans[n-1].End = max(end, spans[n-1].End)
		return spans
	}
	return append(spans, Span{Start: start, End: end})
}

func isQuoteLine(line string) bool {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	return i < len(line) && line[i] == '>'
}

// A quoter walks through the lines of a body.
type quoter struct {
	body  string
	pos   int    // where the line begins
	above [2]int // where the lines above begin, the nearest first
	lines int    // how many lie above
}

// line returns the line at pos with its end.
func (q *quoter) line() string { return firstLine(q.body[q.pos:]) }

func (q *quoter) skipTo(pos int) {
	q.above[1], q.above[0] = q.above[0], q.pos
	q.lines++
	q.pos = pos
}

// below is the text after the line at pos.
func (q *quoter) below(line string) string { return q.body[q.pos+len(line):] }

func firstLine(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i+1]
	}
	return s
}

// isHistory reports whether everything from the line on is an earlier message.
// The expressions are slow, so the cheap signs at both ends of a line come first.
func (q *quoter) isHistory(line string) bool {
	text := trimEnd(line)
	first := skipMarks(text)
	if len(text)-first < 3 {
		return false
	}
	switch c := text[first]; {
	case c == '-':
		return text[first+1] == '-' && separatorLine.MatchString(text) && count(q.below(line), confirmLines, isField) >= 1
	case c == 'F' || c == 'f':
		if isFrom(text) {
			return count(q.below(line), 5, isField) >= 3
		}
	}
	switch last := text[len(text)-1]; {
	case last == ':':
		return wroteLine.MatchString(text) && quoteFollows(q.below(line))
	case last == 'M' && strings.IndexByte(text, '/') >= 0, last >= '0' && last <= '9' && strings.IndexByte(text[max(0, len(text)-5):], '/') >= 0:
		return q.isNotesDate(text, line) && count(q.below(line), toLines, isTo) >= 1 && count(q.below(line), subjectLines, isSubject) >= 1
	}
	return false
}

func trimEnd(line string) string {
	n := len(line)
	for n > 0 && (line[n-1] == '\n' || line[n-1] == ' ' || line[n-1] == '\t') {
		n--
	}
	return line[:n]
}

// skipMarks is where a line begins behind blanks and the marks of quotation and
// of bold type.
func skipMarks(line string) (i int) {
	for i < len(line) && (line[i] == ' ' || line[i] == '>' || line[i] == '\t' || line[i] == '*') {
		i++
	}
	return i
}

func (q *quoter) isNotesDate(text, line string) bool {
	return notesDate.MatchString(text) ||
		notesDateHead.MatchString(text) && notesDateTail.MatchString(strings.TrimRight(firstLine(q.below(line)), "\n"))
}

// senderAbove is how many bytes above a Notes date that stands alone belong to
// it: one short line with the sender's name.
func (q *quoter) senderAbove(line string) int {
	if !dateAlone.MatchString(line) {
		return 0
	}
	for i := range min(q.lines, 2) {
		name := strings.TrimSpace(firstLine(q.body[q.above[i]:]))
		if name == "" {
			continue
		}
		if len(name) < 60 && !strings.HasSuffix(name, ".") {
			return q.pos - q.above[i]
		}
		return 0
	}
	return 0
}

// signatureEnd is where the signature ends whose mark stands at pos: at the end
// of the text, or before history. More lines than a signature has are none: 0.
func (q *quoter) signatureEnd() int {
	s := *q
	for range signatureLines {
		line := s.line()
		s.skipTo(s.pos + len(line))
		if s.pos == len(s.body) {
			return s.pos
		}
		if next := s.line(); isQuoteLine(next) || s.isHistory(next) {
			return s.pos
		}
	}
	if strings.TrimSpace(s.body[s.pos:]) == "" {
		return len(s.body)
	}
	return 0
}

// count returns how many of the first n lines of text match.
func count(text string, n int, match func(string) bool) (matches int) {
	for ; n > 0 && text != ""; n-- {
		line := firstLine(text)
		if match(line) {
			matches++
		}
		text = text[len(line):]
	}
	return matches
}

func isFrom(line string) bool { return fieldName(line) == "from" }

func isField(line string) bool {
	switch fieldName(line) {
	case "from", "sent", "to", "cc", "date", "subject":
		return true
	}
	return false
}

// fieldName is the name, in lower case, of a header line that stands in a text,
// maybe behind marks of quotation or of bold type.
func fieldName(line string) string {
	line = line[skipMarks(line):]
	name, _, found := strings.Cut(line[:min(len(line), len("subject:*"))], ":")
	if !found || len(name) < 2 {
		return ""
	}
	if name[len(name)-1] == '*' {
		name = strings.TrimRight(name, "*")
	}
	return strings.ToLower(name)
}

func isTo(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "To:") }

func isSubject(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "Subject:") }

// quoteFollows reports whether the next line with text begins with '>'.
func quoteFollows(text string) bool {
	for range toLines {
		line := firstLine(text)
		if trimmed := strings.TrimSpace(line); trimmed != "" {
			return trimmed[0] == '>'
		}
		text = text[len(line):]
	}
	return false
}
