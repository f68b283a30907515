package rollout_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"agentmill/internal/agent"
	"agentmill/internal/dataset"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/heuristic"
	"agentmill/internal/llm"
	"agentmill/internal/rollout"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// A sleeper plays like another policy, but some attempts only end when they are
// told to.
type sleeper struct {
	agent.Policy
	slow    map[uint64]bool // by the attempt's seed
	release chan struct{}   // closed: they go on; nil: they never do
}

func (s sleeper) Begin(ctx context.Context, task agent.Task) (agent.Session, error) {
	if s.slow[task.Seed] {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.release:
		}
	}
	return s.Policy.Begin(ctx, task)
}

// slow makes a policy that never ends the attempts named as "question attempt".
func slow(t *testing.T, attempts int, names ...string) sleeper {
	t.Helper()
	plain := heuristic.New(toolformat.Line{})
	cfg := config(t, emailtest.Questions())
	cfg.Attempts = attempts
	raw, _ := run(t, cfg, game(t, plain))
	s := sleeper{Policy: plain, slow: map[uint64]bool{}}
	all := rows(t, raw)
	i := 0
	for line := range bytes.Lines(raw) {
		var row traj.Trajectory
		if err := dataset.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			s.slow[row.Seed] = s.slow[row.Seed] || all[i] == name
		}
		i++
	}
	return s
}

// TestStragglersAreLeftOut: attempts that do not end, the first one of all among
// them, are recorded as such and do not hold up the rest; the limit on failures
// is about others.
func TestStragglersAreLeftOut(t *testing.T) {
	for _, concurrency := range []int{4, 64} {
		cfg := config(t, emailtest.Questions())
		cfg.Attempts, cfg.Concurrency, cfg.Stragglers = 4, concurrency, rollout.Stragglers{All: .9, Group: .75}
		raw, st := run(t, cfg, game(t, slow(t, 4, "q1 0", "q4 2", "q9 3")))
		if st.Rows != 36 || st.Stragglers != 3 || st.Failed() != 3 || !strings.Contains(st.String(), "; 3 not waited for; ") {
			t.Errorf("%d at a time: %s", concurrency, &st)
		}
		for line := range bytes.Lines(raw) {
			var row traj.Trajectory
			if err := dataset.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			if err := row.Check(); err != nil {
				t.Error(err)
			}
			if f := row.Failure; f != nil && (f.Boundary != "rollout" || f.Kind != traj.KindStraggler || f.Passing() || f.Message == "") {
				t.Errorf("%d at a time: failure %+v", concurrency, f)
			}
		}
	}
}

// TestEveryGroupIsWaitedFor: two of four at one question are too few, however many
// are done elsewhere.
func TestEveryGroupIsWaitedFor(t *testing.T) {
	cfg := config(t, emailtest.Questions())
	cfg.Attempts, cfg.Concurrency, cfg.Stragglers = 4, 64, rollout.Stragglers{All: .9, Group: .75}
	p := slow(t, 4, "q9 2", "q9 3")
	p.release = make(chan struct{})
	cfg.Tick = func(far llm.Tally) {
		if far.Done == 34 { // all but these two
			close(p.release)
		}
	}
	if _, st := run(t, cfg, game(t, p)); st.Rows != 36 || st.Stragglers > 1 {
		t.Errorf("%s; want three at least of every four", &st)
	}
}

func TestStragglersThatCannotBe(t *testing.T) {
	for want, s := range map[string]rollout.Stragglers{
		"stragglers 1: want a share":         {All: 1, Group: .75},
		"stragglers -0.1: want a share":      {All: -.1, Group: .75},
		"straggler group 2: want a share":    {All: .9, Group: 2},
		"of 2 attempts at each question all": {All: .9, Group: .75},
	} {
		cfg := config(t, emailtest.Questions())
		cfg.Stragglers = s
		if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
