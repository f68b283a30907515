package ingest

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"agentmill/internal/atomicfile"
	"agentmill/internal/jsonl"
	"agentmill/internal/mail"
	"agentmill/internal/mailsource"
	"agentmill/internal/ordered"
)

// read parses every entry and puts it into its mailbox.
func (s *stage) read(ctx context.Context) error {
	s.bar = s.cfg.Progress.Start("messages", 0)
	defer s.bar.Done()
	src := mailsource.New(mailsource.Options{
		Paths: s.cfg.Paths, Stdin: s.cfg.Stdin, Kind: s.cfg.Source, Wanted: s.wanted, MaxMessage: s.cfg.MaxMessage,
	})
	err := ordered.MapSeq(ctx, runtime.GOMAXPROCS(0), src.Entries(),
		func(_ context.Context, _ int, e *mailsource.Entry) (parsed, error) { return s.parse(e), nil },
		func(_ int, p parsed) error { return s.add(p) })
	if err = cmp.Or(err, src.Err()); err != nil {
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
	if !matches && !slices.Contains(s.skipped, name) {
		s.skipped = append(s.skipped, name)
	}
	return matches
}

// A parsed entry is a message with the key of its copies, or an error.
type parsed struct {
	entry   *mailsource.Entry
	message *mail.Message
	key     copyKey
	err     error // why no message could be made
}

func (s *stage) parse(e *mailsource.Entry) parsed {
	var now time.Time
	if !s.cfg.Clock.Fixed() {
		now = s.cfg.Clock.Now()
	}
	m, err := e.Message(now)
	if err != nil {
		return parsed{entry: e, err: err}
	}
	return parsed{entry: e, message: m, key: keyOf(&m.Email)}
}

// add takes a message into its mailbox.
func (s *stage) add(p parsed) error {
	if p.err != nil {
		return s.bad(p)
	}
	s.stats.Messages++
	s.bar.Add(1)
	s.warn(p)
	return s.spool.add(p.entry.Mailbox, p.message, p.key)
}

// warnLimit is how many warnings of a kind are logged; the records have all.
const warnLimit = 20

// warn logs what is wrong with a message.
func (s *stage) warn(p parsed) {
	for _, kind := range p.message.Warnings {
		if s.warned == nil {
			s.warned = map[string]int{}
		}
		s.warned[kind]++
		switch n := s.warned[kind]; {
		case n <= warnLimit:
			s.cfg.Log.Warn(kind, "file", p.entry.Where, "message", p.message.MessageID)
		case n == warnLimit+1:
			s.cfg.Log.Warn("further warnings of this kind are not logged, but stand in the records", "kind", kind)
		}
	}
}

// bad counts an entry of which no message can be made.
func (s *stage) bad(p parsed) error {
	s.stats.Bad++
	err := fmt.Errorf("%s: %w", p.entry.Where, p.err)
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
	}{p.entry.Where, p.err.Error(), strings.ToValidUTF8(string(p.entry.Raw()), "\ufffd")})
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

// chosen leaves out the owners of other shards. That is decided by owner, not
// by what the files call the mailbox: one owner may have several of them.
func (s *stage) chosen(owners []owner) []owner {
	return slices.DeleteFunc(owners, func(o owner) bool {
		out := !s.cfg.Shard.Has(o.Owner)
		if out {
			s.skipped = append(s.skipped, o.Name)
			s.stats.Messages -= s.spool.count(o.boxes)
		}
		return out
	})
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
	if s.cfg.Shard.Of > 0 {
		flags = append(flags, fmt.Sprintf("--shard %d/%d", s.cfg.Shard.Part, s.cfg.Shard.Of))
	}
	return strings.Join(flags, " ")
}
