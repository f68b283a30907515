package mail

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// leafText decodes a text part to UTF-8 with LF line ends.
func (r *reader) leafText(h header, m media, body []byte) string {
	decoded := r.decode(h, body)
	if m.kind == "text/html" {
		return r.htmlPart(m, decoded)
	}
	decoded = unixLines(decoded)
	if !isQuotedPrintable(h.get(kindEncoding)) {
		decoded = r.repair(decoded)
	}
	text := r.toUTF8(decoded, m.get("charset"))
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') >= 0 { // of a charset that hid them
		text = string(unixLines([]byte(text)))
	}
	if strings.Contains(text, "begin ") {
		text = r.cutAttachments(text)
	}
	return text
}

func isQuotedPrintable(encoding string) bool {
	const name = "quoted-printable"
	return len(encoding) >= len(name) && strings.EqualFold(encoding[:len(name)], name)
}

// repair undoes an encoding that lost its label.
func (r *reader) repair(text []byte) []byte {
	if bytes.IndexByte(text, '=') >= 0 {
		if repaired, found := repairResidue(text); found {
			r.warn(WarnResidue)
			return repaired
		}
	}
	if decoded, ok := unlabelledBase64(text); ok {
		r.warn(WarnResidue)
		return unixLines(decoded)
	}
	return text
}

// htmlPart makes text of HTML, which may name its charset itself.
func (r *reader) htmlPart(m media, decoded []byte) string {
	label := m.get("charset")
	if label == "" && !utf8.Valid(decoded) {
		label = metaCharset(decoded)
	}
	return htmlText(r.toUTF8(decoded, label))
}

// metaCharset looks for <meta … charset=…> at the beginning of a page.
func metaCharset(page []byte) string {
	head := bytes.ToLower(page[:min(len(page), 2048)])
	_, rest, found := bytes.Cut(head, []byte("charset="))
	if !found {
		return ""
	}
	rest = bytes.TrimLeft(rest, `"' `)
	end := bytes.IndexAny(rest, `"'> ;/`)
	return string(rest[:max(end, 0)])
}

func (r *reader) toUTF8(b []byte, label string) string {
	text, fault := decodeCharset(b, label)
	switch fault {
	case labelUnknown:
		r.warn(WarnCharset)
	case labelWrong:
		r.warn(WarnWrongCharset)
	case labelRight:
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
		r.warn(WarnNul)
	}
	return text
}

func unixLines(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i, c := range b {
		switch {
		case c != '\r':
			out = append(out, c)
		case i+1 == len(b) || b[i+1] != '\n':
			out = append(out, '\n')
		}
	}
	return out
}
