package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"agentmill/internal/dataset"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/ordered"
	"agentmill/internal/progress"
	"agentmill/internal/reward"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// A Config says what to judge and how.
type Config struct {
	In       dataset.Source
	Out      string // "" or "-": Stdout
	Stdout   io.Writer
	Journal  string // "" keeps none
	Judge    Judge
	Reward   *reward.Set
	Sources  SourceRule
	Shard    seed.Shard
	Progress *progress.Reporter // may be nil
	// Group, if not nil, scores the attempts of a group beside one another, in
	// place of Reward.
	Group *Relative
	// Support, if not nil, asks a model whether answers stand in the mails.
	Support     *Grounding
	Concurrency int // rows judged at a time; 0: 1
	MaxFailed   float64
	// Tick, if set, is told how far the run is; where the rows come from standard
	// input nobody knows how far that is.
	Tick func(llm.Tally)

	unmet *llm.Unmet // what the model was asked
}

// Stats is what a run did.
type Stats struct {
	Rows, Bad                         int
	Correct, Wrong, Abstained, NoneOf int // NoneOf: ended without an answer
	NoVerdict                         int
	Failed                            int // of NoVerdict: attempts that failed
	Unmet                             int // questions to a model without an answer
	rewards                           float64
	rewarded                          int
	flags                             map[string]int
}

// Run reads trajectories, or scored rows to judge anew, and writes scored rows.
func Run(ctx context.Context, cfg Config) (st Stats, err error) {
	j, err := openJournal(cfg)
	if err != nil {
		return st, err
	}
	defer func() { _ = j.Close() }()
	out, err := dataset.Create[traj.Scored](cfg.Out, cfg.Stdout)
	if err != nil {
		return st, err
	}
	defer out.Abort()
	var bar *progress.Bar
	if cfg.Progress != nil {
		bar = cfg.Progress.Start("judge", 0)
		defer bar.Done()
	}
	cfg.unmet = new(llm.Unmet)
	far, err := cfg.tally(ctx)
	if err != nil {
		return st, err
	}
	line := &belt{cfg: &cfg, journal: j, far: far, emit: func(row *traj.Scored) error {
		st.count(row)
		if bar != nil {
			bar.Add(1)
		}
		return out.Write(row)
	}}
	read, err := dataset.Read(ctx, cfg.In, func(_ dataset.Position, row *traj.Scored) error {
		if !cfg.Shard.Has(row.Group) {
			return nil
		}
		return line.add(ctx, row)
	})
	if err == nil {
		err = line.flush(ctx)
	}
	st.Bad = read.Bad
	if err == nil && read.Read == 0 {
		err = errors.New("no trajectory in the input")
	}
	if err == nil {
		err = cfg.unmet.Verdict(cfg.MaxFailed)
	}
	if err != nil {
		return st, err
	}
	st.Unmet = cfg.unmet.Failed()
	if err := out.Commit(); err != nil {
		return st, err
	}
	return st, j.Remove()
}

// openJournal ties the journal to everything but the rows: they are in the keys.
func openJournal(cfg Config) (*journal.Journal, error) {
	if cfg.Journal == "" {
		return nil, nil
	}
	by := []string{"judge", cfg.Judge.Name(), string(cfg.Sources)}
	if cfg.Group != nil {
		by = append(by, cfg.Group.Name())
	}
	if cfg.Support != nil {
		by = append(by, cfg.Support.Name())
	}
	return journal.Open(cfg.Journal, strings.Join(by, " "))
}

// A belt judges rows some at a time and hands them on in order.
type belt struct {
	cfg     *Config
	journal *journal.Journal
	emit    func(*traj.Scored) error
	far     llm.Tally
	waiting []*traj.Scored
}

// tick tells how far the run is after rows that cost so much.
func (b *belt) tick(rows int, c llm.Cost) {
	b.far.Done += rows
	if b.far.USD += c.USD; b.cfg.Tick != nil && b.far.Total > 0 {
		b.cfg.Tick(b.far)
	}
}

// A billed row, and what judging it cost.
type billed struct {
	*traj.Scored
	cost llm.Cost
}

// add judges when enough rows wait. Groups are scored whole, so they wait for
// the end.
func (b *belt) add(ctx context.Context, row *traj.Scored) error {
	const each = 8 // rows a worker
	kept := *row   // row is valid during the call only
	b.waiting = append(b.waiting, &kept)
	if b.cfg.Group != nil || len(b.waiting) < each*max(1, b.cfg.Concurrency) {
		return nil
	}
	return b.flush(ctx)
}

func (b *belt) flush(ctx context.Context) error {
	rows := b.waiting
	b.waiting = nil
	score := func(ctx context.Context, _ int, row *traj.Scored) (billed, error) {
		cost, err := b.cfg.score(ctx, b.journal, row)
		return billed{row, cost}, err
	}
	if b.cfg.Group == nil {
		return ordered.Map(ctx, b.cfg.Concurrency, rows, score, func(_ int, row billed) error {
			b.tick(1, row.cost)
			return b.emit(row.Scored)
		})
	}
	done := func(_ int, row billed) error {
		n := 0 // done when its group is compared
		if row.Stop == traj.Failed {
			n = 1
		}
		b.tick(n, row.cost)
		return nil
	}
	if err := ordered.Map(ctx, b.cfg.Concurrency, rows, score, done); err != nil {
		return err
	}
	if err := b.cfg.Group.score(ctx, b.journal, rows, b.cfg.Concurrency, b.cfg.unmet, b.tick); err != nil {
		return err
	}
	for _, row := range rows {
		if err := b.emit(row); err != nil {
			return err
		}
	}
	return nil
}

// judged is what the journal keeps of a row.
type judged struct {
	Verdict *traj.Verdict   `json:"verdict"`
	Flags   []string        `json:"flags"`
	None    json.RawMessage `json:"no_verdict,omitempty"`
	Cost    llm.Cost        `json:"cost,omitzero"`
}

// noVerdict is the field of a row that says why it has no verdict.
const noVerdict = "no_verdict"

// judgeCost is the field of a row that says what its judging cost.
const judgeCost = "judge_cost"

// setExtra sets a field that trajectories do not have; nil takes it away.
func setExtra(row *traj.Scored, field string, raw json.RawMessage) {
	if delete(row.Extra, field); raw == nil {
		return
	}
	if row.Extra == nil {
		row.Extra = map[string]json.RawMessage{}
	}
	row.Extra[field] = raw
}

// charge adds to what judging a row cost.
func charge(row *traj.Scored, c llm.Cost) error {
	var sum llm.Cost
	if raw, ok := row.Extra[judgeCost]; ok {
		if err := json.Unmarshal(raw, &sum); err != nil {
			return fmt.Errorf("%s of row %s: %w", judgeCost, row.ID, err)
		}
	}
	if sum.Add(c); sum == (llm.Cost{}) {
		return nil
	}
	raw, err := json.Marshal(sum)
	if err != nil {
		return fmt.Errorf("%s of row %s: %w", judgeCost, row.ID, err)
	}
	setExtra(row, judgeCost, raw)
	return nil
}

// score sets what a row has beyond its trajectory.
func (cfg *Config) score(ctx context.Context, j *journal.Journal, row *traj.Scored) (cost llm.Cost, err error) {
	got, err := cfg.recall(ctx, j, row)
	if err != nil {
		return cost, err
	}
	row.Verdict, row.Flags, cost = got.Verdict, got.Flags, got.Cost
	setExtra(row, noVerdict, got.None)
	if cfg.Support != nil {
		more, err := cfg.Support.score(ctx, j, row, cfg.unmet)
		if err != nil {
			return cost, err
		}
		cost.Add(more)
	}
	setExtra(row, judgeCost, nil)
	if cfg.Reward.Score(row); row.Reward == nil && row.Verdict != nil {
		row.Flags = flagged(row.Flags, FlagNoSupport)
	}
	return cost, charge(row, cost)
}

// errBefore: an earlier run has written down that there is no verdict.
var errBefore = errors.New("no verdict, as in the run before")

// recall takes a row's verdict from the journal, or asks the judge. That the
// judge cannot say is kept as well, unless another run may have more luck.
func (cfg *Config) recall(ctx context.Context, j *journal.Journal, row *traj.Scored) (got judged, err error) {
	key := rowKey(&row.Trajectory)
	var cause error
	if raw, ok := j.Done(key); ok && json.Unmarshal(raw, &got) == nil {
		if got.None != nil {
			cause = errBefore
		}
	} else if got, cause, err = cfg.judge(ctx, row); err != nil {
		return got, fmt.Errorf("judge row %s: %w", row.ID, err)
	} else if cause == nil || llm.Settled(cause) || errors.Is(cause, errTied) {
		raw, err := json.Marshal(got)
		if err != nil {
			return got, fmt.Errorf("judge row %s: %w", row.ID, err)
		}
		if err := j.Append(key, raw); err != nil {
			return got, err
		}
	}
	if _, model := cfg.Judge.(Redrawer); model && (row.Stop == traj.Answered || row.Stop == traj.Abstained) {
		cfg.unmet.Count(cause)
	}
	return got, nil
}

// judge asks the judge; that it cannot say, and why, is a record as well.
func (cfg *Config) judge(ctx context.Context, row *traj.Scored) (got judged, cause, err error) {
	ctx, bill := llm.Billed(ctx)
	v, flags, err := verdict(ctx, cfg.Judge, cfg.Sources, &row.Trajectory)
	got = judged{Verdict: v, Flags: flags, Cost: bill.Cost()}
	none, ok := errors.AsType[*NoVerdictError](err)
	if !ok {
		return got, nil, err
	}
	slices.Sort(got.Flags)
	got.None, err = json.Marshal(struct {
		Judge  string   `json:"judge"`
		Votes  []string `json:"votes"`
		Reason string   `json:"reason"`
	}{cfg.Judge.Name(), none.Votes, none.Cause.Error()})
	return got, none.Cause, err
}

// tally counts the rows of files, which is how many there will be to do: 0 where
// nobody asks, or nobody knows.
func (cfg *Config) tally(ctx context.Context) (far llm.Tally, err error) {
	if cfg.Tick != nil {
		far.Total, err = dataset.Count(ctx, cfg.In.Paths)
	}
	return far, err
}

// rowKey names a row and what is judged of it.
func rowKey(t *traj.Trajectory) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{t.Question, t.Stop, t.Answer, t.Calls}))
	return t.ID + " " + hex.EncodeToString(sum[:8])
}

func (st *Stats) count(row *traj.Scored) {
	st.Rows++
	for _, f := range row.Flags {
		if st.flags == nil {
			st.flags = map[string]int{}
		}
		st.flags[f]++
	}
	if row.Verdict == nil {
		st.NoVerdict++
		if row.Stop == traj.Failed {
			st.Failed++
		}
		return
	}
	if row.Reward != nil {
		st.rewards += *row.Reward
		st.rewarded++
	}
	switch v := row.Verdict; {
	case v.Correct:
		st.Correct++
	case v.Abstained:
		st.Abstained++
	case v.Hallucinated:
		st.Wrong++
	default:
		st.NoneOf++
	}
}

// String is the summary line.
func (st Stats) String() string {
	s := fmt.Sprintf("%d rows: %d correct, %d wrong, %d abstained, %d without an answer", st.Rows, st.Correct, st.Wrong, st.Abstained, st.NoneOf)
	if st.Failed > 0 {
		s += fmt.Sprintf(", %d failed (no verdict)", st.Failed)
	}
	if n := st.NoVerdict - st.Failed; n > 0 {
		s += fmt.Sprintf(", %d without a verdict", n)
	}
	if st.rewarded > 0 {
		s += fmt.Sprintf("; mean reward %.3f", st.rewards/float64(st.rewarded))
	}
	var flagged []string
	for _, f := range slices.Sorted(maps.Keys(st.flags)) {
		flagged = append(flagged, fmt.Sprintf("%d %s", st.flags[f], f))
	}
	if len(flagged) > 0 {
		s += "; flags: " + strings.Join(flagged, ", ")
	}
	return s
}
