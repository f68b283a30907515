package mail

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A field is one header line, unfolded. The value is as written: encoded words
// are still encoded.
type field struct {
	kind  kind
	value string
}

// A header is the fields of one entity in their order.
type header []field

// get returns the first value of a kind, which is what counts where a field
// that may stand once stands twice.
func (h header) get(k kind) string {
	for i := range h {
		if h[i].kind == k {
			return h[i].value
		}
	}
	return ""
}

// all returns every value of a kind.
func (h header) all(k kind) (values []string) {
	for i := range h {
		if h[i].kind == k {
			values = append(values, h[i].value)
		}
	}
	return values
}

// A mark is where a field lies in the bytes of a header.
type mark struct {
	kind       kind
	start, end int // of the value
	folded     bool
}

// readHeader splits raw into its header and its body. Damage becomes a warning:
// blank lines before the header are skipped; a line that is no field is skipped
// if known fields follow it, else the body starts there, as if the blank line
// were missing.
func readHeader(raw []byte, warn func(string)) (h header, body []byte) {
	lines := cutter{b: skipBlankLines(raw)}
	var few [32]mark
	marks := few[:0]
	known := -1 // where what follows the next known field begins; -1: not looked for
	for lines.more() {
		start := lines.pos
		line := lines.next()
		k, value, ok := splitField(line)
		switch {
		case isFold(line, len(marks) > 0):
			last := &marks[len(marks)-1]
			last.end, last.folded = start+len(line), true
		case len(bytes.TrimSpace(line)) == 0:
			return textOf(lines.b, marks), lines.b[lines.pos:]
		case ok:
			marks = append(marks, mark{kind: k, start: start + value, end: start + len(line)})
		case len(marks) == 0 && isEnvelope(line): // the separator of an mbox
		default:
			if known < lines.pos {
				known = knownFieldFollows(lines)
			}
			if known < 0 {
				if len(marks) > 0 {
					warn(WarnNoBlankLine)
				}
				return textOf(lines.b, marks), lines.b[start:]
			}
			warn(WarnHeaderJunk)
		}
	}
	return textOf(lines.b, marks), nil
}

// textOf makes fields of marks. The values share one string.
func textOf(b []byte, marks []mark) header {
	if len(marks) == 0 {
		return nil
	}
	first, end := marks[0].start, marks[len(marks)-1].end
	h := make(header, len(marks))
	if !utf8.Valid(b[first:end]) {
		return decodeRaw(b, marks, h)
	}
	text := string(b[first:end])
	for i, m := range marks {
		h[i] = field{m.kind, unfold(text[m.start-first:m.end-first], m.folded)}
	}
	return h
}

// decodeRaw makes fields of a header with bytes that are no UTF-8. They are in
// the charset that Content-Type names, if it names one.
func decodeRaw(b []byte, marks []mark, h header) header {
	label := ""
	for _, m := range marks {
		if m.kind == kindContentType {
			label = charsetOf(string(bytes.ToValidUTF8(b[m.start:m.end], nil)))
		}
	}
	for i, m := range marks {
		text, _ := decodeCharset(b[m.start:m.end], label)
		h[i] = field{m.kind, unfold(strings.ToValidUTF8(text, ""), m.folded)}
	}
	return h
}

func unfold(s string, folded bool) string {
	if !folded {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		i := strings.IndexAny(s, "\r\n")
		if i < 0 {
			i = len(s) - 1
		}
		if line := strings.TrimSpace(s[:i+1]); line != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(line)
		}
		s = s[i+1:]
	}
	return b.String()
}

func skipBlankLines(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if len(raw) > 0 && raw[0] > ' ' {
		return raw
	}
	lines := cutter{b: raw}
	for lines.more() {
		start := lines.pos
		if len(bytes.TrimSpace(lines.next())) > 0 {
			return raw[start:]
		}
	}
	return raw
}

// A cutter cuts bytes into lines, which end in LF, CRLF or CR. It remembers
// where the next of each stands: looking for both at every line would be
// quadratic over a whole message that has one kind of line end only.
type cutter struct {
	b      []byte
	pos    int
	lf, cr int // the next ones at or after pos, plus one; 0: not looked for
}

func (c *cutter) more() bool { return c.pos < len(c.b) }

// next returns the line at pos without its end, and goes behind that.
func (c *cutter) next() []byte {
	rest := c.b[c.pos:]
	if c.lf <= c.pos {
		c.lf = nextByte(rest, '\n', c.pos)
	}
	if c.cr <= c.pos {
		c.cr = nextByte(rest, '\r', c.pos)
	}
	end := min(c.lf, c.cr) - 1
	line := c.b[c.pos:min(end, len(c.b))]
	c.pos = min(end+1, len(c.b))
	if c.cr < c.lf && c.lf == c.cr+1 && c.lf <= len(c.b) {
		c.pos = c.lf
	}
	return line
}

// nextByte is one more than the index of c in the whole text, of which b is what
// follows base; behind the end if there is none.
func nextByte(b []byte, c byte, base int) int {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return base + i + 1
	}
	return base + len(b) + 1
}

// isFold reports whether line goes on with the field before it. A line of
// blanks alone ends the header in practice, whatever RFC 5322 says.
func isFold(line []byte, inField bool) bool {
	return inField && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') && len(bytes.TrimSpace(line)) > 0
}

func isEnvelope(line []byte) bool {
	return bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte(">From "))
}

// splitField takes "Name: value" and returns where the value begins; blanks
// before the colon are let through.
func splitField(line []byte) (k kind, value int, ok bool) {
	i := bytes.IndexByte(line[:min(len(line), 78)], ':')
	if i <= 0 || i > 76 {
		return other, 0, false
	}
	token := bytes.TrimRight(line[:i], " \t")
	for _, c := range token {
		if c <= ' ' || c >= 0x7f {
			return other, 0, false
		}
	}
	return kindOf(token), i + 1, len(token) > 0
}

// knownFieldFollows looks ahead to the next blank line for a field of mail. It
// returns where what follows that begins, or -1.
func knownFieldFollows(lines cutter) int {
	for lines.more() {
		line := lines.next()
		if len(bytes.TrimSpace(line)) == 0 {
			return -1
		}
		if k, _, ok := splitField(line); ok && k != other {
			return lines.pos
		}
	}
	return -1
}

// lenientUTF8 keeps valid UTF-8 and reads every other byte as windows-1252.
func lenientUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			r = windows1252(b[0])
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}
