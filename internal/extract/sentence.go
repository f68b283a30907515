package extract

import (
	"regexp"
	"strings"
)

// A Range is a half-open range of bytes.
type Range struct{ Start, End int }

var (
	stopRE     = regexp.MustCompile(`[.?!]+["')\]]*(?:\s|$)`)
	abbrevRE   = regexp.MustCompile(`(?i)(?:^|[\s(])(?:mr|mrs|ms|dr|st|no|vs|inc|corp|co|ltd|ext|approx|dept|attn|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec|e\.g|i\.e|v)\.$|(?:^|\s)[A-Z][a-z]+ [A-Z]\.$|^[A-Z]\.$|(?:^|\s)[a-z]\.[a-z]\.$`)
	breakRE    = regexp.MustCompile(`\n[ \t>]*\n+|\n(?:[ \t]*[-*•·][ \t]+|[ \t]*\d{1,2}[.)][ \t]+)`)
	historyRE  = regexp.MustCompile(`(?m)^[ \t>]*-{2,}[ \t]?Original Message|^[ \t>]*-{5,}[ \t]*Forwarded by|^[ \t]*On .{6,60} wrote:[ \t]*$|^[ \t]*_{5,}[ \t]*$|^[ \t]*From:[ \t].+\n(?:.*\n){0,4}?[ \t]*(?:Sent|To|Date|Subject):|^[ \t]*"?[A-Z][\w.' -]+"?(?:@\w+)?(?: <[^>\n]+>)?[ \t]+(?:on )?\d{1,2}/\d{1,2}/\d{2,4} \d{1,2}:\d\d(?::\d\d)? ?[AP]M[ \t]*$`)
	signoffRE  = regexp.MustCompile(`(?mi)^[ \t]*(?:--[ \t]*$|(?:thanks|thank you|many thanks|regards|best|best regards|kind regards|cheers|sincerely|yours|take care|talk soon|love)[,.!]?(?:[ \t][A-Z]\w+[.,!]?)?[ \t]*$)`)
	shortLines = 48 // a line this short or shorter was not wrapped by a mail program
)

// Own returns the ranges of body that its sender wrote: without the quoted
// ranges, lines that begin with ">", the history below a forward or reply
// header, and what follows the sign-off.
func Own(body string, quoted []Range) []Range {
	end := len(body)
	if m := historyRE.FindStringIndex(body); m != nil {
		end = m[0]
	}
	if m := signoffRE.FindStringIndex(body[:end]); m != nil {
		end = m[0]
	}
	var own []Range
	start := 0
	cut := func(from, to int) {
		if from > start && strings.TrimSpace(body[start:from]) != "" {
			own = append(own, Range{start, from})
		}
		start = max(start, to)
	}
	for at := 0; at < end; {
		next := end
		if n := strings.IndexByte(body[at:end], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := strings.TrimLeft(body[at:next], " \t")
		if strings.HasPrefix(line, ">") || insideAny(at, quoted) {
			cut(at, next)
		}
		at = next
	}
	cut(end, end)
	return own
}

// HistoryStart is where the history of a body begins, below a forward or reply
// header; -1 where there is none.
func HistoryStart(body string) int {
	if m := historyRE.FindStringIndex(body); m != nil {
		return m[0]
	}
	return -1
}

func insideAny(at int, ranges []Range) bool {
	for _, r := range ranges {
		if r.Start <= at && at < r.End {
			return true
		}
	}
	return false
}

// Sentences returns the sentences of text: ended by a stop, by an empty line,
// by a list item, or by the end of a line that was not wrapped.
func Sentences(text string) []Range { return SentencesWith(text, Spans(text)) }

// SentencesWith is Sentences where the facts of text are known already.
func SentencesWith(text string, facts []Span) []Range {
	var out []Range
	add := func(from, to int) {
		s := text[from:to]
		from += len(s) - len(strings.TrimLeft(s, " \t\n-*•·"))
		to = from + len(strings.TrimRight(text[from:max(from, to)], " \t\n"))
		if to > from {
			out = append(out, Range{from, to})
		}
	}
	for _, p := range paragraphs(text) {
		start := p.Start
		for _, m := range stopRE.FindAllStringIndex(text[p.Start:p.End], -1) {
			at, next := p.Start+m[0], p.Start+m[1]
			if endsSentence(text, at, next, facts) {
				add(start, next)
				start = next
			}
		}
		add(start, p.End)
	}
	return out
}

// endsSentence reports whether the stop at byte at ends a sentence: it is in no
// fact, follows no abbreviation, and no small letter comes next.
func endsSentence(text string, at, next int, facts []Span) bool {
	for _, f := range Within(facts, Range{at - window, at + 2}) {
		if f.Start <= at && at+1 < f.End {
			return false
		}
		if f.End == at+1 && next < len(text) && 'a' <= text[next] && text[next] <= 'z' {
			return false
		}
	}
	if text[at] == '.' && abbrevRE.MatchString(text[max(0, at-16):at+1]) {
		return false
	}
	return next >= len(text) || !('a' <= text[next] && text[next] <= 'z')
}

// paragraphs splits text at empty lines, list items and unwrapped line ends.
func paragraphs(text string) []Range {
	var out []Range
	start := 0
	cut := func(from, to int) {
		if from > start {
			out = append(out, Range{start, from})
		}
		start = to
	}
	for _, m := range breakRE.FindAllStringIndex(text, -1) {
		if !insideSentence(text, start, m[0], m[1]) {
			cut(m[0], m[1])
		}
	}
	cut(len(text), len(text))
	var lines []Range
	for _, p := range out {
		lines = append(lines, unwrap(text, p)...)
	}
	return lines
}

// insideSentence reports whether a line that begins like a list item is but
// the next line of a sentence: "until January" newline "29. More".
func insideSentence(text string, start, at, next int) bool {
	if strings.Count(text[at:next], "\n") > 1 || at == 0 {
		return false
	}
	last := text[at-1]
	lineStart := max(start, strings.LastIndexByte(text[:at], '\n')+1)
	numbered := strings.ContainsAny(text[at:next], "0123456789")
	return numbered && at-lineStart > shortLines && (isWordByte(last) || last == ',')
}

// unwrap cuts a paragraph after each line that is too short to have been
// wrapped, unless the next line goes on in small letters.
func unwrap(text string, p Range) []Range {
	var out []Range
	start, lineStart := p.Start, p.Start
	for i := p.Start; i < p.End; i++ {
		if text[i] != '\n' {
			continue
		}
		next := strings.TrimLeft(text[i+1:p.End], " \t")
		short := i-lineStart <= shortLines
		lineStart = i + 1
		if short && next != "" && !('a' <= next[0] && next[0] <= 'z') {
			out = append(out, Range{start, i})
			start = i + 1
		}
	}
	return append(out, Range{start, p.End})
}
