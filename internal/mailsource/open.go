package mailsource

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A file is a stream with what is known of it before it is read.
type file struct {
	where    string // for complaints
	source   string // goes into records
	fallback string // the mailbox, if its place does not tell
	mailbox  string // told by the place of the file; "" if it lies nowhere
	folder   string
	member   bool // of an archive or tree: its place tells mailbox and folder
	layers   int  // archives and compressions around it
	budget   *budget
}

// maxLayers bounds archives within archives: a Takeout is two.
const maxLayers = 5

// box is the file's mailbox.
func (f *file) box() string {
	if f.member {
		return f.mailbox
	}
	return f.fallback
}

// member is a file in the archive f.
func (f *file) child(name string) file {
	c := *f
	c.member, c.layers = true, f.layers+1
	c.where, c.source = f.where+": "+Printable(name), strings.TrimPrefix(valid(name), "./")
	c.mailbox, c.folder = place(c.source, f.fallback)
	return c
}

// open reads a file given by the user.
func (s *Source) open(f file, r io.Reader) error {
	return s.stream(f, r, bufio.NewReaderSize(counted{r, f.budget}, 1<<18))
}

// stream reads a file by what it holds. raw is what br reads from, if that is a
// file on the disk.
func (s *Source) stream(f file, raw io.Reader, br *bufio.Reader) error {
	head, err := br.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", f.where, err)
	}
	kind := kindOf(head)
	if f.layers > maxLayers {
		return fmt.Errorf("%s: lies within %d archives, want %d at most", f.where, f.layers, maxLayers)
	}
	if s.opt.Kind != "" && !isOuter(kind) {
		kind = s.opt.Kind
	}
	if err := s.check(&f, kind); err != nil {
		return err
	}
	switch kind {
	case gzipped, zstded, bzipped:
		return s.compressed(f, kind, br)
	case Tar:
		return s.tar(f, br)
	case Zip:
		return s.zip(f, raw, br)
	case CSV:
		return s.csv(f, br)
	case Parquet, JSONL:
		return s.records(f, raw, br)
	case Mbox, MboxRD, MboxO, MboxCL, MboxCL2:
		return s.mbox(f, kind, br)
	default:
		return s.single(f, br)
	}
}

// isOuter reports whether a kind only wraps what the user may have named.
func isOuter(k Kind) bool {
	return slices.Contains([]Kind{gzipped, zstded, bzipped, Tar, Zip, empty}, k)
}

// check refuses what cannot be read as kind. Within archives and trees that is
// one bad entry; a file that the user named is the end.
func (s *Source) check(f *file, kind Kind) error {
	ext := strings.ToLower(filepath.Ext(f.where))
	switch {
	case kind == empty && !f.member:
		return fmt.Errorf("%s: is empty", f.where)
	case kind == binary && !f.member:
		return fmt.Errorf("%s: %w", f.where, errNothing)
	case kind == EML && f.layers == 0 && !f.member && s.opt.Kind == "" && slices.Contains([]string{".gz", ".tgz", ".tar", ".zst", ".zip", ".parquet", ".bz2"}, ext):
		return fmt.Errorf("%s: is no %s file", f.where, ext)
	}
	return nil
}

// compressed reads what a file becomes.
func (s *Source) compressed(f file, kind Kind, br *bufio.Reader) error {
	plain, closing, err := expand(kind, br)
	if err != nil {
		return fmt.Errorf("%s: %w", f.where, err)
	}
	defer closing()
	f.layers++
	return cutOff(f, s.stream(f, nil, bufio.NewReaderSize(expanded{plain, f.budget}, 1<<18)))
}

// cutOff says in words what a decompressor means by an unexpected end.
func cutOff(f file, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: the compressed data ends too early: the file is cut off", f.where)
	}
	return err
}

func expand(kind Kind, r io.Reader) (plain io.Reader, closing func(), err error) {
	switch kind {
	case gzipped:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { _ = z.Close() }, nil
	case zstded:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	default:
		return bzip2.NewReader(r), func() {}, nil
	}
}

// maxWindow bounds what a zstd frame may ask for; zstd --ultra needs 128 MiB.
const maxWindow = 256 << 20

// single reads a file that is one message.
func (s *Source) single(f file, r io.Reader) error {
	if !s.wanted(f.box()) {
		return nil
	}
	raw, cut, err := readMost(r, s.opt.MaxMessage)
	if err != nil {
		return fmt.Errorf("%s: %w", f.where, err)
	}
	return s.send(&Entry{
		Mailbox: f.box(), Source: f.source, Where: f.where, folder: f.folder, labels: flags(f.source), raw: raw, cut: cut,
	})
}
