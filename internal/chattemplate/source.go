package chattemplate

import (
	"regexp"
	"strings"
	"unicode"
)

// prepare rewrites a template for the engine such that it means what it means to
// transformers, which trims blocks and keeps no newline at the end:
//
// Blanks around tags are settled here, by Jinja's rules, and text becomes a
// printed string: the engine trims across neighbouring tags. Its tojson loses the
// order of keys where it indents, and it prints none as nothing, so ours are
// called. The tags that tell
// transformers what an assistant generated are left out. Every macro begins with
// a call that counts: one that calls itself without end would end the process.
func prepare(source string) string {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	p := preparer{rest: strings.TrimSuffix(source, "\n"), lineStart: true}
	for p.rest != "" {
		p.next()
	}
	return p.out.String()
}

// A preparer goes through a template tag by tag.
type preparer struct {
	rest      string
	lineStart bool // what comes is at the beginning of a line
	out       strings.Builder
}

// A tag is what stands between delimiters; its sides are '-', '+' or 0.
type tag struct {
	kind        byte // '{' prints, '%' does, '#' is a comment
	body        string
	left, right byte
}

// next writes the text up to the next tag, and that tag.
func (p *preparer) next() {
	at := tagStart(p.rest)
	if at < 0 {
		p.text(p.rest)
		p.rest = ""
		return
	}
	text := p.rest[:at]
	t, size := cutTag(p.rest[at:])
	switch {
	case size == 0: // for the engine to complain about
		p.out.WriteString(p.rest[at:])
		p.rest = ""
		return
	case t.left == '-':
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	case t.left != '+' && t.kind != '{':
		text = p.trimIndent(text)
	}
	p.text(text)
	p.rest = p.rest[at+size:]
	p.lineStart = false
	p.write(t)
	p.after(t)
}

// trimIndent removes blanks between the beginning of the tag's line and the tag.
func (p *preparer) trimIndent(text string) string {
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || p.lineStart) && strings.TrimSpace(text[line:]) == "" {
		return text[:line]
	}
	return text
}

// after removes what a tag takes with it of what follows.
func (p *preparer) after(t tag) {
	before := p.rest
	switch {
	case t.right == '-':
		p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
	case t.right != '+' && t.kind != '{':
		p.rest = strings.TrimPrefix(p.rest, "\n")
	}
	if gone := before[:len(before)-len(p.rest)]; gone != "" {
		p.lineStart = strings.HasSuffix(gone, "\n")
	}
}

// literal escapes a text for a string in a tag, also for a reader that looks for
// the tag's end alone.
var literal = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "}", `}" ~ "`, "%", `%" ~ "`, "{", `{" ~ "`)

func (p *preparer) text(text string) {
	if text != "" {
		p.out.WriteString(`{{ "` + literal.Replace(text) + `" }}`)
	}
}

var (
	macro      = regexp.MustCompile(`^macro\b`)
	jsonFilter = regexp.MustCompile(`\|\s*tojson\b`)
	endRaw     = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
)

func (p *preparer) write(t tag) {
	switch body := strings.TrimSpace(t.body); {
	case t.kind == '#' || t.kind == '%' && (body == "generation" || body == "endgeneration"):
	case t.kind == '%' && body == "raw":
		p.raw(t)
	case t.kind == '%':
		p.out.WriteString("{% " + jsonFilter.ReplaceAllString(body, "|"+jsonName) + " %}")
		if macro.MatchString(body) {
			p.out.WriteString("{{ " + enterName + "() }}")
		}
	default:
		p.out.WriteString("{{ (" + jsonFilter.ReplaceAllString(body, "|"+jsonName) + ") | " + printName + " }}")
	}
}

// raw writes what stands before endraw as text.
func (p *preparer) raw(t tag) {
	end := endRaw.FindStringSubmatchIndex(p.rest)
	if end == nil {
		p.out.WriteString("{% raw %}") // for the engine to complain about
		return
	}
	text := p.rest[:end[0]]
	if t.right == '-' {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	if p.rest[end[2]:end[3]] == "-" {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	p.text(text)
	right := p.rest[end[4]:end[5]]
	p.rest = p.rest[end[1]:]
	p.after(tag{kind: '%', right: (right + "\x00")[0]})
}

// tagStart is where the next tag begins, -1 if there is none.
func tagStart(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && strings.IndexByte("{%#", s[i+1]) >= 0 {
			return i
		}
	}
	return -1
}

// cutTag reads the tag that s begins with, and how long it is: 0 if it has no end.
func cutTag(s string) (t tag, size int) {
	t.kind = s[1]
	n := tagEnd(s, t.kind)
	if n < 0 {
		return t, 0
	}
	t.left, t.body = side(s[2:n], 0)
	t.right, t.body = side(t.body, len(t.body)-1)
	return t, n + 2
}

// side takes the mark for blanks off one end of a tag.
func side(body string, at int) (mark byte, rest string) {
	if body == "" || body[at] != '-' && body[at] != '+' {
		return 0, body
	}
	if at == 0 {
		return body[0], body[1:]
	}
	return body[at], body[:at]
}

// closing are the ends of tags.
var closing = map[byte]string{'{': "}}", '%': "%}"}

// tagEnd is where a tag's end stands, which strings and brackets may hide; -1 if
// it has none.
func tagEnd(s string, kind byte) int {
	if kind == '#' {
		return strings.Index(s, "#}")
	}
	depth, quote := 0, byte(0)
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case depth == 0 && strings.HasPrefix(s[i:], closing[kind]):
			return i
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
	}
	return -1
}
