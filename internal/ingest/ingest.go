// Package ingest is the stage that turns mail files into Email records and,
// where asked, into the database that an agent searches.
//
// Most callers want Run. It reads archives as streams, parses on all
// processors, and writes the same bytes whatever the order of the input: I1.
// Copies of a message within a mailbox become one record with the ids of all:
// I2. A damaged message is a record with warnings; only an entry of which no
// message can be made is bad, and only a container that cannot be read is an
// error: I3.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"agentmill/internal/atomicfile"
	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/jsonl"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
	"agentmill/internal/ordered"
	"agentmill/internal/progress"
)

// A Config says what to read and what to write.
type Config struct {
	Paths     []string // archives, folders and files; none or "-": standard input
	Match     []string // globs of mailbox names; none: all mailboxes
	Owners    string   // file of owners, name<TAB>address; may be empty
	Out       string   // file of records; "" or "-": JSON lines on standard output
	Index     string   // database to write; may be empty
	Stem      bool     // index Porter stems
	Shard     Shard
	MaxErrors int    // so many bad entries are tolerated
	Rejects   string // file that keeps the bad ones; may be empty

	Stdin    io.Reader
	Stdout   io.Writer
	Clock    clock.Clock
	Log      *slog.Logger
	Progress *progress.Reporter
}

// Stats counts what Run saw.
type Stats struct {
	Messages  int // read
	Records   int // written
	Copies    int // messages that are another one's copy
	Bad       int
	Warnings  map[string]int // records by warning
	Mailboxes []MailboxStats
}

// MailboxStats describes one mailbox that was written.
type MailboxStats struct {
	mailstore.Mailbox
	Records, Copies int
	First, Last     time.Time // dates without a warning; zero without any
}

// Run reads all mail of cfg, then writes records and database.
func Run(ctx context.Context, cfg Config) (Stats, error) {
	if err := cfg.Check(); err != nil {
		return Stats{}, err
	}
	named, err := readOwners(cfg.Owners)
	if err != nil {
		return Stats{}, err
	}
	s := &stage{cfg: cfg, boxes: map[string]*mailbox{}}
	defer s.abort()
	if err := s.read(ctx); err != nil {
		return s.stats, err
	}
	if len(s.boxes) == 0 {
		return s.stats, s.noMail()
	}
	owners := identify(s.boxes, named)
	emails := s.finish(owners)
	if err := s.write(ctx, emails, owners); err != nil {
		return s.stats, err
	}
	s.count(emails, owners)
	return s.stats, nil
}

// Check finds contradictions in what a user asked for.
func (cfg *Config) Check() error {
	if cfg.Index == "-" {
		return errors.New("--index -: a database cannot be written to standard output; name a file")
	}
	if cfg.MaxErrors < 0 {
		return fmt.Errorf("--max-errors %d: want 0 or more", cfg.MaxErrors)
	}
	for _, glob := range cfg.Match {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("--match %q: not a valid pattern", glob)
		}
	}
	return cfg.Shard.check()
}

// A stage is one call of Run.
type stage struct {
	cfg     Config
	stats   Stats
	boxes   map[string]*mailbox // by name
	skipped []string            // names that --match or --shard left out
	rejects *atomicfile.File
	bar     *progress.Bar
}

// read parses every entry and puts it into its mailbox.
func (s *stage) read(ctx context.Context) error {
	s.bar = s.cfg.Progress.Start("messages", 0)
	defer s.bar.Done()
	src := &source{paths: s.cfg.Paths, stdin: s.cfg.Stdin, wanted: s.wanted}
	err := ordered.MapSeq(ctx, runtime.GOMAXPROCS(0), src.entries(),
		func(_ context.Context, _ int, e entry) (parsed, error) { return s.parse(e), nil },
		func(_ int, p parsed) error { return s.add(p) })
	if err = cmp.Or(err, src.err); err != nil {
		return err
	}
	if s.rejects != nil {
		err = s.rejects.Commit()
	}
	return err
}

// wanted reports whether a mailbox is to be read. It is asked before the
// content of an entry is.
func (s *stage) wanted(name string) bool {
	matches := len(s.cfg.Match) == 0 || slices.ContainsFunc(s.cfg.Match, func(glob string) bool {
		ok, _ := path.Match(glob, name) // patterns were checked before
		return ok
	})
	if matches && s.cfg.Shard.has(name) {
		return true
	}
	if !slices.Contains(s.skipped, name) {
		s.skipped = append(s.skipped, name)
	}
	return false
}

// A parsed entry is a message with the key of its copies, or an error.
type parsed struct {
	entry
	message *mail.Message
	key     copyKey
	raw     []byte // kept of bad entries only
	err     error  // why no message could be made
}

func (s *stage) parse(e entry) parsed {
	raw, err := e.load()
	if err != nil {
		return parsed{entry: e, err: err}
	}
	opt := mail.Options{Envelope: e.envelope}
	if !s.cfg.Clock.Fixed() {
		opt.Now = s.cfg.Clock.Now()
	}
	m, err := mail.Parse(raw, opt)
	if err != nil {
		return parsed{entry: e, err: err, raw: raw}
	}
	m.Source = e.source
	if m.Folder = e.folder; m.Folder == "" {
		m.Folder = folderOf(m)
	}
	return parsed{entry: e, message: m, key: keyOf(&m.Email)}
}

// folderOf is the folder of a message whose file says nothing of it.
func folderOf(m *mail.Message) string {
	if m.XFolder != "" {
		return m.XFolder[strings.LastIndexAny(m.XFolder, `\/`)+1:]
	}
	return "inbox"
}

// add takes a message into its mailbox.
func (s *stage) add(p parsed) error {
	if p.err != nil {
		return s.bad(p)
	}
	box := s.boxes[p.mailbox]
	if box == nil {
		box = newMailbox(p.mailbox)
		s.boxes[p.mailbox] = box
	}
	s.stats.Messages++
	s.bar.Add(1)
	box.add(p.message, p.key)
	return nil
}

// bad counts an entry of which no message can be made.
func (s *stage) bad(p parsed) error {
	s.stats.Bad++
	err := fmt.Errorf("%s: %w", p.where, p.err)
	if e := s.reject(p); e != nil {
		return e
	}
	if s.stats.Bad > s.cfg.MaxErrors {
		return fmt.Errorf("%w (bad entries: %d, --max-errors %d)", err, s.stats.Bad, s.cfg.MaxErrors)
	}
	s.cfg.Log.Warn("bad entry", "error", err)
	return nil
}

func (s *stage) reject(p parsed) (err error) {
	if s.cfg.Rejects == "" {
		return nil
	}
	if s.rejects == nil {
		if s.rejects, err = atomicfile.Create(s.cfg.Rejects); err != nil {
			return err
		}
	}
	line, err := jsonl.Marshal(struct {
		File   string `json:"file"`
		Error  string `json:"error"`
		Record string `json:"record"`
	}{p.where, p.err.Error(), strings.ToValidUTF8(string(p.raw), "\ufffd")})
	if err == nil {
		_, err = s.rejects.Write(append(line, '\n'))
	}
	return err
}

// abort keeps the rejects of a run that was given up over them.
func (s *stage) abort() {
	if s.rejects != nil {
		_ = s.rejects.Commit() // after a commit of read it does nothing
	}
}

// noMail says why nothing was found.
func (s *stage) noMail() error {
	where := strings.Join(s.cfg.Paths, ", ")
	if where == "" || where == "-" {
		where = "standard input"
	}
	if n := len(s.skipped); n > 0 {
		slices.Sort(s.skipped)
		list := strings.Join(s.skipped[:min(n, 10)], ", ")
		if n > 10 {
			list += fmt.Sprintf(" and %d more", n-10)
		}
		return fmt.Errorf("no mailbox of %s is chosen by %s; there are %s", where, s.choice(), list)
	}
	return fmt.Errorf("no mail found in %s", where)
}

// choice repeats the flags that leave mailboxes out.
func (s *stage) choice() string {
	var flags []string
	for _, glob := range s.cfg.Match {
		flags = append(flags, "--match "+glob)
	}
	if s.cfg.Shard.N > 0 {
		flags = append(flags, "--shard "+s.cfg.Shard.String())
	}
	return strings.Join(flags, " ")
}

// finish gives every mailbox its owner, its threads and its order, and returns
// all records in the order of their rows.
func (s *stage) finish(owners []owner) (all []*mail.Email) {
	for _, o := range owners {
		var emails []*mail.Email
		for _, box := range o.boxes {
			emails = append(emails, box.emails(o.Owner)...)
		}
		slices.SortFunc(emails, func(a, b *mail.Email) int {
			return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.MessageID, b.MessageID), cmp.Compare(a.Source, b.Source))
		})
		thread(emails, o.addresses())
		linkNear(emails)
		all = append(all, emails...)
	}
	return all
}

func (s *stage) write(ctx context.Context, emails []*mail.Email, owners []owner) error {
	out, err := dataset.Create[mail.Email](s.cfg.Out, s.cfg.Stdout)
	if err != nil {
		return err
	}
	defer out.Abort()
	for _, e := range emails {
		if err := cmp.Or(ctx.Err(), out.Write(e)); err != nil {
			return fmt.Errorf("write %s: %w", e.MessageID, err)
		}
	}
	if s.cfg.Index != "" {
		opt := mailstore.Options{Stem: s.cfg.Stem}
		for _, o := range owners {
			opt.Mailboxes = append(opt.Mailboxes, o.Mailbox)
		}
		if err := mailstore.Build(ctx, s.cfg.Index, emails, opt); err != nil {
			return err
		}
	}
	return out.Commit()
}

func (s *stage) count(emails []*mail.Email, owners []owner) {
	s.stats.Records = len(emails)
	s.stats.Copies = s.stats.Messages - s.stats.Records
	s.stats.Warnings = map[string]int{}
	byOwner := map[string]*MailboxStats{}
	s.stats.Mailboxes = make([]MailboxStats, len(owners))
	for i, o := range owners {
		s.stats.Mailboxes[i].Mailbox = o.Mailbox
		byOwner[o.Owner] = &s.stats.Mailboxes[i]
	}
	for _, e := range emails {
		byOwner[e.Owner].count(e)
		for _, w := range e.Warnings {
			s.stats.Warnings[w]++
		}
	}
}

func (m *MailboxStats) count(e *mail.Email) {
	m.Records++
	m.Copies += len(e.Copies)
	if e.Date.IsZero() || slices.Contains(e.Warnings, mail.WarnDateRange) {
		return
	}
	if m.First.IsZero() || e.Date.Before(m.First) {
		m.First = e.Date
	}
	if e.Date.After(m.Last) {
		m.Last = e.Date
	}
}

// WriteTo prints s as a table for people.
func (s Stats) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %8s %8s  %-10s  %-10s  %s\n", "mailbox", "records", "copies", "first", "last", "aliases")
	for _, m := range s.Mailboxes {
		fmt.Fprintf(&b, "%-40s %8d %8d  %-10s  %-10s  %s\n", m.Owner, m.Records, m.Copies, day(m.First), day(m.Last), strings.Join(m.Aliases, " "))
	}
	names := make([]string, 0, len(s.Warnings))
	for name := range s.Warnings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "warning %-32s %8d\n", name, s.Warnings[name])
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateOnly)
}

var errTooLarge = errors.New("larger than 64 MiB: no mail message")
