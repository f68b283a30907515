package mail

import (
	"bytes"
	"mime"
	"strings"
)

// maxDepth is how many levels of parts are read; deeper ones are left out.
const maxDepth = 100

// A reader collects the text and the attachments of one message.
type reader struct {
	text        strings.Builder
	attachments []Attachment
	warn        func(string)
}

// A media is what Content-Type says.
type media struct {
	kind   string // lower case, such as text/plain
	params map[string]string
}

var plainText = media{kind: "text/plain", params: map[string]string{}}

// contentType reads a Content-Type. A damaged parameter costs only itself; a
// damaged type is plain text.
func contentType(value string, warn func(string)) media {
	if value == "" {
		return plainText
	}
	kind, params, err := mime.ParseMediaType(value)
	if err == nil && strings.Contains(kind, "/") {
		return media{kind, params}
	}
	warn(WarnContentType)
	kind, rest, _ := strings.Cut(value, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if !strings.Contains(kind, "/") || strings.ContainsAny(kind, " \t") {
		kind = plainText.kind
	}
	return media{kind, looseParams(rest)}
}

func looseParams(s string) map[string]string {
	params := map[string]string{}
	for param := range strings.SplitSeq(s, ";") {
		key, value, found := strings.Cut(param, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if _, known := params[key]; found && !known {
			params[key] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return params
}

// entity reads one entity: a leaf, or the parts of a multipart.
func (r *reader) entity(h header, body []byte, depth int) {
	m := contentType(h.get("Content-Type"), r.warn)
	switch {
	case depth > maxDepth:
		r.warn(WarnTooDeep)
	case strings.HasPrefix(m.kind, "multipart/") && m.params["boundary"] != "":
		r.multipart(m, body, depth)
	case m.kind == "message/rfc822":
		r.embedded(decodeTransfer(h, body, r.warn), depth)
	case isAttachment(h, m):
		r.attach(h, m, body)
	case strings.HasPrefix(m.kind, "text/"), strings.HasPrefix(m.kind, "multipart/"):
		r.addText(r.leafText(h, m, body))
	default:
		r.attach(h, m, body)
	}
}

func isAttachment(h header, m media) bool {
	disposition, _, _ := strings.Cut(h.get("Content-Disposition"), ";")
	return strings.EqualFold(strings.TrimSpace(disposition), "attachment") ||
		fileName(h, m) != ""
}

func fileName(h header, m media) string {
	disposition := h.get("Content-Disposition")
	if disposition != "" {
		if name := dispositionName(disposition); name != "" {
			return decodeWords(name)
		}
	}
	return decodeWords(m.params["name"])
}

func dispositionName(value string) string {
	if _, params, err := mime.ParseMediaType(value); err == nil {
		return params["filename"]
	}
	_, rest, _ := strings.Cut(value, ";")
	return looseParams(rest)["filename"]
}

func (r *reader) attach(h header, m media, body []byte) {
	size := int64(len(decodeTransfer(h, body, r.warn)))
	r.attachments = append(r.attachments, Attachment{Name: fileName(h, m), Type: m.kind, Size: size})
}

// multipart reads all parts of a mixed one, the best text of an alternative.
func (r *reader) multipart(m media, body []byte, depth int) {
	parts, closed := splitParts(body, m.params["boundary"])
	if !closed {
		r.warn(WarnBoundary)
	}
	if m.kind == "multipart/alternative" {
		r.alternative(parts, depth)
		return
	}
	for _, part := range parts {
		h, content := readHeader(part, r.warn)
		r.entity(h, content, depth+1)
	}
}

// alternative takes the first part that is plain text with something in it,
// else the first that has any text. Attachments of all parts are kept.
func (r *reader) alternative(parts [][]byte, depth int) {
	var best string
	bestPlain := false
	for _, part := range parts {
		h, content := readHeader(part, r.warn)
		sub := reader{warn: r.warn}
		sub.entity(h, content, depth+1)
		r.attachments = append(r.attachments, sub.attachments...)
		text := sub.text.String()
		plain := contentType(h.get("Content-Type"), func(string) {}).kind == plainText.kind
		if strings.TrimSpace(text) != "" && (strings.TrimSpace(best) == "" || plain && !bestPlain) {
			best, bestPlain = text, plain
		}
	}
	r.addText(best)
}

// splitParts cuts a multipart body at its boundary lines. The line end before a
// boundary belongs to it. The end of the body closes an open part.
func splitParts(body []byte, boundary string) (parts [][]byte, closed bool) {
	mark := []byte("--" + boundary)
	start := -1 // of the part being read; -1 in the preamble
	for pos := 0; pos < len(body); {
		line, rest := cutLine(body[pos:])
		next := len(body) - len(rest)
		tail, found := bytes.CutPrefix(bytes.TrimRight(line, " \t"), mark)
		if found && (len(tail) == 0 || string(tail) == "--") {
			if start >= 0 {
				parts = append(parts, trimLineEnd(body[start:max(start, pos)]))
			}
			if start = next; len(tail) > 0 {
				return parts, true
			}
		}
		pos = next
	}
	if start >= 0 && start < len(body) {
		parts = append(parts, body[start:])
	}
	return parts, false
}

func trimLineEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// embedded puts a message inside a message into the text, as a forward reads.
func (r *reader) embedded(raw []byte, depth int) {
	h, body := readHeader(raw, r.warn)
	var head strings.Builder
	head.WriteString("---------- Forwarded message ----------\n")
	for _, name := range []string{"From", "Date", "To", "Subject"} {
		if value := h.get(name); value != "" {
			head.WriteString(name + ": " + decodeWords(value) + "\n")
		}
	}
	r.addText(head.String() + "\n")
	r.entity(h, body, depth+1)
}

func (r *reader) addText(text string) {
	if r.text.Len() > 0 && text != "" && !strings.HasSuffix(r.text.String(), "\n") {
		r.text.WriteByte('\n')
	}
	r.text.WriteString(text)
}

// leafText decodes a text part to UTF-8 with LF line ends.
func (r *reader) leafText(h header, m media, body []byte) string {
	decoded := decodeTransfer(h, body, r.warn)
	if m.kind != "text/html" && !strings.EqualFold(h.get("Content-Transfer-Encoding"), "quoted-printable") {
		var found bool
		if decoded, found = repairResidue(unixLines(decoded)); found {
			r.warn(WarnResidue)
		}
	}
	text, known := decodeCharset(decoded, m.params["charset"])
	if !known {
		r.warn(WarnCharset)
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
		r.warn(WarnNul)
	}
	if m.kind == "text/html" {
		return htmlText(text)
	}
	return string(unixLines([]byte(strings.TrimPrefix(text, "\ufeff"))))
}

func unixLines(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

func decodeTransfer(h header, body []byte, warn func(string)) []byte {
	encoding, _, _ := strings.Cut(h.get("Content-Transfer-Encoding"), ";")
	switch strings.ToLower(strings.Trim(encoding, " \t\"")) {
	case "quoted-printable":
		return decodeQuotedPrintable(body)
	case "base64":
		decoded, damaged := decodeBase64(body)
		if damaged {
			warn(WarnBase64)
		}
		return decoded
	}
	return body
}
