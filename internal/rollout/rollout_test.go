package rollout_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/heuristic"
	"agentmill/internal/question"
	"agentmill/internal/rollout"
	"agentmill/internal/seed"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// A gate lets so many attempts begin and then calls stop.
type gate struct {
	agent.Policy
	left atomic.Int64
	stop func() error
}

func (g *gate) Begin(ctx context.Context, task agent.Task) (agent.Session, error) {
	if g.left.Add(-1) < 0 {
		if err := g.stop(); err != nil {
			return nil, err
		}
	}
	return g.Policy.Begin(ctx, task)
}

// after makes a heuristic policy that calls stop instead of playing attempt n.
func after(n int64, stop func() error) *gate {
	g := &gate{Policy: heuristic.New(toolformat.Line{}), stop: stop}
	g.left.Store(n)
	return g
}

func always() error { return nil }

func game(t *testing.T, p agent.Policy) *agent.Game {
	t.Helper()
	g := &agent.Game{Policy: p, Env: emailtest.Open(t, emailtest.Options()), Seed: 3, Clock: clock.FixedAt(time.Unix(0, 0))}
	if p == nil {
		var err error
		if g.Policy, err = agent.NewExpert(g.Env); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// config plays questions in a new folder.
func config(t *testing.T, qs []question.Question) rollout.Config {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "questions.jsonl")
	w, err := dataset.Create[question.Question](path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range qs {
		if err := w.Write(&qs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return rollout.Config{
		Questions: dataset.Source{Paths: []string{path}}, Attempts: 2, Concurrency: 1, Out: filepath.Join(dir, "out.jsonl"), Stdout: io.Discard,
	}
}

func run(t *testing.T, cfg rollout.Config, g *agent.Game) ([]byte, rollout.Stats) {
	t.Helper()
	st, err := rollout.Run(t.Context(), cfg, g)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(cfg.Out + "?*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return raw, st
}

// rows are "question attempt" of an output.
func rows(t *testing.T, raw []byte) []string {
	t.Helper()
	var out []string
	for line := range bytes.Lines(raw) {
		var row traj.Trajectory
		if err := dataset.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row.Question.ID+" "+string(rune('0'+row.Attempt)))
	}
	return out
}

func TestRowsComeInOrderAtAnyConcurrency(t *testing.T) {
	one, st := run(t, config(t, emailtest.Questions()), game(t, nil))
	cfg := config(t, emailtest.Questions())
	cfg.Concurrency = 8
	eight, _ := run(t, cfg, game(t, nil))
	if !bytes.Equal(one, eight) {
		t.Error("8 at a time wrote other bytes than 1 at a time")
	}
	want := []string{"q1 0", "q1 1", "q2 0", "q2 1", "q3 0", "q3 1"}
	if diff := cmp.Diff(want, rows(t, one)[:6]); diff != "" || st.Rows != 18 {
		t.Errorf("%d rows, want 18; the first (-want +got):\n%s", st.Rows, diff)
	}
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	want, _ := run(t, config(t, emailtest.Questions()), game(t, after(99, always)))
	for _, concurrency := range []int{1, 4} {
		cfg := config(t, emailtest.Questions())
		cfg.Concurrency = concurrency
		ctx, cancel := context.WithCancel(t.Context())
		killer := after(7, func() error { cancel(); return ctx.Err() })
		if _, err := rollout.Run(ctx, cfg, game(t, killer)); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted run = %v", err)
		}
		if _, err := os.Stat(cfg.Out); err == nil {
			t.Fatal("an interrupted run left an output")
		}
		got, st := run(t, cfg, game(t, after(99, always)))
		if !bytes.Equal(want, got) {
			t.Errorf("concurrency %d: the resumed run wrote other bytes than an unbroken one", concurrency)
		}
		if st.Resumed < 7-concurrency || st.Resumed > 7 {
			t.Errorf("concurrency %d: %d attempts resumed, want about 7", concurrency, st.Resumed)
		}
	}
}

func TestAnotherRunsJournalIsRefused(t *testing.T) {
	cfg := config(t, emailtest.Questions())
	ctx, cancel := context.WithCancel(t.Context())
	killer := after(3, func() error { cancel(); return ctx.Err() })
	if _, err := rollout.Run(ctx, cfg, game(t, killer)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	g := game(t, after(99, always))
	g.Seed++
	if _, err := rollout.Run(t.Context(), cfg, g); err == nil || !strings.Contains(err.Error(), cfg.Out+".journal") {
		t.Errorf("run with another seed = %v, want an error that names the journal", err)
	}
}

func TestFailures(t *testing.T) {
	broke := func() error { return errors.New("broke") }
	down := func() error {
		return &agent.Error{Boundary: "provider", Kind: "unreachable", Err: errors.New("refused")}
	}
	refused := func() error {
		return &agent.Error{Boundary: "provider", Kind: "refused", Err: errors.New("no such model")}
	}
	for _, tt := range []struct {
		name      string
		policy    *gate
		maxFailed float64
		want      error
	}{
		{"within the limit", after(17, broke), .1, nil},
		{"beyond the limit", after(15, broke), .1, rollout.ErrTooManyFailed},
		{"all, elsewhere", after(0, broke), .1, rollout.ErrTooManyFailed},
		{"all, no server", after(0, down), 1, rollout.ErrUnreachable},
		{"all, the server refuses", after(0, refused), .1, rollout.ErrTooManyFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t, emailtest.Questions())
			cfg.MaxFailed = tt.maxFailed
			st, err := rollout.Run(t.Context(), cfg, game(t, tt.policy))
			if !errors.Is(err, tt.want) {
				t.Fatalf("Run = %v, want %v", err, tt.want)
			}
			if _, statErr := os.Stat(cfg.Out); (statErr == nil) != (err == nil) {
				t.Errorf("output: %v, run: %v", statErr, err)
			}
			if err == nil && (st.Rows != 18 || st.Failed() != 1) {
				t.Errorf("%d rows, %d failed; want 18, 1", st.Rows, st.Failed())
			}
		})
	}
}

func TestQuestionsThatAreNotPlayed(t *testing.T) {
	qs := emailtest.Questions()
	qs[0].Split = question.Test
	qs[1].InboxAddress = "nobody@harlan.example"
	qs[2].Evidence = "words that no mail has"
	cfg := config(t, qs)
	cfg.Split, cfg.Attempts = "train", 1
	raw, st := run(t, cfg, game(t, nil))
	if diff := cmp.Diff([]string{"q4 0", "q5 0", "q6 0", "q7 0", "q8 0", "q9 0"}, rows(t, raw)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	want := "6 attempts at 7 questions: 5 answered, 1 abstained; 1 declined: the evidence is not in the part of a mail that is shown; 1 questions whose mailbox the index does not hold; 1 questions of other splits passed over; "
	if got := st.String(); !strings.HasPrefix(got, want) {
		t.Errorf("summary %q, want it to begin with %q", got, want)
	}
	cfg.Split = "val"
	if _, err := rollout.Run(t.Context(), cfg, game(t, nil)); err == nil || !strings.Contains(err.Error(), "9 not of split \"val\"") {
		t.Errorf("no question of a split: %v", err)
	}
}

func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		offset, limit int
		want          []string
	}{
		{0, 2, []string{"q1 0", "q2 0"}},
		{8, 2, []string{"q9 0", "q1 0"}},
		{19, 1, []string{"q2 0"}},
		{7, 0, []string{"q8 0", "q9 0"}},
	} {
		cfg := config(t, emailtest.Questions())
		cfg.Attempts, cfg.Offset, cfg.Limit = 1, tt.offset, tt.limit
		raw, _ := run(t, cfg, game(t, nil))
		if diff := cmp.Diff(tt.want, rows(t, raw)); diff != "" {
			t.Errorf("offset %d, limit %d (-want +got):\n%s", tt.offset, tt.limit, diff)
		}
	}
}

func TestShardsMakeTheWhole(t *testing.T) {
	play := func(shard seed.Shard) []string {
		cfg := config(t, emailtest.Questions())
		cfg.Shard = shard
		raw, _ := run(t, cfg, game(t, nil))
		return slices.Sorted(strings.Lines(string(raw)))
	}
	var parts []string
	for part := 1; part <= 3; part++ {
		parts = append(parts, play(seed.Shard{Part: part, Of: 3})...)
	}
	slices.Sort(parts)
	if diff := cmp.Diff(play(seed.Shard{}), parts); diff != "" {
		t.Errorf("rows (-whole +shards):\n%s", diff)
	}
}

func TestShuffleKeepsTheOrderOfTwo(t *testing.T) {
	order := func(qs []question.Question) []string {
		cfg := config(t, qs)
		cfg.Attempts, cfg.Shuffle = 1, true
		raw, _ := run(t, cfg, game(t, nil))
		return rows(t, raw)
	}
	all := order(emailtest.Questions())
	if diff := cmp.Diff([]string{"q5 0", "q8 0", "q9 0", "q4 0", "q3 0", "q6 0", "q1 0", "q7 0", "q2 0"}, all); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	few := slices.DeleteFunc(all, func(row string) bool { return row > "q4" })
	if diff := cmp.Diff(few, order(emailtest.Questions()[:3])); diff != "" {
		t.Errorf("order of the first three questions alone (-among all +alone):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	for _, cfg := range []rollout.Config{
		{Attempts: 0, Concurrency: 1},
		{Attempts: 1, Concurrency: 0},
		{Attempts: 1, Concurrency: 1, Limit: -1},
		{Attempts: 1, Concurrency: 1, MaxFailed: 1.1},
		{Attempts: 1, Concurrency: 1, Split: "tests"},
	} {
		if cfg.Check() == nil {
			t.Errorf("Check(%+v) is content", cfg)
		}
	}
}

func TestAsk(t *testing.T) {
	q := question.Question{Question: "When is the Larkspur kickoff?", InboxAddress: "d.ruiz@harlan.example"}
	var out, talk strings.Builder
	if err := rollout.Ask(t.Context(), game(t, after(1, always)), &q, &out, &talk); err != nil {
		t.Fatal(err)
	}
	want := "Thursday, March 22\n  source: <d1@harlan.example>  2001-03-05  omar.holt@harlan.example  Larkspur kickoff\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got := talk.String(); !strings.HasPrefix(got, "> search Larkspur kickoff\n  1 2001-03-05 omar.holt: ") || !strings.Contains(got, "\n> read 1\n") {
		t.Errorf("steps:\n%s", got)
	}
}

func TestAskNamesTheNearestInboxes(t *testing.T) {
	q := question.Question{Question: "When?", InboxAddress: "dana.ruis@harlan.example"}
	err := rollout.Ask(t.Context(), game(t, after(1, always)), &q, io.Discard, io.Discard)
	if want := `no mailbox "dana.ruis@harlan.example" in the index; the nearest: dana.ruiz@harlan.example, omar.holt@harlan.example`; err == nil || err.Error() != want {
		t.Errorf("Ask = %v, want %s", err, want)
	}
}
