package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/dataset"
	"agentmill/internal/stats"
	"agentmill/internal/traj"
)

// outcome makes an invented row right, wrong, abstained, badly ended or failed.
func outcome(r *traj.Scored, what string) *traj.Scored {
	at := map[string]float64{"right": 0, "wrong": .3, "abstained": .6, "bad": .9, "failed": .999}
	r.Verdict, r.Reward, r.Failure = nil, nil, nil
	settle(r, at[what], [3]float64{.25, .25, .25})
	return r
}

// outcomes sets what became of a policy's attempts, in order.
func outcomes(policy string, inboxes, attempts int, what ...string) []*traj.Scored {
	rows := sample(policy, len(what)/attempts, inboxes, attempts)
	for i, w := range what {
		outcome(rows[i], w)
	}
	return rows
}

func repeat(what string, n int) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(what+" ", n), " "), " ")
}

func policy(t *testing.T, r *Result, name string) *Policy {
	t.Helper()
	for _, p := range r.Policies {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no policy %q in the result", name)
	return nil
}

// 100 questions, 10 fail, 81 right: 81 of 100 and 81 of 90, both shown.
func TestFailedAttemptsCount(t *testing.T) {
	what := append(repeat("right", 81), append(repeat("wrong", 9), repeat("failed", 10)...)...)
	p := policy(t, run(t, nil, outcomes("a", 1, 1, what...)), "a")
	if p.Accuracy.Value != .81 || p.Completed.Value != .9 || p.Failed != 10 || p.NoVerdict != 0 {
		t.Errorf("accuracy %v, of completed %v, failed %d", p.Accuracy.Value, p.Completed.Value, p.Failed)
	}
	if want := stats.Wilson(81, 100); *p.Accuracy.Interval != want {
		t.Errorf("interval %v, want %v", *p.Accuracy.Interval, want)
	}
	if p.Reward.N != 90 {
		t.Errorf("mean reward over %d attempts, want the 90 that have one", p.Reward.N)
	}
}

func TestOutcomesAddUp(t *testing.T) {
	p := policy(t, run(t, nil, outcomes("a", 1, 1, "right", "right", "wrong", "abstained", "bad", "failed", "right", "abstained")), "a")
	o := p.Outcomes
	if sum := o.Right + o.Abstained + o.Wrong + o.NoAnswer + o.Failed; math.Abs(sum-1) > 1e-12 {
		t.Errorf("outcomes add up to %v", sum)
	}
	if diff := cmp.Diff(Outcomes{Right: .375, Abstained: .25, Wrong: .125, NoAnswer: .125, Failed: .125}, o); diff != "" {
		t.Error(diff)
	}
	if p.Bad != .125 || p.Answerable.N != 7 || p.Unanswerable.N != 1 {
		t.Errorf("bad calls %v, answerable %d, unanswerable %d", p.Bad, p.Answerable.N, p.Unanswerable.N)
	}
}

func TestGain(t *testing.T) {
	a := outcomes("a", 1, 1, append(repeat("right", 9), repeat("wrong", 11)...)...)
	b := outcomes("b", 1, 1, append(repeat("right", 19), "wrong")...)
	g := run(t, []string{"a"}, a, b).Gains[0]
	if g.Won != 10 || g.Lost != 0 || math.Abs(g.P-2./1024) > 1e-12 || g.Test != "McNemar, exact" {
		t.Errorf("won %d, lost %d, p %v by %s", g.Won, g.Lost, g.P, g.Test)
	}
	if math.Abs(g.Accuracy.Value-.5) > 1e-12 || math.Abs(*g.Errors-10./11) > 1e-12 {
		t.Errorf("gain %v, errors removed %v", g.Accuracy.Value, *g.Errors)
	}
	if math.Abs(g.Reward.Value-.5*2.1) > 1e-9 || math.Abs(g.RewardP-2./1024) > 1e-12 {
		t.Errorf("reward %v, p %v", g.Reward.Value, g.RewardP)
	}
}

// Failures are errors in accuracy, and say nothing of reward.
func TestGainWithFailures(t *testing.T) {
	g := run(t, []string{"a"}, outcomes("a", 1, 1, "right", "right", "failed"), outcomes("b", 1, 1, "right", "failed", "right")).Gains[0]
	if g.Questions != 3 || g.Won != 1 || g.Lost != 1 || g.RewardQuestions != 1 {
		t.Errorf("%+v", g)
	}
}

func TestAttemptsCluster(t *testing.T) {
	// Two attempts a question, always alike: the interval is that of questions.
	twice := run(t, nil, outcomes("a", 1, 2, "right", "right", "wrong", "wrong", "right", "right", "wrong", "wrong")).Policies[0]
	once := run(t, nil, outcomes("a", 1, 1, "right", "wrong", "right", "wrong")).Policies[0]
	if twice.Accuracy.Interval.Hi < once.Accuracy.Interval.Hi-1e-9 || twice.Attempts != 8 || twice.Questions != 4 {
		t.Errorf("interval %v of doubled attempts, %v of single ones", twice.Accuracy.Interval, once.Accuracy.Interval)
	}
	a := outcomes("a", 1, 2, "right", "wrong", "wrong", "wrong")
	g := run(t, []string{"a"}, a, outcomes("b", 1, 2, "right", "right", "right", "wrong")).Gains[0]
	if g.Accuracy.Value != .5 || g.Test != "paired permutation" || g.P != .5 {
		t.Errorf("gain %v, p %v by %s; want .5 and .5 by permutation", g.Accuracy.Value, g.P, g.Test)
	}
}

// From ten inboxes on the wider interval and the larger p count.
func TestInboxesCluster(t *testing.T) {
	var what []string
	for i := range 40 {
		what = append(what, []string{"right", "wrong"}[i%10%2]) // an inbox is all right or all wrong
	}
	wide := run(t, []string{"a"}, outcomes("a", 10, 1, repeat("wrong", 40)...), outcomes("b", 10, 1, what...))
	narrow := run(t, []string{"a"}, outcomes("a", 9, 1, repeat("wrong", 40)...), outcomes("b", 9, 1, what...))
	w, n := policy(t, wide, "b").Accuracy.Interval, policy(t, narrow, "b").Accuracy.Interval
	if w.Hi-w.Lo < 1.5*(n.Hi-n.Lo) {
		t.Errorf("by inbox %v, by question %v: want the first much wider", w, n)
	}
	if p := wide.Gains[0].P; math.Abs(p-2./32) > 1e-12 { // five inboxes won, none lost
		t.Errorf("p by inbox %v, want 1/16", p)
	}
	if !strings.Contains(wide.cluster(), "by inbox (10)") || strings.Contains(narrow.cluster(), "inbox") {
		t.Errorf("clusters named %q and %q", wide.cluster(), narrow.cluster())
	}
}

func TestCommonQuestions(t *testing.T) {
	a, b := outcomes("a", 1, 1, repeat("right", 6)...), outcomes("b", 1, 1, repeat("wrong", 4)...)
	res := run(t, []string{"a"}, a, b)
	if res.Questions != 4 || res.Asked != 6 || policy(t, res, "a").Attempts != 4 || res.Gains[0].Questions != 4 {
		t.Errorf("%d of %d questions in common, %d attempts of a", res.Questions, res.Asked, policy(t, res, "a").Attempts)
	}
	if want := "4 questions that all policies were asked, of 6"; !strings.Contains(strings.Join(res.Notes, " "), want) {
		t.Errorf("notes %q, want one with %q", res.Notes, want)
	}
	for _, r := range b {
		r.Question.ID = "other " + r.Question.ID
		r.ID = "other " + r.ID
	}
	if res = run(t, []string{"a"}, a, b); len(res.Gains) != 0 || policy(t, res, "a").Attempts != 6 || !strings.Contains(res.Notes[0], "share no question") {
		t.Errorf("nothing in common: gains %v, notes %q", res.Gains, res.Notes)
	}
}

func TestNamesAndParts(t *testing.T) {
	a := outcomes("a", 1, 1, "right", "wrong")
	other := outcomes("a", 1, 1, "wrong", "wrong")
	for _, r := range other {
		r.Policy.Hash = "another"
	}
	res := run(t, nil, a, other)
	if len(res.Policies) != 2 || res.Policies[1].Name != "a anothe" {
		t.Errorf("two policies of one name: %d sets", len(res.Policies))
	}
	// The second part of an attempt is the same attempt; the same row twice is one.
	part := *a[1]
	part.Part, part.ID = 1, part.ID+"b"
	outcome(&part, "right")
	res = run(t, nil, a, []*traj.Scored{&part, a[0]})
	if p := res.Policies[0]; p.Attempts != 2 || p.Accuracy.Value != 1 {
		t.Errorf("%d attempts, accuracy %v; want 2 and 1", p.Attempts, p.Accuracy.Value)
	}
	if !strings.Contains(strings.Join(res.Notes, " "), "1 rows stood in the input more than once") {
		t.Errorf("notes %q", res.Notes)
	}
}

func TestRefusals(t *testing.T) {
	fails := func(rows []*traj.Scored, baselines []string) error {
		_, err := Run(t.Context(), Config{Source: dataset.Source{Stdin: stream(t, rows)}, Baselines: baselines})
		return err
	}
	if err := fails(nil, nil); !errors.Is(err, ErrNoRows) {
		t.Errorf("no rows: %v", err)
	}
	if err := fails(outcomes("a", 1, 1, "right"), []string{"b"}); err == nil || err.Error() != `--baseline "b": want one of a` {
		t.Errorf("unknown baseline: %v", err)
	}
	raw := outcomes("a", 1, 1, "right")
	raw[0].Verdict, raw[0].Reward = nil, nil
	if err := fails(raw, nil); err == nil || !strings.Contains(err.Error(), "run judge on them first") {
		t.Errorf("trajectories without verdicts: %v", err)
	}
	raw = outcomes("a", 1, 1, "right")
	raw[0].Reward = nil
	if err := fails(raw, nil); err == nil || !strings.Contains(err.Error(), "stdin:1: reward: ") {
		t.Errorf("verdict without reward: %v", err)
	}
}

func TestMissingVerdictsAreShown(t *testing.T) {
	rows := outcomes("a", 1, 1, "right", "right")
	rows[1].Verdict, rows[1].Reward = nil, nil
	res := run(t, nil, rows)
	if p := res.Policies[0]; p.NoVerdict != 1 || p.Accuracy.Value != .5 || p.Completed.Value != 1 {
		t.Errorf("%+v", p)
	}
	var b bytes.Buffer
	if err := res.Table(&b); err != nil || !strings.Contains(b.String(), "no verdict") {
		t.Errorf("the table does not show the missing verdict:\n%s", b.String())
	}
}

func TestSameRowsSameBytes(t *testing.T) {
	a, b := sample("sft", 30, 12, 2), sample("grpo", 30, 12, 2)
	render := func(sets ...[]*traj.Scored) string {
		res := run(t, []string{"sft"}, sets...)
		var out bytes.Buffer
		for _, err := range []error{res.Table(&out), res.JSON(&out), res.Markdown(&out), res.HTML(&out, Page{Title: "t", Rollouts: -1})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	want := render(a, b)
	for i, j := 0, len(a)-1; i < j; i, j = i+1, j-1 {
		a[i], a[j] = a[j], a[i]
	}
	if got := render(a, b); got != want {
		t.Error("the order of rows in a file changes the output")
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := run(t, nil, outcomes("a", 1, 1, "right")).JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Policies []struct {
			Accuracy struct {
				Value    float64
				Interval struct{ Lo float64 }
			}
			Reward struct{ Interval *struct{} }
		}
		Gains []any
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if p := got.Policies[0]; p.Accuracy.Value != 1 || p.Reward.Interval != nil || got.Gains == nil {
		t.Errorf("one attempt: %+v; a mean of one has no interval", got)
	}
}

func TestHTML(t *testing.T) {
	res := run(t, []string{"prompted"}, sample("prompted", 40, 2, 1), sample("sft", 40, 2, 1))
	res.Training = []Step{{Name: "01"}, {Name: "02"}}
	var b bytes.Buffer
	if err := res.HTML(&b, Page{Title: "Mail <& more>", Rollouts: 5}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"Mail &lt;&amp; more&gt;", "35 more questions are not shown", "The audit is on &lt;b&gt;March&lt;/b&gt;", "sft answers ",
		"By kind of question", "The training steps", "prefers-color-scheme: dark", "@media print", "search audit plant",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "http://", "https://", "NaN", "ZgotmplZ", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the report holds %q", bad)
		}
	}
	if n := strings.Count(page, `<details class="question`); n != 5 {
		t.Errorf("%d questions in the viewer, want 5", n)
	}
}

func TestPValue(t *testing.T) {
	for p, want := range map[float64]string{.0009: "< .001", .001: ".001", .0456: ".046", 1: "1.000"} {
		if got := pValue(p); got != want {
			t.Errorf("pValue(%v) = %q, want %q", p, got, want)
		}
	}
}
