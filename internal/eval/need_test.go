package eval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/traj"
)

func TestNeed(t *testing.T) {
	good := outcomes("good", 1, 1, repeat("right", 60)...)
	fair := outcomes("fair", 1, 1, append(repeat("right", 55), repeat("wrong", 5)...)...)
	for _, tt := range []struct {
		need      string
		baselines []string
		want      string
	}{
		{"accuracy.low >= 0.9", nil, "good meets accuracy.low >= 0.9: prompting is enough, nothing to train."},
		{"accuracy.low >= 0.9", []string{"fair"}, "No policy meets accuracy.low >= 0.9: there is something to train."},
		{"accuracy.value >= 0.9 && hallucinated.value > 0", nil, "fair meets accuracy.value >= 0.9 && hallucinated.value > 0: prompting is enough, nothing to train."},
	} {
		need, err := ParseNeed(tt.need)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, tt.baselines, fair, good)
		if err := r.meet(need, tt.baselines); err != nil {
			t.Fatal(err)
		}
		if got := r.Need.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// What was not measured meets no bar.
func TestNoFigureMeetsNothing(t *testing.T) {
	need, err := ParseNeed("gold_read.value < 2 || gold_read.low >= 0 || reward.high > -9")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := need.Holds((&Policy{}).figures()); ok || err != nil {
		t.Errorf("holds: %v, %v", ok, err)
	}
}

func TestParseNeedRefuses(t *testing.T) {
	if _, err := ParseNeed("accuracy >= 0.9"); err == nil || !strings.Contains(err.Error(), "accuracy.low") {
		t.Errorf("error %v, want one that names accuracy.low", err)
	}
}

// The newest policy is spoken of, not the best.
func TestLead(t *testing.T) {
	a := outcomes("before", 1, 1, append(repeat("right", 10), repeat("wrong", 10)...)...)
	b := outcomes("rules", 1, 1, repeat("right", 20)...)
	c := outcomes("after", 1, 1, append(repeat("right", 15), repeat("wrong", 5)...)...)
	got := run(t, []string{"before"}, b, a, c).lead()
	want := "after answers 75.0 % of 20 questions right (95 %: 53.1 to 88.8), +25.0 points against before (p = .062); rules is ahead with 100.0 %."
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := run(t, nil, b, a, c).lead(); !strings.HasPrefix(got, "rules answers 100.0 %") {
		t.Errorf("without a baseline: %s", got)
	}
}

func TestTools(t *testing.T) {
	rows := outcomes("a", 1, 1, "right", "wrong")
	for _, r := range rows {
		r.Calls = nil
	}
	rows[0].Calls = []traj.Call{{Tool: "search_emails", IDs: []string{"m"}}, {Tool: "search_emails"}, {Tool: "return_final_answer"}}
	rows[1].Calls = []traj.Call{{Tool: "read_email", Error: traj.ErrNoSuchMail}, {Error: traj.ErrNoCall}}
	s := &set{name: "a", rows: rows}
	want := []ToolUse{
		{Policy: "a", Tool: "(none)", Calls: 1, Errors: map[string]int{"no_call": 1}},
		{Policy: "a", Tool: "read_email", Calls: 1, Errors: map[string]int{"no_such_mail": 1}},
		{Policy: "a", Tool: "return_final_answer", Calls: 1, Errors: map[string]int{}},
		{Policy: "a", Tool: "search_emails", Calls: 2, Empty: 1, Errors: map[string]int{}},
	}
	if diff := cmp.Diff(want, toolUse([]*set{s}, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r := run(t, nil, outcomes("a", 1, 1, "right", "wrong"))
	r.Tools = want
	var b strings.Builder
	if err := r.Table(&b); err != nil || !strings.Contains(b.String(), "a search_emails             2       1         0              0") {
		t.Errorf("%v; table:\n%s", err, &b)
	}
}
