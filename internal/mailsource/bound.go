package mailsource

import (
	"errors"
	"io"
)

// Compressed mail becomes three to ten times as large. What goes on growing
// beyond maxExpansion times its size is made to fill memory or disk.
const (
	maxExpansion  = 200
	freeExpansion = 256 << 20 // bytes that are let through whatever the ratio
)

var errBomb = errors.New("expands to more than 200 times its size: it is not read on")

// A budget counts what one file given by the user takes and what becomes of it,
// over all archives within it.
type budget struct {
	in, out int64
	free    int64
}

func (b *budget) take(n int) error {
	b.out += int64(n)
	if b.out > b.free && b.out/maxExpansion > b.in {
		return errBomb
	}
	return nil
}

// counted is the stream of a file given by the user.
type counted struct {
	io.Reader
	budget *budget
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.budget.in += int64(n)
	return n, err
}

// expanded is what a decompressor gives.
type expanded struct {
	io.Reader
	budget *budget
}

func (e expanded) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if over := e.budget.take(n); over != nil {
		return n, over
	}
	return n, err
}

// readMost reads up to limit bytes; cut says that there were more.
func readMost(r io.Reader, limit int64) (raw []byte, cut bool, err error) {
	raw, err = io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(raw)) > limit {
		return raw[:limit], true, err
	}
	return raw, false, err
}
