package mail

import (
	"strconv"
	"strings"
)

// A param is one "key=value" of a header field, as it is written there.
type param struct{ key, value string }

// A media is what Content-Type or Content-Disposition says.
type media struct {
	kind   string // lower case, such as text/plain
	params []param
}

// get returns the first plain parameter of a name.
func (m *media) get(key string) string {
	for _, p := range m.params {
		if p.key == key {
			return p.value
		}
	}
	return ""
}

// name returns a parameter that may be in one of RFC 2231's forms: with a
// charset, in pieces, or both. Encoded words, which RFC 2231 forbids there and
// everybody writes, are decoded as well.
func (m *media) name(key string) string {
	if text := m.extended(key + "*"); text != "" {
		return shown(text)
	}
	if text := m.extended(key + "*0"); text != "" {
		return shown(decodeWords(text))
	}
	return shown(decodeWords(m.get(key)))
}

// extended joins the pieces of a parameter. first is the name of its first
// piece: "name*" for one in one piece, "name*0" (or, encoded, "name*0*") for
// one in several.
func (m *media) extended(first string) string {
	key, many := strings.CutSuffix(first, "0")
	var raw []byte
	label := ""
	for i := range len(m.params) {
		name := first
		if many {
			name = key + strconv.Itoa(i)
		}
		value, encoded := m.get(name), !many
		if value == "" {
			value, encoded = m.get(name+"*"), true
		}
		if value == "" {
			break
		}
		if encoded && i == 0 {
			if parts := strings.SplitN(value, "'", 3); len(parts) == 3 {
				label, value = parts[0], parts[2]
			}
		}
		if encoded {
			raw = append(raw, unescapePercent(value)...)
		} else {
			raw = append(raw, value...)
		}
		if !many {
			break
		}
	}
	text, _ := decodeCharset(raw, label)
	return text
}

func unescapePercent(s string) []byte {
	if strings.IndexByte(s, '%') < 0 {
		return []byte(s)
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return out
}

// parseMedia reads "kind; key=value; …". A damaged parameter costs only itself;
// odd tells that there was one.
func parseMedia(value string) (m media, odd bool) {
	kind, rest, _ := strings.Cut(value, ";")
	m.kind = strings.ToLower(strings.TrimSpace(kind))
	for rest = strings.TrimLeft(rest, "; \t"); rest != ""; rest = strings.TrimLeft(rest, "; \t") {
		var p param
		if p, rest = cutParam(rest); p.key == "" {
			odd = true
		} else {
			m.params = append(m.params, p)
		}
	}
	return m, odd
}

// cutParam takes one parameter off the front of s. The key is empty if it is
// none.
func cutParam(s string) (p param, rest string) {
	i := strings.IndexAny(s, "=;\"")
	if i < 0 || s[i] != '=' {
		_, rest, _ = strings.Cut(s, ";")
		return p, rest
	}
	p.key = strings.ToLower(strings.TrimSpace(s[:i]))
	if s = strings.TrimLeft(s[i+1:], " \t"); strings.HasPrefix(s, `"`) {
		p.value, rest = cutQuoted(s[1:])
		return p, rest
	}
	p.value, rest, _ = strings.Cut(s, ";")
	p.value = strings.TrimSpace(p.value)
	return p, rest
}

// cutQuoted reads up to the closing quote, and drops what stands between that
// and the next semicolon. A backslash counts before a quote or another one
// only, since Windows writes paths with them. A quote that never closes ends at
// the semicolon.
func cutQuoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		case s[i] == '"':
			_, rest, _ = strings.Cut(s[i+1:], ";")
			return b.String(), rest
		}
		b.WriteByte(s[i])
	}
	value, rest, _ = strings.Cut(s, ";")
	return strings.TrimSpace(value), rest
}

// charsetOf is the charset that a Content-Type names.
func charsetOf(contentType string) string {
	if contentType == "" {
		return ""
	}
	m, _ := parseMedia(contentType)
	return m.get("charset")
}
