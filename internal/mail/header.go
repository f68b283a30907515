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
	rest := skipBlankLines(raw)
	for len(rest) > 0 {
		line, next := cutLine(rest)
		name, value, ok := splitField(line)
		switch {
		case len(bytes.TrimSpace(line)) == 0 && !isFold(line, h):
			return h, next
		case isFold(line, h):
			h[len(h)-1].value = strings.TrimRight(h[len(h)-1].value, " \t") + " " + headerText(bytes.TrimSpace(line))
		case ok:
			h = append(h, field{name, headerText(value)})
		case len(h) == 0 && isEnvelope(line): // the separator of an mbox
		case knownFieldFollows(next):
			warn(WarnHeaderJunk)
		default:
			if len(h) > 0 {
				warn(WarnNoBlankLine)
			}
			return h, rest
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

// cutLine returns the first line without its end, which is LF, CRLF or CR.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if j := bytes.IndexByte(b[:max(i, 0)], '\r'); j >= 0 && j < i-1 {
		return b[:j], b[j+1:]
	}
	if i < 0 {
		if j := bytes.IndexByte(b, '\r'); j >= 0 {
			return b[:j], b[j+1:]
		}
		return b, nil
	}
	return bytes.TrimSuffix(b[:i], []byte("\r")), b[i+1:]
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

// knownFieldFollows looks ahead to the next blank line for a field of mail.
func knownFieldFollows(b []byte) bool {
	for len(b) > 0 {
		var line []byte
		if line, b = cutLine(b); len(bytes.TrimSpace(line)) == 0 {
			return false
		}
		if name, _, ok := splitField(line); ok && isKnown(name) {
			return true
		}
	}
	return false
}

func isKnown(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "subject", "from", "to", "cc", "bcc", "date", "message-id", "mime-version", "reply-to", "received":
		return true
	}
	return strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "content-")
}

// headerText makes text of raw header bytes: UTF-8 as it is, other 8-bit bytes
// as windows-1252.
func headerText(b []byte) string { return lenientUTF8(b) }

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
