package mailsource

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// tar reads an archive as it streams by. Names in it are only names: nothing is
// opened or written under them.
func (s *Source) tar(f file, r io.Reader) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: damaged archive: %w", f.where, err)
		}
		if h.Typeflag != tar.TypeReg || isNoMail(h.Name) {
			continue
		}
		err = s.memberFile(f.child(h.Name), h.Size, archive)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s: damaged archive at %s: %w", f.where, Printable(h.Name), err)
		}
		if err != nil {
			return err
		}
	}
}

// smallFile is what is read at once to see what it is: most files of an archive
// are messages.
const smallFile = 1 << 20

// memberFile reads one file of an archive.
func (s *Source) memberFile(f file, size int64, r io.Reader) error {
	if size > smallFile {
		return s.stream(f, nil, bufio.NewReaderSize(r, 1<<16))
	}
	raw := make([]byte, size)
	if n, err := io.ReadFull(r, raw); err != nil && size > 0 {
		if errors.Is(err, io.EOF) || n < len(raw) && errors.Is(err, io.ErrUnexpectedEOF) {
			return io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%s: %w", f.where, err)
	}
	if err := atEnd(r); err != nil {
		return err
	}
	kind := kindOf(raw[:min(len(raw), headSize)])
	if kind != EML && kind != binary && kind != empty || s.opt.Kind != "" && s.opt.Kind != EML && s.opt.Kind != Maildir {
		return s.stream(f, nil, bufio.NewReader(bytes.NewReader(raw)))
	}
	return s.single(f, bytes.NewReader(raw))
}

// atEnd wants r to be used up. A zip archive's reader checks its sum there.
func atEnd(r io.Reader) error {
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return io.ErrUnexpectedEOF // its size is not what was promised
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
