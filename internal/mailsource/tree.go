package mailsource

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mailName is the name of a file that is one message for sure: Enron's numbers,
// a Maildir's names, an ending. It spares looking into half a million files.
var mailName = regexp.MustCompile(`(^|/)\d+\.?$|(?i)\.eml$|(^|/)(cur|new)/[^/]*$`)

// tree reads a folder of mail files. Paths begin with the folder's own name,
// so that a mailbox may be given alone.
func (s *Source) tree(root string) error {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return err
	}
	above := filepath.Dir(abs)
	return filepath.WalkDir(abs, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != abs && strings.HasPrefix(d.Name(), ".") && !isMaildirFolder(path) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(above, path)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); isNoMail(rel) {
			return nil
		}
		f := file{where: Printable(path), source: valid(rel), fallback: s.names[root], member: true, budget: s.budget()}
		f.mailbox, f.folder = place(f.source, f.fallback)
		return s.treeFile(f, path)
	})
}

// isMaildirFolder reports whether a folder such as .Sent is a Maildir++ folder.
func isMaildirFolder(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "cur"))
	return err == nil && info.IsDir()
}

// treeFile is a message, which is read by whoever wants it, or anything else
// that can be given alone.
func (s *Source) treeFile(f file, path string) error {
	if s.isMessage(path) {
		if !s.wanted(f.mailbox) {
			return nil
		}
		return s.send(&Entry{
			Mailbox: f.mailbox, Source: f.source, Where: f.where, folder: f.folder, labels: flags(f.source),
			load: func() ([]byte, bool, error) { return readFile(path, s.opt.MaxMessage) },
		})
	}
	disk, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = disk.Close() }()
	return s.open(f, disk)
}

// isMessage reports whether a file is one message, by its name if that is
// enough.
func (s *Source) isMessage(path string) bool {
	switch s.opt.Kind {
	case Maildir, EML:
		return true
	case "":
	default:
		return false
	}
	if mailName.MatchString(filepath.ToSlash(path)) {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true // who reads it will say so
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if n == 0 && err != nil {
		return true
	}
	kind := kindOf(head[:n])
	return kind == EML || kind == binary
}

func readFile(path string, limit int64) ([]byte, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if size := info.Size(); size <= limit {
		raw := make([]byte, size)
		n, err := io.ReadFull(f, raw)
		return raw[:n], false, err
	}
	return readMost(bufio.NewReader(f), limit)
}
