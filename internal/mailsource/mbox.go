package mailsource

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"agentmill/internal/mail"
)

// mbox cuts a file of messages at its separators. A line is a separator if it
// begins with "From ", ends in a date or is bare, stands at the start or after
// a blank line, and the next line looks like a header: bodies are full of lines
// that begin with "From ". Where a header gives the length of its body, and a
// separator stands where that ends, the length counts (mboxcl, mboxcl2).
func (s *Source) mbox(f file, kind Kind, br *bufio.Reader) error {
	if !s.wanted(f.box()) {
		return nil
	}
	f.folder = mboxFolder(&f)
	m := mboxReader{Source: s, file: f, kind: kind, in: br, lineStart: true}
	m.begin(true)
	for {
		line, err := m.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%s: %w", f.where, err)
		}
		if len(line) > 0 {
			if e := m.line(line); e != nil {
				return e
			}
		}
		if errors.Is(err, io.EOF) && !m.goBack() {
			return m.flush()
		}
	}
}

// mboxFolder is the folder of an mbox: the folders around it and its own name,
// as mail/kim-b/lists/gas.mbox is lists/gas.
func mboxFolder(f *file) string {
	name := baseName(f.source)
	switch {
	case !f.member:
		return boxFolder(name)
	case f.folder == "inbox":
		return name
	}
	return f.folder + "/" + name
}

// A mboxReader collects one message after the other.
type mboxReader struct {
	*Source
	file
	kind Kind
	in   *bufio.Reader

	message   []byte // as it stands in the file
	envelope  time.Time
	cut       bool // message is not all of it
	count     int  // messages sent
	started   bool // a separator was seen
	lineStart bool
	blank     bool // the line before was blank, or there was none

	inHeader bool
	body     int           // where the body begins in message
	length   int           // of the body as the header says; -1: it says nothing that counts
	doubts   int           // lengths that turned out wrong
	maybe    []possibleEnd // separators within the length
	exact    bool          // the length was right: nothing belongs to the separator
}

// A possibleEnd is where a message ends if the length in its header is wrong.
type possibleEnd int

// maxDoubts is how many wrong lengths are forgiven in a file. Then they are
// ignored: each costs a second reading.
const maxDoubts = 3

func (m *mboxReader) begin(blank bool) {
	m.message, m.cut, m.exact = nil, false, false
	m.blank, m.inHeader, m.body, m.length, m.maybe = blank, true, 0, -1, nil
}

// line takes a line, or a piece of a long one.
func (m *mboxReader) line(line []byte) error {
	whole := m.lineStart
	m.lineStart = line[len(line)-1] == '\n'
	if !whole {
		m.append(line)
		return nil
	}
	text := bytes.TrimRight(line, "\r\n")
	if date, ok := separator(text); ok && (m.blank || m.exact) {
		line = bytes.Clone(line) // looking ahead may overwrite it
		text = bytes.TrimRight(line, "\r\n")
		if !m.startsHeader() {
			return m.text(line, text)
		}
		if m.length < 0 {
			err := m.flush()
			m.started, m.envelope = true, date
			m.begin(false)
			return err
		}
		m.maybe = append(m.maybe, possibleEnd(len(m.message)))
	}
	return m.text(line, text)
}

// text takes a line that is no separator.
func (m *mboxReader) text(line, text []byte) error {
	if m.exact && len(text) == 0 { // the blank line between two messages
		return nil
	}
	m.blank = len(text) == 0
	m.append(line)
	m.header(text)
	m.checkLength()
	return nil
}

func (m *mboxReader) append(line []byte) {
	if room := int(m.opt.MaxMessage) - len(m.message); len(line) > room {
		line, m.cut, m.length = line[:room], true, -1
	}
	m.message = append(m.message, line...)
}

// header watches for the end of the header and the length in it.
func (m *mboxReader) header(text []byte) {
	if !m.inHeader {
		return
	}
	if len(text) == 0 {
		m.inHeader, m.body = false, len(m.message)
		return
	}
	name, value, _ := bytes.Cut(text, []byte(":"))
	if m.length >= 0 || m.doubts >= maxDoubts || m.kind == MboxRD || m.kind == MboxO || !bytes.EqualFold(name, []byte("Content-Length")) {
		return
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(value))); err == nil && n >= 0 && int64(n) < m.opt.MaxMessage {
		m.length = n
	}
}

// checkLength believes the length once a separator stands where it ends. Some
// writers do not count the last line end.
func (m *mboxReader) checkLength() {
	over := len(m.message) - m.body - m.length
	if m.length < 0 || m.inHeader || over < 0 {
		return
	}
	if over <= 2 && m.atSeparator() {
		m.exact, m.maybe = true, nil
	}
	if !m.exact {
		m.doubt()
	}
	m.length = -1
}

// doubt gives up a length. What was taken for the body, though a separator
// stood in it, is read again.
func (m *mboxReader) doubt() {
	m.doubts++
	m.length = -1
	if len(m.maybe) == 0 {
		return
	}
	end := m.maybe[0]
	back := bytes.Clone(m.message[end:])
	m.message, m.maybe = m.message[:end], nil
	m.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(back), m.in), 1<<16)
	m.blank, m.lineStart = true, true
}

// goBack reads again at the end of the file, if the last length went beyond it.
func (m *mboxReader) goBack() bool {
	again := m.length >= 0 && len(m.maybe) > 0
	if again {
		m.doubt()
	}
	return again
}

// atSeparator reports whether what follows ends a message.
func (m *mboxReader) atSeparator() bool {
	next, _ := m.in.Peek(512)
	line, _, _ := bytes.Cut(bytes.TrimLeft(next, "\r\n"), []byte("\n"))
	_, ok := separator(bytes.TrimRight(line, "\r"))
	return ok || len(line) == 0
}

// startsHeader reports whether the next line looks like "Name: …" or an old
// envelope.
func (m *mboxReader) startsHeader() bool {
	next, _ := m.in.Peek(80)
	line, _, _ := bytes.Cut(next, []byte("\n"))
	name, _, found := bytes.Cut(line, []byte(":"))
	if found && len(name) > 0 && len(name) < 77 && bytes.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return true
	}
	return bytes.HasPrefix(line, []byte(">From "))
}

// flush sends the message collected so far. The blank line before a separator
// is the file's, not the message's.
func (m *mboxReader) flush() error {
	raw := m.message
	if !m.started && len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	for _, end := range []string{"\r\n", "\n"} {
		if !m.exact && bytes.HasSuffix(raw, []byte(end+end)) {
			raw = raw[:len(raw)-len(end)]
			break
		}
	}
	m.count++
	kind := m.kind
	if m.exact && kind == Mbox && hasFromLine(raw[m.body:]) {
		kind = MboxCL2 // its writer needs no quoting
	}
	cut := m.cut
	return m.send(&Entry{
		Mailbox: m.box(), folder: m.folder, envelope: m.envelope,
		Source: numbered(m.source, m.count), Where: fmt.Sprintf("%s: message %d", m.where, m.count),
		load: func() ([]byte, bool, error) { return unquote(raw, kind), cut, nil },
	})
}

// separator reads a line as "From SENDER DATE", with or without date.
func separator(line []byte) (date time.Time, ok bool) {
	rest, found := bytes.CutPrefix(line, []byte("From "))
	if !found || len(line) > 500 {
		return time.Time{}, false
	}
	sender, tail, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
	if tail == "" {
		return time.Time{}, sender == "" || sender == "-" || strings.Contains(sender, "@")
	}
	if !strings.Contains(tail, ":") {
		return time.Time{}, false
	}
	date, _, ok = mail.ParseDate(tail)
	return date, ok
}

// hasFromLine reports whether a line begins with "From ".
func hasFromLine(body []byte) bool {
	return bytes.HasPrefix(body, []byte("From ")) || bytes.Contains(body, []byte("\nFrom "))
}

// unquote takes back the '>' that a writer of the kind put before lines that
// begin with "From ".
func unquote(raw []byte, kind Kind) []byte {
	if kind == MboxCL2 || !bytes.Contains(raw, []byte(">From ")) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		line := raw
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line = raw[:i+1]
		}
		raw = raw[len(line):]
		if isQuoted(line, kind) {
			line = line[1:]
		}
		out = append(out, line...)
	}
	return out
}

// isQuoted reports whether a line begins with a '>' that is not its own.
func isQuoted(line []byte, kind Kind) bool {
	if kind == MboxO || kind == MboxCL {
		return bytes.HasPrefix(line, []byte(">From "))
	}
	return line[0] == '>' && bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From "))
}
