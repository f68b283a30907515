package mailsource

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// csv reads Kaggle's emails.csv: a path and a whole message a row. Columns are
// found by their headings, so that an index before them does no harm.
func (s *Source) csv(f file, br *bufio.Reader) error {
	t := table{in: br, limit: s.opt.MaxMessage, line: 1}
	row, err := t.row()
	if err != nil {
		return fmt.Errorf("%s: %w", f.where, err)
	}
	fileColumn, messageColumn := headings(row.texts())
	if fileColumn < 0 || messageColumn < 0 {
		return fmt.Errorf("%s: has no columns file and message", f.where)
	}
	for {
		line := t.line
		if row, err = t.row(); errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", f.where, line, err)
		}
		e := &Entry{Where: numbered(f.where, line), err: errFields, Mailbox: f.box()}
		if max(fileColumn, messageColumn) < len(row) {
			e.Source = valid(string(row[fileColumn].text))
			e.raw, e.cut, e.err = row[messageColumn].text, row[messageColumn].cut, nil
			e.Mailbox, e.folder = place(e.Source, f.fallback)
		}
		if e.err == nil && !s.wanted(e.Mailbox) {
			continue
		}
		if err := s.send(e); err != nil {
			return err
		}
	}
}

var errFields = errors.New("want two fields, file and message")

// A cell is one field of a row, at most as long as a message may be.
type cell struct {
	text []byte
	cut  bool
}

type cells []cell

func (c cells) texts() (list []string) {
	for _, x := range c {
		list = append(list, string(x.text))
	}
	return list
}

// A table reads rows of comma-separated values as RFC 4180 has them. A quote
// within a quoted field that nothing of a row can follow belongs to the field.
// The standard library's reader puts no bound on a field.
type table struct {
	in    *bufio.Reader
	limit int64
	line  int
}

// row returns the next row that is not empty; io.EOF behind the last one.
func (t *table) row() (row cells, err error) {
	for {
		c, end, err := t.cell()
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !atEnd {
			return nil, err
		}
		row = append(row, c)
		switch blank := len(row) == 1 && len(c.text) == 0; {
		case blank && atEnd:
			return nil, io.EOF
		case blank && end:
			row = nil
		case end || atEnd:
			return row, nil
		}
	}
}

// cell reads a field; end says that it was the last of its row.
func (t *table) cell() (c cell, end bool, err error) {
	first, err := t.in.Peek(1)
	if err != nil {
		return c, true, err
	}
	if first[0] != '"' {
		return t.plain()
	}
	_, _ = t.in.Discard(1) // it was just seen
	for {
		part, err := t.in.ReadSlice('"')
		closing := err == nil
		if closing {
			part = part[:len(part)-1]
		}
		t.append(&c, part)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return c, true, err
		}
		if !closing {
			continue
		}
		if done, end := t.afterQuote(&c); done {
			return c, end, nil
		}
	}
}

// afterQuote looks at what follows a quote in a quoted field: another quote,
// the end of the field, or more of it.
func (t *table) afterQuote(c *cell) (done, end bool) {
	next, _ := t.in.Peek(2)
	switch {
	case len(next) == 0:
		return true, true
	case next[0] == '"':
		t.append(c, next[:1])
		_, _ = t.in.Discard(1)
		return false, false
	case next[0] == ',':
		_, _ = t.in.Discard(1)
		return true, false
	case next[0] == '\n':
		_, _ = t.in.Discard(1)
		t.line++
		return true, true
	case string(next) == "\r\n":
		_, _ = t.in.Discard(2)
		t.line++
		return true, true
	}
	t.append(c, []byte{'"'})
	return false, false
}

// plain reads a field without quotes.
func (t *table) plain() (c cell, end bool, err error) {
	for {
		b, err := t.in.ReadByte()
		switch {
		case err != nil:
			return c, true, err
		case b == ',':
			return c, false, nil
		case b == '\n':
			t.line++
			c.text = bytes.TrimSuffix(c.text, []byte("\r"))
			return c, true, nil
		}
		t.append(&c, []byte{b})
	}
}

func (t *table) append(c *cell, part []byte) {
	t.line += bytes.Count(part, []byte("\n"))
	if room := int(t.limit) - len(c.text); len(part) > room {
		part, c.cut = part[:room], true
	}
	c.text = append(c.text, part...)
}
