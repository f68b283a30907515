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
}

// Stats is what a run did.
type Stats struct {
	Rows, Bad                         int
	Correct, Wrong, Abstained, NoneOf int // NoneOf: ended without an answer
	NoVerdict                         int
	rewards                           float64
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
	read, err := dataset.Read(ctx, cfg.In, func(_ dataset.Position, row *traj.Scored) error {
		if !cfg.Shard.Has(row.Group) {
			return nil
		}
		if err := cfg.score(ctx, j, row); err != nil {
			return err
		}
		st.count(row)
		if bar != nil {
			bar.Add(1)
		}
		return out.Write(row)
	})
	st.Bad = read.Bad
	if err == nil && read.Read == 0 {
		err = errors.New("no trajectory in the input")
	}
	if err != nil {
		return st, err
	}
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
	return journal.Open(cfg.Journal, strings.Join([]string{"judge", cfg.Judge.Name(), string(cfg.Sources)}, " "))
}

// judged is what the journal keeps of a row.
type judged struct {
	Verdict *traj.Verdict `json:"verdict"`
	Flags   []string      `json:"flags"`
}

// score sets what a row has beyond its trajectory.
func (cfg *Config) score(ctx context.Context, j *journal.Journal, row *traj.Scored) error {
	key := rowKey(&row.Trajectory)
	var got judged
	if raw, ok := j.Done(key); ok && json.Unmarshal(raw, &got) == nil {
		row.Verdict, row.Flags = got.Verdict, got.Flags
		cfg.Reward.Score(row)
		return nil
	}
	var err error
	if row.Verdict, row.Flags, err = verdict(ctx, cfg.Judge, cfg.Sources, &row.Trajectory); err != nil {
		return fmt.Errorf("judge row %s: %w", row.ID, err)
	}
	cfg.Reward.Score(row)
	raw, err := json.Marshal(judged{row.Verdict, row.Flags})
	if err != nil {
		return fmt.Errorf("judge row %s: %w", row.ID, err)
	}
	return j.Append(key, raw)
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
		return
	}
	st.rewards += *row.Reward
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
	if st.NoVerdict > 0 {
		s += fmt.Sprintf(", %d failed (no verdict)", st.NoVerdict)
	}
	if n := st.Rows - st.NoVerdict; n > 0 {
		s += fmt.Sprintf("; mean reward %.3f", st.rewards/float64(n))
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
