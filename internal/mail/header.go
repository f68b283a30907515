package mail

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// A field is one header line, unfolded. The value is as written: encoded words
// are still encoded.
type field struct{ name, value string }

// A header is the fields of one entity in their order.
type header []field

// get returns the first value of name, which is what counts where a field that
// may stand once stands twice.
func (h header) get(name string) string {
	for i := range h {
		if strings.EqualFold(h[i].name, name) {
			return h[i].value
		}
	}
	return ""
}

// all returns every value of name.
func (h header) all(name string) (values []string) {
	for i := range h {
		if strings.EqualFold(h[i].name, name) {
			values = append(values, h[i].value)
		}
	}
	return values
}

// readHeader splits raw into its header and its body. Damage becomes a warning:
// blank lines before the header are skipped; a line that is no field is skipped
// if known fields follow it, else the body starts there, as if the blank line
// were missing.
func readHeader(raw []byte, warn func(string)) (h header, body []byte) {
	var value []byte // of the last field, which may go on
	end := func() {
		if len(h) > 0 {
			h[len(h)-1].value = lenientUTF8(value)
		}
	}
	defer func() { end() }()
	known := -1 // length of what follows the next known field; -1: not looked for
	for rest := skipBlankLines(raw); len(rest) > 0; {
		line, next := cutLine(rest)
		name, v, ok := splitField(line)
		switch {
		case isFold(line, h):
			value = append(append(value, ' '), bytes.TrimSpace(line)...)
		case len(bytes.TrimSpace(line)) == 0:
			return h, next
		case ok:
			end()
			h, value = append(h, field{name: name}), append([]byte(nil), v...)
		case len(h) == 0 && isEnvelope(line): // the separator of an mbox
		default:
			if known < 0 || known >= len(next) {
				known = knownFieldFollows(next)
			}
			if known < 0 {
				if len(h) > 0 {
					warn(WarnNoBlankLine)
				}
				return h, rest
			}
			warn(WarnHeaderJunk)
		}
		rest = next
	}
	return h, nil
}

func skipBlankLines(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	for {
		line, next := cutLine(raw)
		if len(next) == len(raw) || len(bytes.TrimSpace(line)) > 0 {
			return raw
		}
		raw = next
	}
}

// cutLine returns the first line without its end, which is LF, CRLF or CR. It
// looks at each byte once: two searches would be quadratic over a whole message
// that has one kind of line end only.
func cutLine(b []byte) (line, rest []byte) {
	for i, c := range b {
		switch {
		case c == '\n':
			return b[:i], b[i+1:]
		case c == '\r' && i+1 < len(b) && b[i+1] == '\n':
			return b[:i], b[i+2:]
		case c == '\r':
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

// isFold reports whether line goes on with the last field of h. A line of
// blanks alone ends the header in practice, whatever RFC 5322 says.
func isFold(line []byte, h header) bool {
	return len(h) > 0 && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') && len(bytes.TrimSpace(line)) > 0
}

func isEnvelope(line []byte) bool {
	return bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte(">From "))
}

// splitField takes "Name: value"; blanks before the colon are let through.
func splitField(line []byte) (name string, value []byte, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || i > 76 {
		return "", nil, false
	}
	token := bytes.TrimRight(line[:i], " \t")
	for _, c := range token {
		if c <= ' ' || c >= 0x7f {
			return "", nil, false
		}
	}
	return string(token), bytes.TrimSpace(line[i+1:]), len(token) > 0
}

// knownFieldFollows looks ahead to the next blank line for a field of mail. It
// returns the length of what follows that, or -1.
func knownFieldFollows(b []byte) int {
	for len(b) > 0 {
		var line []byte
		if line, b = cutLine(b); len(bytes.TrimSpace(line)) == 0 {
			return -1
		}
		if name, _, ok := splitField(line); ok && isKnown(name) {
			return len(b)
		}
	}
	return -1
}

func isKnown(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "subject", "from", "to", "cc", "bcc", "date", "message-id", "mime-version", "reply-to", "received":
		return true
	}
	return strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "content-")
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
			r = charmap.Windows1252.DecodeByte(b[0])
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}
