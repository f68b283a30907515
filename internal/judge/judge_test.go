package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/dataset"
	"agentmill/internal/match"
	"agentmill/internal/question"
	"agentmill/internal/reward"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

var asked = question.Question{
	ID: "q1", Question: "When is the audit at Larkfield?", Answer: "March 14", Answerable: true,
	MessageIDs: []string{"<a@x>", "<b@x>"}, AlsoIn: []string{"<c@x>", "<d@x>"},
}

var nobodyKnows = question.Question{ID: "q2", Question: "Who pays for the audit?", Answer: question.Unknown}

// row is an attempt of three turns that showed a, b, c and d.
func row(q question.Question, stop traj.StopReason, text string, sources ...string) *traj.Trajectory {
	t := &traj.Trajectory{Schema: 1, ID: "r1", Group: "g1", Question: q, Stop: stop, Turns: make([]chat.Turn, 3)}
	t.Answer = traj.Answer{Text: text, Sources: sources}
	t.Calls = []traj.Call{{Tool: "search_emails", Arguments: []byte(`{"keywords":["audit"]}`), IDs: []string{"<a@x>", "<b@x>", "<c@x>", "<d@x>", "<z@x>"}}}
	t.EnvOptions.MaxTurns = 6
	if stop == traj.Failed {
		t.Failure = &traj.Failure{Boundary: "env", Kind: "error", Message: "gone"}
	}
	return t
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name  string
		row   *traj.Trajectory
		want  traj.Verdict // without judge and explanation
		flags []string
	}{
		{"right, both sources", row(asked, traj.Answered, "3/14", "<a@x>", "<b@x>"), traj.Verdict{Correct: true, SourcesCorrect: true}, nil},
		{"right, one source missing", row(asked, traj.Answered, "3/14", "<a@x>"), traj.Verdict{Correct: true}, nil},
		{"right, another carrier for one", row(asked, traj.Answered, "3/14", "<a@x>", "<c@x>"), traj.Verdict{Correct: true, SourcesCorrect: true}, nil},
		{"right, one mail too many", row(asked, traj.Answered, "3/14", "<a@x>", "<b@x>", "<z@x>"), traj.Verdict{Correct: true}, nil},
		{"right, no sources", row(asked, traj.Answered, "3/14"), traj.Verdict{Correct: true}, nil},
		{"wrong", row(asked, traj.Answered, "March 15", "<a@x>", "<b@x>"), traj.Verdict{Hallucinated: true, SourcesCorrect: true}, nil},
		{"two dates", row(asked, traj.Answered, "March 14 or March 15"), traj.Verdict{Hallucinated: true}, []string{"hedged"}},
		{"a mail that nothing showed", row(asked, traj.Answered, "3/14", "<q@x>"), traj.Verdict{Correct: true}, []string{"cites_unseen"}},
		{"abstains", row(asked, traj.Abstained, "I don't know"), traj.Verdict{Abstained: true}, nil},
		{"abstains in other words", row(asked, traj.Answered, "I could not find that in the mailbox."), traj.Verdict{Abstained: true}, nil},
		{"answers nothing", row(asked, traj.Answered, " "), traj.Verdict{Hallucinated: true}, []string{"empty_answer"}},
		{"out of turns", row(asked, traj.MaxTurns, ""), traj.Verdict{}, nil},
		{"rightly abstains", row(nobodyKnows, traj.Abstained, "I don't know"), traj.Verdict{Correct: true, Abstained: true, SourcesCorrect: true}, nil},
		{"abstains and cites", row(nobodyKnows, traj.Abstained, "I don't know", "<a@x>"), traj.Verdict{Hallucinated: true}, []string{"abstained_with_sources"}},
		{"invents", row(nobodyKnows, traj.Answered, "Finance"), traj.Verdict{Hallucinated: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, flags, err := verdict(t.Context(), Match{match.Values}, Covered, tt.row)
			if err != nil {
				t.Fatal(err)
			}
			if got.Judge != "match" || tt.row.Stop == traj.MaxTurns && got.Explanation != "no answer: max_turns" {
				t.Errorf("judge %q, explanation %q", got.Judge, got.Explanation)
			}
			got.Judge, got.Explanation = "", ""
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.flags, flags); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailedHasNoVerdict(t *testing.T) {
	v, flags, err := verdict(t.Context(), Match{match.Values}, Covered, row(asked, traj.Failed, ""))
	if v != nil || flags != nil || err != nil {
		t.Errorf("got %v, %v, %v: want nothing", v, flags, err)
	}
}

func TestFirstSource(t *testing.T) {
	for _, tt := range []struct {
		cited []string
		want  bool
	}{
		{[]string{"<a@x>"}, true},
		{[]string{"<b@x>"}, false},
		{[]string{"<z@x>", "<a@x>"}, true},
		{nil, false},
	} {
		if got := First.correct(row(asked, traj.Answered, "x", tt.cited...)); got != tt.want {
			t.Errorf("cites %v: %v, want %v", tt.cited, got, tt.want)
		}
	}
}

func TestRepeatedCall(t *testing.T) {
	r := row(asked, traj.MaxTurns, "")
	for _, args := range []string{`{"keywords": ["audit"]}`, `{"keywords":["audit"] }`} {
		if repeats(r.Calls) {
			t.Fatalf("%d equal calls are flagged, want 3", len(r.Calls))
		}
		r.Calls = append(r.Calls, traj.Call{Tool: "search_emails", Arguments: []byte(args)})
	}
	if !repeats(r.Calls) {
		t.Error("three equal calls are not flagged")
	}
}

func lines(t *testing.T, rows ...*traj.Trajectory) string {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		data, err := dataset.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

func config(t *testing.T, in string, out *bytes.Buffer) Config {
	t.Helper()
	set, err := reward.Builtin(reward.Default)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		In: dataset.Source{Stdin: strings.NewReader(in)}, Stdout: out,
		Judge: Match{match.Values}, Reward: set, Sources: Covered,
	}
}

func TestRunKeepsOrderAndUnknownFields(t *testing.T) {
	failed := row(asked, traj.Failed, "")
	failed.ID = "r0"
	in := strings.Replace(lines(t, failed, row(asked, traj.Answered, "3/14", "<a@x>", "<b@x>")), "{", `{"note":7,`, 1)
	var out bytes.Buffer
	st, err := Run(t.Context(), config(t, in, &out))
	if err != nil {
		t.Fatal(err)
	}
	if st.Rows != 2 || st.Correct != 1 || st.NoVerdict != 1 {
		t.Errorf("stats %+v", st)
	}
	var first, second traj.Scored
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if err := dataset.Unmarshal([]byte(line), []*traj.Scored{&first, &second}[i]); err != nil {
			t.Fatal(err)
		}
	}
	if first.ID != "r0" || first.Reward != nil || first.Verdict != nil || string(first.Extra["note"]) != "7" {
		t.Errorf("first row: %v %v %v %s", first.ID, first.Reward, first.Verdict, first.Extra["note"])
	}
	if second.Reward == nil || math.Abs(*second.Reward-1.4) > 1e-9 {
		t.Errorf("second row: reward %v, want 1.4", second.Reward)
	}
	// Judging the output anew gives the same bytes.
	var again bytes.Buffer
	if _, err := Run(t.Context(), config(t, out.String(), &again)); err != nil || again.String() != out.String() {
		t.Errorf("judged twice: %v\n%s\n%s", err, out.String(), again.String())
	}
}

// counting is a judge that may stop working.
type counting struct {
	Match
	calls, limit int
}

func (c *counting) Answer(ctx context.Context, t *traj.Trajectory) (Opinion, error) {
	if c.calls++; c.calls > c.limit {
		return Opinion{}, errors.New("judge is tired")
	}
	return c.Match.Answer(ctx, t)
}

func TestResume(t *testing.T) {
	one, two := row(asked, traj.Answered, "3/14"), row(asked, traj.Answered, "3/15")
	two.ID = "r2"
	dir := t.TempDir()
	var whole bytes.Buffer
	cfg := config(t, lines(t, one, two), &whole)
	if _, err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	run := func(limit int) (int, error) {
		j := &counting{Match{match.Values}, 0, limit}
		cfg := config(t, lines(t, one, two), nil)
		cfg.Judge, cfg.Out, cfg.Journal = j, filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "s.jsonl.journal")
		_, err := Run(t.Context(), cfg)
		return j.calls, err
	}
	if _, err := run(1); err == nil || !strings.Contains(err.Error(), "judge row r2: judge is tired") {
		t.Fatalf("error %v, want one that names the row", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "s.jsonl")); err == nil {
		t.Error("a broken run left an output")
	}
	if calls, err := run(9); err != nil || calls != 1 {
		t.Errorf("resumed: %d calls, %v; want 1", calls, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "s.jsonl"))
	if err != nil || string(got) != whole.String() {
		t.Errorf("resumed output differs from an unbroken run's: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

func TestShardsAddUp(t *testing.T) {
	var rows []*traj.Trajectory
	for _, g := range []string{"g1", "g2", "g3", "g4", "g5"} {
		r := row(asked, traj.Answered, "3/14")
		r.ID, r.Group = "row of "+g, g
		rows = append(rows, r)
	}
	seen := map[string]int{}
	for part := 1; part <= 2; part++ {
		var out bytes.Buffer
		cfg := config(t, lines(t, rows...), &out)
		cfg.Shard = seed.Shard{Part: part, Of: 2}
		if _, err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		for dec := json.NewDecoder(&out); dec.More(); {
			var r struct{ ID string }
			if err := dec.Decode(&r); err != nil {
				t.Fatal(err)
			}
			seen[r.ID]++
		}
	}
	if len(seen) != 5 {
		t.Errorf("rows of both shards: %v, want all five", seen)
	}
}
