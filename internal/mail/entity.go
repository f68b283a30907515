package mail

import (
	"bytes"
	"strings"
)

// What bounds the reading of one message, so that a small one cannot cost much:
// levels of parts, parts, and bytes looked at, as a multiple of its size beyond
// what costs nothing much. Each level of parts looks at its bytes again.
const (
	maxDepth = 100
	maxParts = 10000
	maxWork  = 16
	freeWork = 32 << 20
)

// A reader collects the text and the attachments of one message.
type reader struct {
	first       string          // of the text parts
	text        strings.Builder // all of them, if there are more
	attachments []Attachment
	warn        func(string)
	limit       *limit
}

// A limit is what is left of the bounds; the readers of one message share it.
type limit struct{ parts, bytes int }

// spend takes n bytes of work, and reports whether they were left.
func (r *reader) spend(n int) bool {
	if r.limit.bytes -= n; r.limit.bytes < 0 {
		r.warn(WarnTooMuch)
		return false
	}
	return true
}

const plainKind = "text/plain"

// contentType reads a Content-Type. A damaged parameter costs only itself; a
// damaged type is plain text.
func contentType(value, fallback string, warn func(string)) media {
	if value == "" {
		return media{kind: fallback}
	}
	m, odd := parseMedia(value)
	if !isMediaKind(m.kind) {
		m.kind, odd = plainKind, true
	}
	if odd {
		warn(WarnContentType)
	}
	return m
}

func isMediaKind(kind string) bool {
	slash := strings.IndexByte(kind, '/')
	return slash > 0 && slash < len(kind)-1 && !strings.ContainsAny(kind, " \t")
}

// entity reads one entity: a leaf, or the parts of a multipart. fallback is the
// type of one that names none.
func (r *reader) entity(h header, body []byte, depth int, fallback string) {
	m := contentType(h.get(kindContentType), fallback, r.warn)
	boundary := ""
	if strings.HasPrefix(m.kind, "multipart/") {
		boundary = m.get("boundary")
	}
	switch {
	case depth > maxDepth:
		r.warn(WarnTooDeep)
	case r.limit.parts <= 0:
		r.warn(WarnTooMuch)
	case boundary != "":
		r.multipart(m, boundary, body, depth)
	case m.kind == "message/rfc822" || m.kind == "message/global":
		r.embedded(r.decode(h, body), depth)
	default:
		r.leaf(h, m, body)
	}
}

func (r *reader) leaf(h header, m media, body []byte) {
	r.limit.parts--
	if name, attached := fileName(h, m); attached || !isText(m.kind) {
		size := int64(len(r.decode(h, body)))
		r.attachments = append(r.attachments, Attachment{Name: name, Type: shown(m.kind), Size: size})
		return
	}
	r.addText(r.leafText(h, m, body))
}

// isText reports kinds that people read. A multipart without a boundary is
// plain text by now.
func isText(kind string) bool {
	switch kind {
	case "text/calendar", "text/vcard", "text/x-vcard", "text/directory", "text/rtf", "text/x-amp-html":
		return false
	case "message/delivery-status", "message/disposition-notification":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "multipart/")
}

// fileName returns the name of an attachment, and whether the part is one: it
// says so, or has a name.
func fileName(h header, m media) (name string, attached bool) {
	if disposition := h.get(kindDisposition); disposition != "" {
		d, _ := parseMedia(disposition)
		name, attached = d.name("filename"), d.kind == "attachment"
	}
	if name == "" && len(m.params) > 0 {
		name = m.name("name")
	}
	return name, attached || name != ""
}

// multipart reads all parts of a mixed one, the best text of an alternative.
func (r *reader) multipart(m media, boundary string, body []byte, depth int) {
	if !r.spend(len(body)) {
		return
	}
	parts, closed := splitParts(body, boundary, r.limit.parts+1)
	if !closed {
		r.warn(WarnBoundary)
	}
	if len(parts) == 0 && len(bytes.TrimSpace(body)) > 0 { // the boundary is another one
		r.addText(r.leafText(nil, media{kind: plainKind}, body))
		return
	}
	if m.kind == "multipart/alternative" {
		r.alternative(parts, depth)
		return
	}
	fallback := plainKind
	if m.kind == "multipart/digest" {
		fallback = "message/rfc822"
	}
	for _, part := range parts {
		h, content := readPart(part, r.warn)
		r.entity(h, content, depth+1, fallback)
	}
}

// alternative takes the first part that is plain text with something in it,
// else the first that has any text. Attachments of all parts are kept.
func (r *reader) alternative(parts [][]byte, depth int) {
	var best string
	bestPlain := false
	for _, part := range parts {
		h, content := readPart(part, r.warn)
		sub := reader{warn: r.warn, limit: r.limit}
		sub.entity(h, content, depth+1, plainKind)
		r.attachments = append(r.attachments, sub.attachments...)
		text := sub.body()
		plain := contentType(h.get(kindContentType), plainKind, func(string) {}).kind == plainKind
		if strings.TrimSpace(text) != "" && (strings.TrimSpace(best) == "" || plain && !bestPlain) {
			best, bestPlain = text, plain
		}
	}
	r.addText(best)
}

// splitParts cuts a multipart body at its boundary lines, into at most so many
// parts. The line end before a boundary belongs to it. The end of the body
// closes an open part.
func splitParts(body []byte, boundary string, most int) (parts [][]byte, closed bool) {
	mark := []byte("--" + boundary)
	line := cutter{b: body}
	start := -1 // of the part being read; -1 in the preamble
	for pos := 0; len(parts) < most; {
		i := bytes.Index(body[pos:], mark)
		if i < 0 {
			break
		}
		at := pos + i
		line.pos = at
		tail := bytes.TrimRight(line.next()[len(mark):], " \t")
		pos = at + len(mark)
		if at > 0 && body[at-1] != '\n' && body[at-1] != '\r' || len(tail) > 0 && string(tail) != "--" {
			continue
		}
		if start >= 0 {
			parts = append(parts, trimLineEnd(body[start:max(start, at)]))
		}
		if pos, start = line.pos, line.pos; len(tail) > 0 {
			return parts, true
		}
	}
	if start >= 0 && start < len(body) && len(parts) < most {
		parts = append(parts, body[start:])
	}
	return parts, false
}

// readPart splits a part into its header and its content. Unlike a message, a
// part may begin with its text, behind a blank line.
func readPart(part []byte, warn func(string)) (h header, content []byte) {
	lines := cutter{b: part}
	if len(bytes.TrimSpace(lines.next())) == 0 {
		return nil, part[lines.pos:]
	}
	return readHeader(part, warn)
}

func trimLineEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// embedded puts a message inside a message into the text, as a forward reads.
func (r *reader) embedded(raw []byte, depth int) {
	if !r.spend(len(raw)) {
		return
	}
	h, body := readHeader(raw, r.warn)
	var head strings.Builder
	head.WriteString("---------- Forwarded message ----------\n")
	for _, f := range [...]struct {
		kind kind
		name string
	}{{kindFrom, "From"}, {kindDate, "Date"}, {kindTo, "To"}, {kindSubject, "Subject"}} {
		if value := h.get(f.kind); value != "" {
			head.WriteString(f.name + ": " + shown(decodeWords(value)) + "\n")
		}
	}
	r.addText(head.String() + "\n")
	r.entity(h, body, depth+1, plainKind)
}

// addText adds a text part. Most messages have one, which is not copied.
func (r *reader) addText(text string) {
	if text == "" {
		return
	}
	if r.first == "" {
		r.first = text
		return
	}
	if r.text.Len() == 0 {
		r.text.WriteString(r.first)
	}
	if !strings.HasSuffix(r.text.String(), "\n") {
		r.text.WriteByte('\n')
	}
	r.text.WriteString(text)
}

// body is the text of all parts.
func (r *reader) body() string {
	if r.text.Len() == 0 {
		return r.first
	}
	return r.text.String()
}

// decode undoes a transfer encoding. One that is not the one it says is left as
// it is.
func (r *reader) decode(h header, body []byte) []byte {
	encoding := h.get(kindEncoding)
	if encoding == "7bit" || encoding == "" {
		return body
	}
	encoding, _, _ = strings.Cut(encoding, ";")
	switch strings.ToLower(strings.Trim(encoding, " \t\"")) {
	case "quoted-printable":
		return decodeQuotedPrintable(body)
	case "base64":
		if !looksBase64(body) {
			r.warn(WarnBase64)
			return body
		}
		decoded, damaged := decodeBase64(body)
		if damaged {
			r.warn(WarnBase64)
		}
		return decoded
	case "x-uuencode", "uuencode", "x-uue":
		if _, decoded, _, ok := cutUU(string(body)); ok {
			return decoded
		}
	}
	return body
}
