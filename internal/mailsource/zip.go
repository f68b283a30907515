package mailsource

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/flate"
)

// zip reads an archive whose directory stands at its end: a file on the disk as
// it is, anything else through a temporary file that has no name of the
// archive's choosing.
func (s *Source) zip(f file, raw, buffered io.Reader) error {
	disk, _ := raw.(*os.File)
	info, err := statFile(raw)
	if err != nil {
		if disk, err = spool(buffered); err != nil {
			return fmt.Errorf("%s: %w", f.where, err)
		}
		defer func() { _ = disk.Close() }()
		if info, err = disk.Stat(); err != nil {
			return fmt.Errorf("%s: %w", f.where, err)
		}
	}
	archive, err := zip.NewReader(disk, info.Size())
	if err != nil {
		return fmt.Errorf("%s: damaged archive: %w", f.where, err)
	}
	archive.RegisterDecompressor(zip.Deflate, flate.NewReader)
	f.budget.in = max(f.budget.in, info.Size())
	for _, h := range archive.File {
		if err := s.zipFile(f, h); err != nil {
			return err
		}
	}
	return nil
}

var errNoFile = errors.New("not a file on the disk")

// statFile describes r if it is a file on the disk that can be read anywhere.
func statFile(r io.Reader) (os.FileInfo, error) {
	f, ok := r.(*os.File)
	if !ok {
		return nil, errNoFile
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	return info, err
}

// zipFile reads one file of an archive. What the directory says of its size is
// not believed.
func (s *Source) zipFile(f file, h *zip.File) error {
	if h.FileInfo().IsDir() || !h.Mode().IsRegular() || isNoMail(h.Name) {
		return nil
	}
	c := f.child(h.Name)
	if h.Flags&1 != 0 {
		return fmt.Errorf("%s: is encrypted", c.where)
	}
	r, err := h.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return fmt.Errorf("%s: is compressed by method %d, want deflate", c.where, h.Method)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.where, err)
	}
	defer func() { _ = r.Close() }()
	err = s.memberFile(c, int64(min(h.UncompressedSize64, smallFile+1)), expanded{r, f.budget})
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) {
		return fmt.Errorf("%s: damaged archive at %s: %w", f.where, Printable(h.Name), err)
	}
	return err
}

// spool copies a stream to a temporary file, which is already removed: it goes
// when it is closed.
func spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "agentmill-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err := io.Copy(f, r); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
