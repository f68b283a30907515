// Package ingest is the stage that turns mail into Email records and, where
// asked, into the database that an agent searches.
//
// Most callers want Run. It reads archives as streams, parses on all
// processors, and writes the same bytes whatever the order of the input: I1.
// Copies of a message within a mailbox become one record with the ids of all:
// I2. A damaged message is a record with warnings; only an entry of which no
// message can be made is bad, and only a container that cannot be read is an
// error: I3. Memory is bounded by the largest mailbox, however many there are:
// I4.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"

	"agentmill/internal/atomicfile"
	"agentmill/internal/clock"
	"agentmill/internal/mailsource"
	"agentmill/internal/progress"
	"agentmill/internal/seed"
)

// A Config says what to read and what to write.
type Config struct {
	Paths      []string        // archives, folders and files; none or "-": standard input
	Source     mailsource.Kind // what they hold; "" is told from the content
	Match      []string        // globs of mailbox names; none: all mailboxes
	Owners     string          // file of owners, name<TAB>address; may be empty
	Out        string          // file of records; "" or "-": JSON lines on standard output
	Index      string          // database to write; may be empty
	Append     bool            // add to the database that is there; write only the records that it lacked
	Stem       bool            // index Porter stems
	Shard      seed.Shard      // of the owners
	MaxMessage int64           // longer messages are cut; 0 is mailsource.DefaultMaxMessage
	MaxErrors  int             // so many bad entries are tolerated
	Rejects    string          // file that keeps the bad ones; may be empty

	Stdin    io.Reader
	Stdout   io.Writer
	Clock    clock.Clock
	Log      *slog.Logger
	Progress *progress.Reporter
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
	s := &stage{cfg: cfg, spool: newSpool(cfg.spoolDir())}
	defer s.spool.close()
	if s.base, err = openBase(ctx, &cfg); err != nil {
		return Stats{}, err
	}
	defer s.base.close()
	defer s.abort()
	if err := s.read(ctx); err != nil {
		return s.stats, err
	}
	if err := s.spool.done(); err != nil {
		return s.stats, err
	}
	if err := s.base.name(s.spool, named); err != nil {
		return s.stats, err
	}
	owners, err := identify(s.spool, named)
	if err != nil {
		return s.stats, err
	}
	// A night without mail is no mistake.
	if owners = s.chosen(owners); len(owners) == 0 && (s.base == nil || len(s.skipped) > 0) {
		return s.stats, s.noMail()
	}
	return s.stats, s.write(ctx, owners)
}

// Check finds contradictions in what a user asked for.
func (cfg *Config) Check() error {
	if cfg.Index == "-" {
		return errors.New("--index -: a database cannot be written to standard output; name a file")
	}
	if cfg.Append && cfg.Index == "" {
		return errors.New("--append: --index is missing, which names the database to add to")
	}
	if cfg.MaxErrors < 0 {
		return fmt.Errorf("--max-errors %d: want 0 or more", cfg.MaxErrors)
	}
	if cfg.MaxMessage < 0 || cfg.MaxMessage > maxMaxMessage {
		return fmt.Errorf("--max-message-bytes %d: want 0 to %d", cfg.MaxMessage, maxMaxMessage)
	}
	for _, glob := range cfg.Match {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("--match %q: not a valid pattern", glob)
		}
	}
	return nil
}

// maxMaxMessage is what SQLite stores in one value.
const maxMaxMessage = 1_000_000_000

// spoolDir is where there must be room for what is written anyway.
func (cfg *Config) spoolDir() string {
	for _, file := range []string{cfg.Index, cfg.Out} {
		dir := filepath.Dir(file)
		if info, err := os.Stat(dir); file != "" && file != "-" && err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// A stage is one call of Run.
type stage struct {
	cfg     Config
	stats   Stats
	spool   *spool
	base    *base          // what is added to; nil without
	skipped []string       // names of mailboxes that were not chosen
	warned  map[string]int // by kind
	rejects *atomicfile.File
	bar     *progress.Bar
}
