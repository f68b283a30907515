// Package rollout plays a policy at questions and writes what happened: the
// stage between filterq and judge.
//
// Most callers want Run; Ask plays one question for a person. Rows come in the
// order of the questions, each question's attempts together: R1. The same
// inputs, seed and flags give the same rows at any concurrency, and after any
// interruption, unless stragglers are left out: R2. An attempt that fails is a row, not an error: R3.
//
// It neither grades nor trains.
package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"agentmill/internal/agent"
	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/env"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/ordered"
	"agentmill/internal/progress"
	"agentmill/internal/question"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// A Config says what is played and where it goes.
type Config struct {
	Questions     dataset.Source
	Split         string     // only questions of this split; "" is all
	Shuffle       bool       // in an order drawn from the seed, not that of the files
	Offset, Limit int        // pass over, then play so many questions; Limit 0 is all
	Shard         seed.Shard // of these, only the questions of this part
	Attempts      int        // at each question
	Concurrency   int        // attempts at a time
	Stragglers    Stragglers
	MaxFailed     float64
	Out           string
	Journal       string   // "": beside Out, none where that is standard output
	World         []string // files that the world is made of: a journal belongs to their content
	Mark          string   // what else the rows depend on, for the journal

	// Tick, if set, is told how far the run is, attempts that were resumed not counted.
	Tick func(llm.Tally)

	Stdout   io.Writer
	Progress *progress.Reporter
}

// maxAttempts bounds the list of what is to be played, which is held in memory.
const maxAttempts = 10_000

// Check refuses settings that nothing can be played with.
func (c *Config) Check() error {
	switch {
	case c.Attempts < 1 || c.Attempts > maxAttempts:
		return fmt.Errorf("attempts %d: want 1 to %d", c.Attempts, maxAttempts)
	case c.Concurrency < 1:
		return fmt.Errorf("concurrency %d: want at least 1", c.Concurrency)
	case c.Limit < 0 || c.Offset < 0:
		return fmt.Errorf("limit %d, offset %d: want 0 or more", c.Limit, c.Offset)
	case c.MaxFailed < 0 || c.MaxFailed > 1:
		return fmt.Errorf("max failed %g: want a share from 0 to 1", c.MaxFailed)
	}
	if err := c.Stragglers.check(c.Attempts); err != nil {
		return err
	}
	switch question.Split(c.Split) {
	case "", question.Train, question.Val, question.Test:
		return nil
	}
	return fmt.Errorf("split %q: want train, val or test", c.Split)
}

// What Run can fail with where the attempts are to blame; test with errors.Is.
var (
	// ErrTooManyFailed: more attempts failed than the limit allows.
	ErrTooManyFailed = errors.New("too many attempts failed")
	// ErrUnreachable: every attempt failed, for reasons that may pass.
	ErrUnreachable = errors.New("every attempt failed at a server that cannot be reached or is busy")
)

// A job is one attempt to be played.
type job struct {
	q       *question.Question
	attempt int
}

// A result is what became of a job: the rows of its parts, none if the policy
// declined.
type result struct {
	rows     []*traj.Trajectory
	declined string // why the policy does not play
	resumed  bool
}

// Run reads the questions, plays them and writes the rows.
func Run(ctx context.Context, cfg Config, g *agent.Game) (Stats, error) {
	clk := g.Clock
	start := clk.Now()
	st := newStats()
	qs, err := load(ctx, &cfg, g, st)
	if err != nil {
		return *st, err
	}
	j, err := openJournal(&cfg, g, qs)
	if err != nil {
		return *st, err
	}
	defer func() { _ = j.Close() }()
	out, err := dataset.Create[traj.Trajectory](cfg.Out, cfg.Stdout)
	if err != nil {
		return *st, err
	}
	defer out.Abort()

	jobs := jobsOf(qs, cfg.Attempts)
	p := &player{Game: g, journal: j, tick: cfg.Tick, far: llm.Tally{Total: len(jobs)}, race: newRace(cfg.Stragglers, len(qs), cfg.Attempts)}
	defer p.race.end()
	bar := cfg.Progress.Start("rollout", len(jobs))
	defer bar.Done()
	ahead := 2 * cfg.Concurrency
	if cfg.Stragglers.All > 0 { // whoever comes after a straggler must be played
		ahead = len(jobs)
	}
	err = ordered.MapAhead(ctx, cfg.Concurrency, ahead, jobs, p.play, func(_ int, r result) error {
		return p.keep(ctx, r, st, bar, out)
	})
	if st.Seconds = clock.Since(clk, start); err != nil {
		return *st, err
	}
	if err := st.verdict(cfg.MaxFailed); err != nil {
		return *st, err
	}
	if err := out.Commit(); err != nil {
		return *st, err
	}
	return *st, j.Remove()
}

// jobsOf lists every attempt, a question's together.
func jobsOf(qs []question.Question, attempts int) []job {
	jobs := make([]job, 0, len(qs)*attempts)
	for i := range qs {
		for k := range attempts {
			jobs = append(jobs, job{&qs[i], k})
		}
	}
	return jobs
}

// A player plays jobs, or finds them in the journal.
type player struct {
	*agent.Game
	journal *journal.Journal

	tick func(llm.Tally)
	far  llm.Tally
	race *race
}

// play is safe for concurrent use. Failed attempts are not kept for the next
// run: what made them fail may have passed by then.
func (p *player) play(ctx context.Context, _ int, j job) (result, error) {
	defer p.race.done(j.q.ID)
	if rows, err := p.recall(j); len(rows) > 0 || err != nil {
		return result{rows: rows, resumed: true}, err
	}
	ctx, stop := p.race.enter(ctx)
	defer stop()
	rows, err := agent.Run(ctx, p.Game, j.q, j.attempt)
	if errors.Is(err, agent.ErrDeclined) {
		return result{declined: reason(err)}, nil
	}
	if err != nil || rows[0].Stop == traj.Failed {
		return result{rows: rows}, err
	}
	return result{rows: rows}, p.note(rows)
}

// recall finds the rows of a job in the journal.
func (p *player) recall(j job) (rows []*traj.Trajectory, err error) {
	group := p.Group(j.q)
	for {
		key := traj.RowID(group, j.attempt, len(rows))
		raw, ok := p.journal.Done(key)
		if !ok {
			return rows, nil
		}
		row := new(traj.Trajectory)
		if err := dataset.Unmarshal(raw, row); err != nil {
			return nil, fmt.Errorf("journal entry %s: %w", key, err)
		}
		rows = append(rows, row)
	}
}

// note writes rows into the journal, the first part last: where it is there, all
// are.
func (p *player) note(rows []*traj.Trajectory) error {
	for _, row := range slices.Backward(rows) {
		raw, err := dataset.Marshal(row)
		if err != nil {
			return fmt.Errorf("attempt %d at question %s: %w", row.Attempt, row.Question.ID, err)
		}
		if err := p.journal.Append(row.ID, raw); err != nil {
			return err
		}
	}
	return nil
}

// reason is why a policy declined, in its own words where it has any.
func reason(err error) string {
	if why, ok := errors.AsType[env.UnsolvedError](err); ok {
		return why.Error()
	}
	return err.Error()
}

// usd is what an attempt cost.
func (r result) usd() (sum float64) {
	for _, row := range r.rows {
		sum += row.Cost.USD
	}
	return sum
}

// keep counts and writes one result.
func (p *player) keep(ctx context.Context, r result, st *Stats, bar *progress.Bar, out *dataset.Writer[traj.Trajectory]) error {
	if r.resumed {
		bar.Skip(1)
		p.far.Total--
	} else {
		bar.Add(1)
		p.far.Done++
		p.far.USD += r.usd()
	}
	if p.tick != nil {
		p.tick(p.far)
	}
	st.add(r)
	bar.Set(st.brief())
	if a, ok := p.Policy.(agent.Auditor); ok && len(r.rows) > 0 {
		if err := a.Audit(ctx, r.rows[0]); err != nil {
			return err
		}
	}
	for _, row := range r.rows {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return nil
}

// load reads the questions and chooses those to play.
func load(ctx context.Context, cfg *Config, g *agent.Game, st *Stats) ([]question.Question, error) {
	qs, err := read(ctx, cfg, g.Env.Name(), st)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	var playable []question.Question
	for i := range qs {
		ok, err := wanted(ctx, cfg, g.Env, &qs[i], st)
		if err != nil {
			return nil, err
		}
		if ok {
			playable = append(playable, qs[i])
		}
	}
	if len(playable) == 0 {
		others := ""
		if cfg.Split != "" {
			others = fmt.Sprintf(", %d not of split %q", st.OtherSplit, cfg.Split)
		}
		return nil, fmt.Errorf("no question to play: %d read%s, %d whose mailbox the index does not hold", st.Read, others, st.Absent)
	}
	if cfg.Limit == 0 && cfg.Offset >= len(playable) {
		return nil, fmt.Errorf("no question to play: %d are passed over (--offset), there are %d", cfg.Offset, len(playable))
	}
	if cfg.Shuffle {
		shuffle(playable, g.Seed)
	}
	playable = window(playable, cfg.Offset, cfg.Limit)
	playable = slices.DeleteFunc(playable, func(q question.Question) bool { return !cfg.Shard.Has(q.ID) })
	st.Questions = len(playable)
	return playable, nil
}

// read reads all questions. Attempts are told apart by the ids of their
// questions, so no id may stand twice.
func read(ctx context.Context, cfg *Config, world string, st *Stats) (qs []question.Question, err error) {
	seen := map[string]dataset.Position{}
	stats, err := dataset.Read(ctx, cfg.Questions, func(pos dataset.Position, q *question.Question) error {
		if q.ID == "" {
			q.ID = q.Hash()
		}
		if first, ok := seen[q.ID]; ok {
			return dataset.Badf("id", "%s stands already in %s", q.ID, first)
		}
		if q.Env != "" && q.Env != world {
			return dataset.Badf("env", "is %q, but played is %s", q.Env, world)
		}
		seen[q.ID] = pos
		qs = append(qs, *q)
		return nil
	})
	st.Read, st.Bad = stats.Read, stats.Bad
	return qs, err
}

// wanted reports whether q is of the split and its world is here.
func wanted(ctx context.Context, cfg *Config, world env.Env, q *question.Question, st *Stats) (bool, error) {
	if cfg.Split != "" && q.Split != question.Split(cfg.Split) {
		st.OtherSplit++
		return false, nil
	}
	ep, err := world.Open(ctx, q)
	if errors.Is(err, env.ErrAbsent) {
		st.Absent++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, ep.Close()
}

// shuffle orders questions by a hash of the seed and their ids: files come
// mailbox by mailbox, and a few questions should be of many. More questions in
// the file change nothing about which of two comes first.
func shuffle(qs []question.Question, run uint64) {
	at := make(map[string]uint64, len(qs))
	for i := range qs {
		at[qs[i].ID] = seed.Derive(run, "order", qs[i].ID)
	}
	slices.SortStableFunc(qs, func(a, b question.Question) int { return cmp.Compare(at[a.ID], at[b.ID]) })
}

// window is limit questions from offset on, going on at the beginning after the
// end, so that a loop can walk through its questions for as long as it likes.
func window(qs []question.Question, offset, limit int) []question.Question {
	if limit == 0 {
		return qs[min(offset, len(qs)):]
	}
	n := min(limit, len(qs))
	out := make([]question.Question, 0, n)
	for i := range n {
		out = append(out, qs[(offset+i)%len(qs)])
	}
	return out
}
