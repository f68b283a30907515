package mail

import (
	"mime"
	"path"
	"strings"
)

// cutAttachments takes files that old programs put into the text itself, by
// uuencode, out of it and lists them.
func (r *reader) cutAttachments(text string) string {
	var b strings.Builder
	for {
		at := beginUU(text)
		if at < 0 {
			break
		}
		name, data, rest, ok := cutUU(text[at:])
		if !ok {
			b.WriteString(text[:at+len("begin ")])
			text = text[at+len("begin "):]
			continue
		}
		b.WriteString(text[:at])
		kind, _, _ := strings.Cut(mime.TypeByExtension(strings.ToLower(path.Ext(name))), ";")
		if kind == "" {
			kind = "application/octet-stream"
		}
		r.attachments = append(r.attachments, Attachment{Name: shown(name), Type: kind, Size: int64(len(data))})
		text = rest
	}
	b.WriteString(text)
	return b.String()
}

// beginUU finds a line "begin 644 name", or returns -1.
func beginUU(text string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], "begin ")
		if i < 0 {
			return -1
		}
		at := from + i
		if at == 0 || text[at-1] == '\n' {
			return at
		}
		from = at + 1
	}
}

// cutUU reads a uuencoded file at the beginning of s.
func cutUU(s string) (name string, data []byte, rest string, ok bool) {
	line, rest, _ := strings.Cut(s, "\n")
	line = strings.TrimRight(line, "\r")
	mode, name, found := strings.Cut(strings.TrimPrefix(line, "begin "), " ")
	if !strings.HasPrefix(line, "begin ") || !found || len(mode) < 3 || len(mode) > 4 || strings.Trim(mode, "01234567") != "" {
		return "", nil, "", false
	}
	for lines := 0; rest != ""; lines++ {
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimRight(line, "\r")
		if line == "end" {
			return name, data, rest, lines > 0
		}
		decoded, good := uuLine(line)
		if !good {
			return "", nil, "", false
		}
		data = append(data, decoded...)
	}
	return name, data, "", len(data) > 0 // cut off: what there is
}

// uuLine decodes a line: its length in bytes, then six bits a letter. Blanks at
// the end may be lost.
func uuLine(line string) (data []byte, ok bool) {
	if line == "" {
		return nil, true
	}
	n := int(line[0]-' ') & 63
	if line[0] < ' ' || line[0] > '`' || len(line) > 1+(n+2)/3*4+2 {
		return nil, false
	}
	bits, have := 0, 0
	for i := 1; len(data) < n; i++ {
		c := byte(' ')
		if i < len(line) {
			c = line[i]
		}
		if c < ' ' || c > '`' {
			return nil, false
		}
		bits, have = bits<<6|int(c-' ')&63, have+6
		if have >= 8 {
			have -= 8
			data = append(data, byte(bits>>have))
			bits &= 1<<have - 1
		}
	}
	return data, true
}
