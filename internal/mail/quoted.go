package mail

import (
	"regexp"
	"strings"
)

var (
	separatorLine = regexp.MustCompile(`^[>\s]*-{3,}\s*(Original Message|Original Appointment|Forwarded|Reply Separator)`)
	fieldLine     = regexp.MustCompile(`(?i)^[>\s*]*(from|sent|to|cc|date|subject):`)
	fromLine      = regexp.MustCompile(`(?i)^[>\s*]*from:`)
	wroteLine     = regexp.MustCompile(`^\s*(On|At) .{4,120}(wrote|writes):?\s*$`)
	toLine        = regexp.MustCompile(`^\s*To:`)
	subjectLine   = regexp.MustCompile(`^\s*Subject:`)

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
	confirmLines = 15
	toLines      = 6
	subjectLines = 80
)

// quotedSpans marks the parts of a body that its writer did not write: the
// history below a separator, lines that begin with '>', and a signature. They
// are marked only where the lines below confirm them, and nothing is removed.
// Spans are sorted and do not overlap.
func quotedSpans(body string) (spans []Span) {
	lines := strings.SplitAfter(body, "\n")
	pos := 0
	for i, line := range lines {
		if isHistory(lines, i) || strings.TrimRight(line, "\r\n") == "-- " {
			return extend(spans, pos-senderAbove(lines, i), len(body))
		}
		if strings.HasPrefix(strings.TrimLeft(line, " "), ">") {
			spans = extend(spans, pos, pos+len(line))
		}
		pos += len(line)
	}
	return spans
}

// extend adds a range, joined to the last span if it touches or overlaps that.
func extend(spans []Span, start, end int) []Span {
	if n := len(spans); n > 0 && spans[n-1].End >= start {
		spans[n-1].End = end
		return spans
	}
	return append(spans, Span{Start: start, End: end})
}

// isHistory reports whether everything from line i on is an earlier message.
func isHistory(lines []string, i int) bool {
	line := strings.TrimRight(lines[i], "\r\n")
	switch {
	case strings.Contains(line, "---"):
		return separatorLine.MatchString(line) && follows(lines, i, confirmLines, fieldLine, 1)
	case isNotesDate(lines, i, line):
		return follows(lines, i, toLines, toLine, 1) && follows(lines, i, subjectLines, subjectLine, 1)
	case strings.HasSuffix(strings.TrimSpace(line), ":"):
		return wroteLine.MatchString(line) && quoteFollows(lines, i)
	}
	return strings.Contains(line, ":") && fromLine.MatchString(line) && follows(lines, i, 5, fieldLine, 3)
}

func isNotesDate(lines []string, i int, line string) bool {
	if !strings.Contains(line, "/") {
		return false
	}
	return notesDate.MatchString(line) ||
		i+1 < len(lines) && notesDateHead.MatchString(line) && notesDateTail.MatchString(strings.TrimRight(lines[i+1], "\r\n"))
}

// senderAbove is how many bytes above a Notes date that stands alone belong to
// it: one short line with the sender's name.
func senderAbove(lines []string, i int) (n int) {
	if !dateAlone.MatchString(lines[i]) {
		return 0
	}
	for _, back := range []int{1, 2} {
		if i < back {
			return 0
		}
		n += len(lines[i-back])
		if name := strings.TrimSpace(lines[i-back]); name != "" {
			if len(name) < 60 && !strings.HasSuffix(name, ".") {
				return n
			}
			return 0
		}
	}
	return 0
}

// follows reports whether at least want of the n lines after i match.
func follows(lines []string, i, n int, re *regexp.Regexp, want int) bool {
	for _, line := range lines[i+1 : min(i+1+n, len(lines))] {
		if re.MatchString(line) {
			want--
		}
	}
	return want <= 0
}

// quoteFollows reports whether the next line with text begins with '>'.
func quoteFollows(lines []string, i int) bool {
	for _, line := range lines[i+1 : min(i+1+toLines, len(lines))] {
		if line = strings.TrimSpace(line); line != "" {
			return strings.HasPrefix(line, ">")
		}
	}
	return false
}
