// Package jsonl reads streams of one JSON value a line, with line numbers.
package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one record. A trajectory with long tool results is the largest
// thing that is stored; this is about a hundred times the longest seen.
const MaxLine = 256 << 20

// byteOrderMark is what some editors put before the first line.
var byteOrderMark = []byte("\ufeff")

// A Reader yields the lines of a stream.
type Reader struct {
	r    *bufio.Reader
	max  int
	line int
	buf  []byte
}

// NewReader reads lines of at most MaxLine bytes.
func NewReader(r io.Reader) *Reader { return NewReaderSize(r, MaxLine) }

// NewReaderSize reads lines of at most maxLine bytes.
func NewReaderSize(r io.Reader, maxLine int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), max: maxLine}
}

// Next returns the next line that is not blank, without its end, and its number
// (from 1). The bytes are valid until the next call. At the end it returns io.EOF.
func (r *Reader) Next() ([]byte, int, error) {
	for {
		line, err := r.read()
		if err != nil {
			return nil, r.line, err
		}
		if r.line == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, r.line, nil
		}
	}
}

// read returns one line including its end.
func (r *Reader) read() ([]byte, error) {
	r.buf = r.buf[:0]
	r.line++
	for {
		part, err := r.r.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case len(r.buf) > r.max:
			return nil, fmt.Errorf("line %d: longer than %d bytes", r.line, r.max)
		case err == nil:
			return r.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(r.buf) == 0 {
				return nil, io.EOF
			}
			return r.buf, nil
		default:
			return nil, err
		}
	}
}
