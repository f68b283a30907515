package ingest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxMessage bounds one message; the largest seen in Enron is 2 MB.
const maxMessage = 64 << 20

// An entry is one mail file, or one message of a file that holds many.
type entry struct {
	mailbox  string
	folder   string    // "" where nothing but the message may tell
	source   string    // its path in the archive or tree; goes into the record
	where    string    // the same with the container, for complaints
	envelope time.Time // date of an mbox separator
	load     func() ([]byte, error)
}

// A source yields the entries of all paths. After the iteration err is what
// stopped it.
type source struct {
	paths  []string
	stdin  io.Reader
	wanted func(mailbox string) bool
	err    error

	yield  func(entry) bool
	inside bool // the stream being read was compressed
}

// errStopped ends the reading when the consumer wants no more.
var errStopped = errors.New("stopped")

func (s *source) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		s.yield = yield
		paths := s.paths
		if len(paths) == 0 {
			paths = []string{"-"}
		}
		for _, p := range paths {
			if err := s.path(p); err != nil {
				if !errors.Is(err, errStopped) {
					s.err = fmt.Errorf("read mail: %w", err)
				}
				return
			}
		}
	}
}

func (s *source) path(p string) error {
	s.inside = false
	if p == "-" {
		if s.stdin == nil {
			return errors.New("there is no standard input")
		}
		return s.stream("standard input", "stdin", s.stdin)
	}
	info, err := os.Stat(p)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return s.tree(p)
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return s.stream(p, baseName(p), f)
}

// baseName is a file's name without its extensions.
func baseName(p string) string {
	name, _, _ := strings.Cut(filepath.Base(p), ".")
	return name
}

// send passes e on unless its mailbox is not wanted.
func (s *source) send(e entry) error {
	if !s.yield(e) {
		return errStopped
	}
	return nil
}

// tree reads a folder of mail files. Paths begin with the folder's own name,
// so that a mailbox may be given alone.
func (s *source) tree(root string) error {
	abs, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	above := filepath.Dir(abs)
	return filepath.WalkDir(abs, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != abs && isHidden(file) && !isMaildirFolder(file) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || isHidden(file) {
			return nil
		}
		rel, err := filepath.Rel(above, file)
		if err != nil {
			return err
		}
		return s.treeFile(file, filepath.ToSlash(rel))
	})
}

// isMaildirFolder reports whether a folder such as .Sent is a Maildir++ folder.
func isMaildirFolder(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "cur"))
	return err == nil && info.IsDir()
}

// treeFile is a message, or an mbox if its name says so.
func (s *source) treeFile(file, rel string) error {
	mailbox, folder := place(rel, "mail")
	if !s.wanted(mailbox) {
		return nil
	}
	if strings.EqualFold(filepath.Ext(file), ".mbox") {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return s.mbox(box{mailbox: mailbox, folder: baseName(file), source: rel, where: file}, bufio.NewReaderSize(f, 1<<16))
	}
	return s.send(entry{
		mailbox: mailbox, folder: folder, source: rel, where: file,
		load: func() ([]byte, error) {
			if info, err := os.Stat(file); err == nil && info.Size() > maxMessage {
				return nil, errTooLarge
			}
			return os.ReadFile(file)
		},
	})
}

// stream reads a container by its content: compressed or not, a tar archive, an
// mbox, Kaggle's CSV, or a single message.
func (s *source) stream(where, name string, r io.Reader) error {
	br := bufio.NewReaderSize(r, 1<<18)
	head, err := br.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", where, err)
	}
	switch {
	case len(head) == 0:
		return fmt.Errorf("%s: is empty", where)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		defer func() { _ = z.Close() }()
		s.inside = true
		return s.stream(where, name, z)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		defer z.Close()
		s.inside = true
		return s.stream(where, name, z)
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return s.tar(where, name, br)
	case bytes.HasPrefix(head, []byte("From ")):
		return s.container(name, func() error { return s.mbox(box{mailbox: name, source: name, where: where}, br) })
	case bytes.HasPrefix(head, []byte(`"file","message"`)), bytes.HasPrefix(head, []byte("file,message")):
		return s.csv(where, name, br)
	case looksBinary(head):
		return fmt.Errorf("%s: is neither a tar archive (may be compressed by gzip or zstd), an mbox, a CSV of messages nor a mail message", where)
	}
	if ext := strings.ToLower(filepath.Ext(where)); slices.Contains([]string{".gz", ".tgz", ".tar", ".zst"}, ext) && !s.inside {
		return fmt.Errorf("%s: is no %s file", where, ext)
	}
	return s.container(name, func() error { return s.single(where, name, br) })
}

// container reads a file that is one mailbox, if that is wanted.
func (s *source) container(mailbox string, read func() error) error {
	if !s.wanted(mailbox) {
		return nil
	}
	return read()
}

// looksBinary reports a NUL among the first bytes, which no mail header has.
func looksBinary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

func (s *source) single(where, name string, r io.Reader) error {
	raw, err := readLimited(r)
	if err != nil && !errors.Is(err, errTooLarge) {
		return fmt.Errorf("%s: %w", where, err)
	}
	return s.send(entry{mailbox: name, source: name, where: where, load: func() ([]byte, error) { return raw, err }})
}

func readLimited(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxMessage+1))
	if err == nil && len(raw) > maxMessage {
		return nil, errTooLarge
	}
	return raw, err
}

func (s *source) tar(where, name string, r io.Reader) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: damaged archive: %w", where, err)
		}
		mailbox, folder := place(h.Name, name)
		if h.Typeflag != tar.TypeReg || isHidden(h.Name) || !s.wanted(mailbox) {
			continue
		}
		raw, tooLarge := []byte(nil), error(nil)
		if h.Size > maxMessage {
			tooLarge = errTooLarge
		} else if raw, err = readSized(archive, h.Size); err != nil {
			return fmt.Errorf("%s: damaged archive at %s: %w", where, h.Name, err)
		}
		err = s.send(entry{
			mailbox: mailbox, folder: folder, source: strings.TrimPrefix(h.Name, "./"), where: where + ": " + h.Name,
			load: func() ([]byte, error) { return raw, tooLarge },
		})
		if err != nil {
			return err
		}
	}
}

func readSized(r io.Reader, size int64) ([]byte, error) {
	raw := make([]byte, size)
	_, err := io.ReadFull(r, raw)
	if errors.Is(err, io.EOF) && size > 0 {
		err = io.ErrUnexpectedEOF
	}
	return raw, err
}

// csv reads Kaggle's emails.csv: a path and a whole message a row.
func (s *source) csv(where, name string, r io.Reader) error {
	rows := csv.NewReader(r)
	rows.LazyQuotes, rows.FieldsPerRecord, rows.ReuseRecord = true, -1, true
	for n := 0; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if n == 0 { // the heading
			continue
		}
		line, _ := rows.FieldPos(0)
		e := entry{where: fmt.Sprintf("%s:%d", where, line), load: func() ([]byte, error) { return nil, errors.New("want two fields, file and message") }}
		if len(row) >= 2 {
			file, raw := strings.Clone(row[0]), []byte(row[1])
			e.source, e.load = file, func() ([]byte, error) { return raw, nil }
			e.mailbox, e.folder = place(file, name)
			if !s.wanted(e.mailbox) {
				continue
			}
		}
		if err := s.send(e); err != nil {
			return err
		}
	}
}
