package rl

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/numtest"
)

// path is an attempt that sees the states and takes the actions of a text such
// as "a b c": the state after an action is named by all actions so far.
func path(group string, attempt int, reward float64, actions string) Row {
	r := row(group, attempt, reward)
	seen := "start"
	for a := range strings.FieldsSeq(actions) {
		r.Steps = append(r.Steps, Step{State: seen, Action: a})
		seen += " " + a
	}
	return r
}

// TestSALT is the hand check: T1 a b c, T2 a d, T3 a b e, T4 f.
func TestSALT(t *testing.T) {
	g := &group{attempts: []int{0, 1, 2, 3}, advantages: []float64{1, 1, -1, -1}, parts: [][]int{{0}, {1}, {2}, {3}}}
	rows := []Row{path("g", 0, 1, "a b c"), path("g", 1, 1, "a d"), path("g", 2, 0, "a b e"), path("g", 3, 0, "f")}
	want := [][]float64{{1. / 3, 0, 1}, {1. / 3, 1}, {1. / 3, 0, -1}, {-1}}
	for _, history := range []int{0, 1, -1} {
		s := DefaultSteps(SALT)
		s.History = history
		credits, report := make([]Credit, 4), Report{}
		s.credit(g, rows, credits, &report)
		for i := range want {
			// (s0, a) leads to the same state in all, so do b's; c, e, d and f part.
			numtest.Close(t, rows[i].ID, credits[i].Turns, want[i], numtest.Tol{Abs: 1e-12})
		}
		if report.Merged != 5 || report.StepsInAll != 9 {
			t.Errorf("history %d: %d of %d merged, want 5 of 9", history, report.Merged, report.StepsInAll)
		}
	}
}

// TestSALTOptions: votes, history and similarity where they make a difference.
func TestSALTOptions(t *testing.T) {
	loop := Row{ID: "x", Group: "g", Attempt: 0, Steps: []Step{{"s", "a"}, {"s", "a"}, {"s", "b"}}}
	once := Row{ID: "y", Group: "g", Attempt: 1, Steps: []Step{{"s", "a"}, {"s", "c"}}}
	turn := func(change func(*Steps)) []float64 {
		s := DefaultSteps(SALT)
		change(&s)
		g := &group{attempts: []int{0, 1}, advantages: []float64{1, -1}, parts: [][]int{{0}, {1}}}
		credits := make([]Credit, 2)
		s.credit(g, []Row{loop, once}, credits, &Report{})
		return credits[0].Turns
	}
	numtest.Close(t, "one vote", turn(func(s *Steps) { s.History = 0 }), []float64{0, 0, 1}, numtest.Tol{})
	numtest.Close(t, "a vote a visit", turn(func(s *Steps) { s.History, s.PerVisit = 0, true }), []float64{1. / 3, 1. / 3, 1}, numtest.Tol{Abs: 1e-12})
	numtest.Close(t, "history tells visits apart", turn(func(*Steps) {}), []float64{0, 1, 1}, numtest.Tol{})

	alike := []Row{
		{ID: "x", Group: "g", Attempt: 0, Steps: []Step{{"mail inbox", "search budget review march draft"}}},
		{ID: "y", Group: "g", Attempt: 1, Steps: []Step{{"mail inbox", "search budget review march final"}}},
	}
	for similarity, merged := range map[float64]int{1: 0, .9: 0, .6: 2} {
		s := DefaultSteps(SALT)
		s.Similarity = similarity
		g := &group{attempts: []int{0, 1}, advantages: []float64{1, -1}, parts: [][]int{{0}, {1}}}
		report := Report{}
		s.credit(g, alike, make([]Credit, 2), &report)
		if report.Merged != merged {
			t.Errorf("similarity %v: %d merged, want %d", similarity, report.Merged, merged)
		}
	}
}

// TestGiGPO: two attempts pass through the same state; the one that ends well
// is better there, by its discounted return.
func TestGiGPO(t *testing.T) {
	rows := []Row{path("g", 0, 1, "a b"), path("g", 1, 0, "a c")}
	credits, report := Crediting{Advantage: "drgrpo", Steps: DefaultSteps(GiGPO)}.Credit(rows)
	// Both start in "start" (returns .95 and 0) and pass "start a" (1 and 0).
	numtest.Close(t, "good", credits[0].Turns, []float64{.5 + .475, .5 + .5}, numtest.Tol{Abs: 1e-12})
	numtest.Close(t, "bad", credits[1].Turns, []float64{-.5 - .475, -.5 - .5}, numtest.Tol{Abs: 1e-12})
	if report.Merged != 4 || report.MergeShare() != 1 {
		t.Errorf("report %+v", report)
	}
}

// TestStepsOfParts: the turns of an attempt run on through its parts.
func TestStepsOfParts(t *testing.T) {
	whole := path("g", 1, 0, "a b e")
	first, second := path("g", 0, 1, "a b c"), path("g", 0, 1, "a b c")
	first.Steps, second.Steps, second.Part = first.Steps[:2], second.Steps[2:], 1
	credits, _ := Crediting{Advantage: "drgrpo", Steps: DefaultSteps(SALT)}.Credit([]Row{second, whole, first})
	numtest.Close(t, "second part", credits[0].Turns, []float64{.5}, numtest.Tol{})
	numtest.Close(t, "first part", credits[2].Turns, []float64{0, 0}, numtest.Tol{})
	if credits[2].OK || !credits[0].OK {
		t.Error("a row whose steps are all neutral has no signal, the other one has")
	}
}

// TestBatchNormalisation: REINFORCE++ is the difference to the group's mean and
// then a z-score over the batch, which is not a z-score by group.
func TestBatchNormalisation(t *testing.T) {
	credits, _ := Crediting{Advantage: ReinforcePP}.Credit([]Row{row("a", 0, 1), row("a", 1, 0), row("b", 0, 4), row("b", 1, 0)})
	var got []float64
	for _, c := range credits {
		got = append(got, c.Advantage)
	}
	d := 1.4577380 // of .5, −.5, 2, −2
	numtest.Close(t, "advantages", got, []float64{.5 / d, -.5 / d, 2 / d, -2 / d}, numtest.Tol{Abs: 1e-5})
}

// TestPerTerm (case Z2): each term varies but the sum does not. By terms with
// unequal weights there is a signal, by the sum there is none.
func TestPerTerm(t *testing.T) {
	terms := func(id int, a, b float64) Row {
		r := row("g", id, a+b)
		r.Terms = map[string]float64{"a": a, "b": b}
		return r
	}
	rows := []Row{terms(0, 1, 0), terms(1, 0, 1)}
	if _, report := (Crediting{Advantage: "grpo"}).Credit(rows); report.Flat != 1 {
		t.Errorf("by the sum: %+v, want a flat group", report)
	}
	c := Crediting{Advantage: "grpo", PerTerm: true, TermWeights: map[string]float64{"a": 3}}
	credits, report := c.Credit(rows)
	if report.Groups != 1 || report.Flat != 0 || !(credits[0].Advantage > .9) || !(credits[1].Advantage < -.9) {
		t.Errorf("by terms: %+v, %+v", credits, report)
	}
	// Case N14: a term that one attempt lacks is estimated among the others.
	rows = append(rows, row("g", 2, .5))
	if _, report = c.Credit(rows); cmp.Diff([]string{"g2"}, report.NoTerm) != "" {
		t.Errorf("rows without a term: %v", report.NoTerm)
	}
}

func TestCreditingThatUndoesItself(t *testing.T) {
	for _, tt := range []struct {
		c    Crediting
		want string
	}{
		{Crediting{Advantage: "ppo"}, `"ppo": want one of`},
		{Crediting{Advantage: ReinforcePP, PerTerm: true}, "reinforce++ per term: both end in a z-score"},
		{Crediting{Advantage: "maxrl", PerTerm: true}, "maxrl per term: it divides by the mean"},
		{Crediting{Advantage: "rloo", TermWeights: map[string]float64{"a": 1}}, "weights of terms: "},
		{Crediting{Advantage: "rloo", Steps: Steps{Kind: "graft"}}, `step advantages "graft": want salt or gigpo`},
		{Crediting{Advantage: "rloo", Steps: Steps{Similarity: 2}}, "similarity 2: want 0 to 1"},
	} {
		if err := tt.c.Check(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	for _, bad := range []string{"", "a", "=1", "a=x", "a=NaN"} {
		if w, err := ParseWeights([]string{bad}); err == nil {
			t.Errorf("%q was read as %v", bad, w)
		}
	}
	if w, err := ParseWeights([]string{"a=2", "b=-.5"}); err != nil || w["a"] != 2 || w["b"] != -.5 {
		t.Errorf("%v, %v", w, err)
	}
}

func TestOverlong(t *testing.T) {
	for length, want := range map[int]float64{80: 0, 90: -.5, 100: -1, 101: -1, 5: 0} {
		if got := Overlong(length, 100, 20, 1); got != want {
			t.Errorf("length %d: %v, want %v", length, got, want)
		}
	}
	if got := Overlong(11, 10, 0, 2); got != -2 {
		t.Errorf("without a cache: %v, want -2", got)
	}
}

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ a, b string }{
		{`{"keywords":["Budget","march"],"from_addr":"Ann"}`, `{"from_addr":"ann", "keywords":["March", "budget","budget"]}`},
		{`not  JSON`, `Not json`},
	} {
		x, y := CanonicalAction("search", json.RawMessage(tt.a)), CanonicalAction("search", json.RawMessage(tt.b))
		if x != y {
			t.Errorf("%s and %s: %q and %q, want them equal", tt.a, tt.b, x, y)
		}
	}
	if CanonicalText(" 2  Hits\nof five ") != "2 hits of five" || CanonicalText(`{"b":1,"a":2}`) != `{"a":2,"b":1}` {
		t.Error("text is not folded")
	}
	if CanonicalAction("read", json.RawMessage(`[1,"x"]`)) == CanonicalAction("read", json.RawMessage(`["x",1]`)) {
		t.Error("a list that is not of words has lost its order")
	}
}
