// Package mailsource finds the messages in what people have of their mail:
// folders, archives, mbox files, tables, single messages.
//
// Most callers want New, Entries and Entry.Message. What a file is is told from
// its content. Archives are read as streams and nothing of them is written to
// the disk under a name that they chose: M1. Memory is bounded by the largest
// message that is allowed, whatever the input claims: M2. A message is never
// lost because its neighbour is damaged; only a container that cannot be read
// on is an error: M3.
package mailsource

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentmill/internal/mail"
)

// DefaultMaxMessage bounds one message; the largest seen in Enron is 2 MB, and
// mail services take 50 MB at most.
const DefaultMaxMessage = 64 << 20

// Options say what to read and how.
type Options struct {
	Paths []string // archives, folders and files; none, or "-": standard input
	Stdin io.Reader
	Kind  Kind // what the files hold; "" is told from the content
	// Wanted is asked before the messages of a mailbox are read; nil wants all.
	Wanted func(mailbox string) bool
	// MaxMessage bounds one message in bytes; 0 is DefaultMaxMessage.
	MaxMessage int64
}

// A Source yields the messages of all paths. It is used by one goroutine.
type Source struct {
	opt   Options
	names map[string]string // path → name of the mailbox of files that lie in no folder
	free  int64             // bytes that a file may always become
	yield func(*Entry) bool
	err   error
}

// New returns a source of the messages that opt asks for.
func New(opt Options) *Source {
	if len(opt.Paths) == 0 {
		opt.Paths = []string{"-"}
	}
	if opt.MaxMessage <= 0 {
		opt.MaxMessage = DefaultMaxMessage
	}
	return &Source{opt: opt, names: mailboxNames(opt.Paths), free: freeExpansion}
}

// budget is that of one file given by the user.
func (s *Source) budget() *budget { return &budget{free: s.free} }

// errStopped ends the reading when the consumer wants no more.
var errStopped = errors.New("stopped")

// Entries yields what is found, once. Err tells afterwards what stopped it.
func (s *Source) Entries() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		s.yield = yield
		for _, p := range s.opt.Paths {
			if err := s.path(p); err != nil {
				if !errors.Is(err, errStopped) {
					s.err = fmt.Errorf("read mail: %w", err)
				}
				return
			}
		}
	}
}

// Err is what stopped Entries before the end, nil if nothing did.
func (s *Source) Err() error { return s.err }

func (s *Source) path(p string) error {
	if p == "-" {
		if s.opt.Stdin == nil {
			return errors.New("there is no standard input")
		}
		return s.open(file{where: "standard input", source: "stdin", fallback: "stdin", budget: s.budget()}, s.opt.Stdin)
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
	return s.open(file{where: p, source: filepath.Base(p), fallback: s.names[p], budget: s.budget()}, f)
}

// send passes e on.
func (s *Source) send(e *Entry) error {
	if !s.yield(e) {
		return errStopped
	}
	return nil
}

func (s *Source) wanted(mailbox string) bool { return s.opt.Wanted == nil || s.opt.Wanted(mailbox) }

// An Entry is one message as it was found.
type Entry struct {
	Mailbox string
	Source  string // its path in the archive or tree; goes into the record
	Where   string // the same with the container, for complaints; fit for a terminal

	folder   string // "" where nothing but the message may tell
	labels   []string
	envelope time.Time // date of an mbox separator
	raw      []byte
	load     func() (raw []byte, cut bool, err error) // instead of raw; may be nil
	cut      bool                                     // raw is not all of the message
	record   *mail.Message                            // of a table of read messages; instead of raw
	whole    bool                                     // record is one of ours
	err      error                                    // why no message can be made
}

// Message reads the message. now bounds believable dates; zero is no bound. It
// may be called once, from any goroutine.
func (e *Entry) Message(now time.Time) (*mail.Message, error) {
	if e.load != nil {
		e.raw, e.cut, e.err = e.load()
	}
	if e.err != nil {
		return nil, e.err
	}
	if e.record != nil {
		if !e.whole {
			e.record.Complete(mail.Options{Now: now})
		}
		return e.record, nil
	}
	m, err := mail.Parse(e.raw, mail.Options{Now: now, Envelope: e.envelope})
	if err != nil {
		return nil, err
	}
	if e.cut {
		m.Warnings = append(m.Warnings, mail.WarnTruncated)
	}
	m.Source, m.Folder = e.Source, e.folderOf(m)
	for _, label := range e.labels {
		if !slices.Contains(m.Labels, label) {
			m.Labels = append(m.Labels, label)
		}
	}
	return m, nil
}

// Raw is the text that Message read, or failed to read.
func (e *Entry) Raw() []byte { return e.raw }

// folderOf is the folder that the file lies in; where its place says nothing,
// what the message says. Gmail has labels instead of folders.
func (e *Entry) folderOf(m *mail.Message) string {
	if folder := labelFolder(m.Labels); folder != "" {
		return folder
	}
	if e.folder != "" {
		return e.folder
	}
	if m.XFolder != "" {
		return m.XFolder[strings.LastIndexAny(m.XFolder, `\/`)+1:]
	}
	return "inbox"
}
