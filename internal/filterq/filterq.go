// Package filterq keeps the questions that a mailbox can answer in one way,
// and gives each its split: the stage between synthq and rollout.
//
// Most callers want Run. Every check leaves a verdict and a reason in the
// record. F1: questions come out in the order they came in, unless another order is
// asked for. F2: a dropped
// question is dropped for its first failed check, and is counted under it. F3:
// no evidence stands in two splits. F4: a mailbox that has a split keeps it.
//
// A model is asked only where one is given, for one check: whether a question
// can be answered without any mail.
package filterq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"agentmill/internal/dataset"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/mailstore"
	"agentmill/internal/ordered"
	"agentmill/internal/progress"
	"agentmill/internal/question"
)

// Verdicts of a check.
const (
	Pass    = "pass"
	Drop    = "drop"
	Skipped = "skipped"
)

// Config says what to check and how.
type Config struct {
	In       dataset.Source
	Out      string
	Drops    string // file that keeps the dropped questions; "": none
	Stdout   io.Writer
	Progress *progress.Reporter
	Index    *mailstore.Store // nil: checks that need mails are skipped
	Splits   string           // file of mailboxes and their splits, read and written; "": none
	Shares   Shares
	Hits     int     // a gold mail counts as reached within so many hits
	MaxRank  int     // drop questions whose gold mail is not within so many hits; 0: keep all
	Realism  float64 // drop questions below
	// Difficulty chooses training questions by past attempts.
	Difficulty Difficulty
	Explain    string // id of a question whose checks are told
	Tell       func(format string, args ...any)

	Model       llm.Client // is asked the questions without any mail; nil: that check is skipped
	Concurrency int        // requests at a time
	Journal     string     // file that keeps the model's answers until Out is written; "": none
	MaxFailed   float64    // share of the questions that the model may leave unanswered
	Tick        func(llm.Tally)
	blind       *journal.Journal
}

// Shares are the parts of the mailboxes that test and validate; the rest trains.
type Shares struct{ Val, Test float64 }

// Check returns an error that names the first setting out of range.
func (c *Config) Check() error {
	s := c.Shares
	switch {
	case s.Val < 0 || s.Test < 0 || s.Val+s.Test >= 1:
		return fmt.Errorf("shares are val %g and test %g: want 0 or more each, below 1 together", s.Val, s.Test)
	case c.Hits < 1:
		return fmt.Errorf("hits is %d: want 1 or more", c.Hits)
	case c.MaxRank < 0 || c.MaxRank > 0 && c.MaxRank < c.Hits:
		return fmt.Errorf("max-rank is %d: want 0 (keep all) or at least %d, as hits", c.MaxRank, c.Hits)
	case c.Realism < 0 || c.Realism > 1:
		return fmt.Errorf("min-realistic is %g: want 0 to 1", c.Realism)
	}
	return c.Difficulty.check()
}

// Stats counts what Run did.
type Stats struct {
	Read, Bad    int
	Kept         int
	Unanswerable int // of the kept
	Dropped      map[string]int
	Yield        []Yield
	Splits       map[question.Split]int
	Unmet        int // questions that the model did not answer
	Pool         Pool
}

// String is the summary line.
func (s Stats) String() string {
	var drops []string
	for name, n := range s.Dropped {
		drops = append(drops, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(drops)
	text := fmt.Sprintf("read %d questions, kept %d (train %d, val %d, test %d), %d of them unanswerable", s.Read, s.Kept, s.Splits[question.Train], s.Splits[question.Val], s.Splits[question.Test], s.Unanswerable)
	if len(drops) > 0 {
		text += "; dropped: " + strings.Join(drops, ", ")
	}
	if s.Pool != (Pool{}) {
		text += "; " + s.Pool.String()
	}
	return text
}

// Run reads questions, checks them, and writes those that are kept.
func Run(ctx context.Context, cfg Config) (Stats, error) {
	st := Stats{Dropped: map[string]int{}, Splits: map[question.Split]int{}}
	items, read, err := cfg.read(ctx)
	st.Read, st.Bad = read.Read, read.Bad
	if err != nil {
		return st, err
	}
	if len(items) == 0 {
		return st, errors.New("no question in the input")
	}
	if err := cfg.checkInboxes(ctx, items); err != nil {
		return st, err
	}
	dropDuplicates(items)
	table, err := cfg.split(items)
	if err != nil {
		return st, err
	}
	dropLeaks(items)
	if st.Pool, err = cfg.Difficulty.choose(ctx, items); err != nil {
		return st, err
	}
	if st.Unmet, err = cfg.askBlind(ctx, items); err != nil {
		return st, err
	}
	for _, it := range items {
		cfg.explain(it)
		st.count(it)
	}
	// Standard output comes last: whoever reads it may stop reading.
	if err := errors.Join(cfg.writeDrops(items), table.save()); err != nil {
		return st, err
	}
	if err := cfg.writeKept(items); err != nil {
		return st, err
	}
	return st, cfg.blind.Remove()
}

// An item is a question on its way.
type item struct {
	*question.Question
	inbox    string   // its mailbox, however the question calls it
	failed   string   // the first check that said drop
	evidence []string // folded: what must not stand in two splits
	passages []uint64 // hashes of the sentences of the source mails
	threads  []string
	story    []string // for --explain: the source mails, as far as they were found
}

// read reads all questions. Two different ones may not have the same id.
func (c *Config) read(ctx context.Context) (items []*item, st dataset.Stats, err error) {
	type place struct {
		hash string
		pos  dataset.Position
	}
	seen := map[string]place{}
	st, err = dataset.Read(ctx, c.In, func(pos dataset.Position, q *question.Question) error {
		if q.ID == "" {
			q.ID = q.Hash()
		}
		first, ok := seen[q.ID]
		if ok && first.hash != q.Hash() {
			return dataset.Badf("id", "%s is that of another question, in %s", q.ID, first.pos)
		}
		seen[q.ID] = place{q.Hash(), pos}
		q.Checks = map[string]question.Check{}
		items = append(items, &item{Question: q, inbox: c.mailbox(q.InboxAddress)})
		return nil
	})
	return items, st, err
}

// mailbox is the one name of a mailbox that has aliases.
func (c *Config) mailbox(address string) string {
	if c.Index != nil {
		if owner, ok := c.Index.Resolve(address); ok {
			return owner
		}
	}
	return strings.ToLower(strings.TrimSpace(address))
}

// say keeps the verdict of one check.
func (it *item) say(check, verdict, reason string) {
	it.Checks[check] = question.Check{Verdict: verdict, Reason: reason}
	if verdict == Drop && it.failed == "" {
		it.failed = check
	}
}

// checkInboxes runs the checks of single questions, mailbox by mailbox.
func (c *Config) checkInboxes(ctx context.Context, items []*item) error {
	groups := byInbox(items)
	bar := c.Progress.Start("filterq", len(groups))
	defer bar.Done()
	check := func(ctx context.Context, _ int, g []*item) (struct{}, error) { return struct{}{}, c.checkInbox(ctx, g) }
	return ordered.Map(ctx, runtime.GOMAXPROCS(0), groups, check, func(int, struct{}) error {
		bar.Add(1)
		return nil
	})
}

// byInbox groups items by mailbox, in order of first appearance.
func byInbox(items []*item) [][]*item {
	at := map[string]int{}
	var groups [][]*item
	for _, it := range items {
		i, ok := at[it.inbox]
		if !ok {
			i = len(groups)
			at[it.inbox] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], it)
	}
	return groups
}

// writeKept writes the questions that passed.
func (c *Config) writeKept(items []*item) error {
	return write(c.Out, c.Stdout, items, func(it *item) bool { return it.failed == "" })
}

// writeDrops writes the questions that did not, where that is asked for.
func (c *Config) writeDrops(items []*item) error {
	if c.Drops == "" {
		return nil
	}
	return write(c.Drops, io.Discard, items, func(it *item) bool { return it.failed != "" })
}

func write(path string, stdout io.Writer, items []*item, wanted func(*item) bool) error {
	out, err := dataset.Create[question.Question](path, stdout)
	if err != nil {
		return err
	}
	defer out.Abort()
	for _, it := range items {
		if !wanted(it) {
			continue
		}
		if err := out.Write(it.Question); err != nil {
			return err
		}
	}
	return out.Commit()
}

// count counts an item.
func (s *Stats) count(it *item) {
	s.yield(it)
	if it.failed != "" {
		s.Dropped[it.failed]++
		return
	}
	s.Kept++
	s.Splits[it.Split]++
	if !it.Answerable {
		s.Unanswerable++
	}
}
