// Package synthq makes questions with answers and source mails: the stage
// between ingest and filterq.
//
// Most callers want Run. The extractive generator needs no model: it takes
// statements of mails apart and asks for one of their facts. A Writer asks a
// model instead, twenty mails at a time. Q1: the span of an
// answerable question is its evidence, which holds its answer, white space folded. Q2: the same mails, seed and flags give the same questions, in
// the same random order, at any concurrency.
//
// What is left open here, such as whether another mail answers otherwise, is
// checked by filterq.
package synthq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"

	"agentmill/internal/dataset"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/mail"
	"agentmill/internal/mailbox"
	"agentmill/internal/mailstore"
	"agentmill/internal/ordered"
	"agentmill/internal/progress"
	"agentmill/internal/question"
	"agentmill/internal/seed"
)

// Config says what to make questions of.
type Config struct {
	In           dataset.Source
	Out          string
	Stdout       io.Writer
	Progress     *progress.Reporter
	Index        *mailstore.Store // whole mailboxes to check against; nil: the mails that are read
	Seed         uint64
	Unanswerable float64  // share of unanswerable questions
	PerInbox     int      // most questions of a mailbox, 0: no limit
	Limit        int      // most questions in all, 0: no limit
	PerMail      int      // most questions of a mail
	Kinds        []string // kinds of fact wanted; none: all
	Shapes       []string // places that the extractive generator reads; none: statements
	Shard        seed.Shard
	Writer       *Writer  // asks a model; nil: the extractive generator
	Forms        []string // forms of question wanted of the model; none: all
	Journal      string   // file that keeps the model's replies until Out is written; "": none
	MaxFailed    float64  // share of the batches that may have no reply
	// Tick, if set, is told how many batches are done, those of the journal not counted.
	Tick func(llm.Tally)
}

// Check returns an error that names the first setting out of range.
func (c *Config) Check() error {
	switch {
	case c.Unanswerable < 0 || c.Unanswerable >= 1:
		return fmt.Errorf("unanswerable is %g: want a share from 0 to below 1", c.Unanswerable)
	case c.PerInbox < 0 || c.Limit < 0:
		return fmt.Errorf("per-inbox is %d, limit is %d: want 0 (no limit) or more", c.PerInbox, c.Limit)
	case c.PerMail < 1:
		return fmt.Errorf("per-mail is %d: want 1 or more", c.PerMail)
	}
	if c.Writer != nil && (c.Writer.PerBatch < 1 || c.Writer.Temperature < 0) {
		return fmt.Errorf("per-batch is %d, temperature is %g: want 1 or more, and 0 or more", c.Writer.PerBatch, c.Writer.Temperature)
	}
	if err := checkForms(c.Forms); err != nil {
		return err
	}
	if err := checkShapes(c.Shapes); err != nil {
		return err
	}
	for _, k := range c.Kinds {
		if !slices.Contains(Kinds(), k) {
			return fmt.Errorf("kind %q: want one of %s", k, strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// Kinds lists the kinds of fact that questions ask for.
func Kinds() []string {
	return []string{"address", "amount", "code", "date", "deadline", "decision", "duration", "email", "flight", "link", "org", "percentage", "person", "phone", "place", "quantity", "reason", "room", "time", "title"}
}

// Stats counts what Run did.
type Stats struct {
	Mails, Bad   int
	Inboxes      int
	Questions    int
	Unanswerable int
	Kinds        map[string]int

	// Of a model's questions.
	Batches, Unread int            // batches asked for; those whose reply could not be read
	Refused         map[string]int // questions left out, by reason
}

// String is the summary line.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "read %d mails of %d inboxes, wrote %d questions of %d kinds, %d of them unanswerable", s.Mails, s.Inboxes, s.Questions, len(s.Kinds), s.Unanswerable)
	if s.Batches > 0 {
		fmt.Fprintf(&b, "; %d batches, %d without a reply that can be read", s.Batches, s.Unread)
	}
	for _, why := range sortedKeys(s.Refused) {
		fmt.Fprintf(&b, "; refused %d: %s", s.Refused[why], why)
	}
	return b.String()
}

// Run reads mails and writes questions.
func Run(ctx context.Context, cfg Config) (Stats, error) {
	st := Stats{Kinds: map[string]int{}}
	emails, read, err := dataset.ReadAll[mail.Email](ctx, cfg.In)
	st.Mails, st.Bad = read.Read, read.Bad
	if err != nil {
		return st, err
	}
	if len(emails) == 0 {
		return st, errors.New("no mail in the input")
	}
	out, err := dataset.Create[question.Question](cfg.Out, cfg.Stdout)
	if err != nil {
		return st, err
	}
	defer out.Abort()

	boxes := byOwner(emails, cfg.Shard)
	st.Inboxes = len(boxes)
	var all []question.Question
	var j *journal.Journal
	if cfg.Writer != nil {
		all, j, err = cfg.askModel(ctx, boxes, &st)
		defer func() { _ = j.Close() }()
	} else {
		all, err = cfg.extract(ctx, boxes)
	}
	if err != nil {
		return st, err
	}
	if err := st.write(out, mixed(all, cfg.Seed, cfg.Limit)); err != nil {
		return st, err
	}
	if err := out.Commit(); err != nil {
		return st, err
	}
	return st, j.Remove()
}

// extract makes the questions of all mailboxes without a model.
func (c *Config) extract(ctx context.Context, boxes []inbox) (all []question.Question, err error) {
	bar := c.Progress.Start("synthq", len(boxes))
	defer bar.Done()
	ask := func(ctx context.Context, _ int, in inbox) ([]question.Question, error) { return c.ask(ctx, in) }
	err = ordered.Map(ctx, runtime.GOMAXPROCS(0), boxes, ask, func(_ int, qs []question.Question) error {
		bar.Add(1)
		all = append(all, qs...)
		return nil
	})
	return all, err
}

// mixed puts questions in random order, which depends on their ids and the seed
// alone, so that the first n of a file are a fair sample.
func mixed(qs []question.Question, run uint64, limit int) []question.Question {
	key := func(q *question.Question) uint64 { return seed.Derive(run, "order", q.ID) }
	slices.SortFunc(qs, func(a, b question.Question) int {
		return cmp.Or(cmp.Compare(key(&a), key(&b)), strings.Compare(a.ID, b.ID))
	})
	if limit > 0 && len(qs) > limit {
		return qs[:limit]
	}
	return qs
}

// write writes the questions and counts them.
func (s *Stats) write(out *dataset.Writer[question.Question], qs []question.Question) error {
	for i := range qs {
		s.Questions++
		s.Kinds[qs[i].Kind]++
		if !qs[i].Answerable {
			s.Unanswerable++
		}
		if err := out.Write(&qs[i]); err != nil {
			return err
		}
	}
	return nil
}

// An inbox is the mails of one owner, by date.
type inbox struct {
	owner string
	mails []*mail.Email
}

// byOwner groups the mails of the shard's owners.
func byOwner(emails []mail.Email, shard seed.Shard) []inbox {
	groups := map[string][]*mail.Email{}
	for i := range emails {
		if e := &emails[i]; shard.Has(e.Owner) {
			groups[e.Owner] = append(groups[e.Owner], e)
		}
	}
	var out []inbox
	for owner, mails := range groups {
		slices.SortStableFunc(mails, func(a, b *mail.Email) int {
			return cmp.Or(a.Date.Compare(b.Date), strings.Compare(a.MessageID, b.MessageID))
		})
		out = append(out, inbox{owner, mails})
	}
	slices.SortFunc(out, func(a, b inbox) int { return strings.Compare(a.owner, b.owner) })
	return out
}

// whole is the mailbox to check against: the index's, where there is one.
func (c *Config) whole(ctx context.Context, in inbox) (*mailbox.Box, error) {
	if c.Index == nil {
		return mailbox.New(in.owner, in.mails), nil
	}
	mails, err := collect(c.Index.Mails(ctx, in.owner))
	if err != nil {
		return nil, fmt.Errorf("read the mailbox %q of the mails from the index: %w", in.owner, err)
	}
	return mailbox.New(in.owner, mails), nil
}

func collect(mails iter.Seq2[*mailstore.Mail, error]) ([]*mail.Email, error) {
	var out []*mail.Email
	for m, err := range mails {
		if err != nil {
			return nil, err
		}
		e := m.Email
		out = append(out, &e)
	}
	return out, nil
}
