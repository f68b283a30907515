package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"agentmill/internal/mail"
)

// A box says where an mbox belongs.
type box struct{ mailbox, folder, source, where string }

// mbox cuts a file of messages at its separators. A line is a separator if it
// begins with "From ", ends in a date or is bare, stands at the start or after
// a blank line, and the next line looks like a header: bodies are full of lines
// that begin with "From ".
func (s *source) mbox(b box, r *bufio.Reader) error {
	m := mboxReader{source: s, box: b, blank: true}
	line, err := readLine(r)
	for err == nil {
		var next []byte
		if next, err = readLine(r); err != nil && !errors.Is(err, io.EOF) {
			break
		}
		if e := m.line(line, next); e != nil {
			return e
		}
		if line = next; len(next) == 0 {
			break
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", b.where, err)
	}
	return m.flush()
}

// readLine returns a line with its end; at the end of the file an error and
// what was left.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if len(line) > 0 {
		err = nil
	}
	return line, err
}

type mboxReader struct {
	*source
	box
	message  []byte
	envelope time.Time
	blank    bool // the line before was blank, or there was none
	started  bool
	count    int
	oversize bool
}

func (m *mboxReader) line(line, next []byte) error {
	text := bytes.TrimRight(line, "\r\n")
	date, separates := separator(text)
	if m.blank && separates && startsHeader(next) {
		if err := m.flush(); err != nil {
			return err
		}
		m.started, m.envelope, m.blank = true, date, false
		return nil
	}
	m.blank = len(text) == 0
	if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) && line[0] == '>' {
		line = line[1:]
	}
	if m.oversize = m.oversize || len(m.message)+len(line) > maxMessage; !m.oversize {
		m.message = append(m.message, line...)
	}
	return nil
}

// flush sends the message collected so far. The blank line before a separator
// is the file's, not the message's.
func (m *mboxReader) flush() error {
	raw, oversize := m.message, m.oversize
	m.message, m.oversize = nil, false
	if !m.started && len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	for _, end := range []string{"\r\n", "\n"} {
		if bytes.HasSuffix(raw, []byte(end+end)) {
			raw = raw[:len(raw)-len(end)]
			break
		}
	}
	m.count++
	return m.send(entry{
		mailbox: m.mailbox, folder: m.folder, envelope: m.envelope,
		source: fmt.Sprintf("%s:%d", m.box.source, m.count), where: fmt.Sprintf("%s: message %d", m.where, m.count),
		load: func() ([]byte, error) {
			if oversize {
				return nil, errTooLarge
			}
			return raw, nil
		},
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

// startsHeader reports whether a line looks like "Name: …" or an old envelope.
func startsHeader(line []byte) bool {
	name, _, found := bytes.Cut(line, []byte(":"))
	if found && len(name) > 0 && len(name) < 77 && bytes.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return true
	}
	return bytes.HasPrefix(line, []byte(">From "))
}
