package reward

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// play makes a judged attempt at an answerable question with gold mail g, also
// carried by h, of 10 allowed turns.
func play(stop traj.StopReason, turns int, v traj.Verdict, sources []string, calls ...traj.Call) *traj.Scored {
	row := &traj.Scored{Verdict: &v}
	row.Question = question.Question{Answerable: true, MessageIDs: []string{"g"}, AlsoIn: []string{"h"}}
	row.Stop, row.Calls, row.Turns = stop, calls, make([]chat.Turn, turns)
	row.Answer.Sources = sources
	row.EnvOptions.MaxTurns = 10
	return row
}

func unanswerable(row *traj.Scored) *traj.Scored {
	row.Question = question.Question{Answer: question.Unknown}
	return row
}

func call(turn int, tool, err string, ids ...string) traj.Call {
	return traj.Call{Turn: turn, Tool: tool, Error: err, IDs: ids}
}

func TestRubricOfARTE(t *testing.T) {
	search, read := call(0, "search_emails", "", "x", "g"), call(1, "read_email", "", "h")
	missing := call(1, "read_email", traj.ErrNoSuchMail)
	right := traj.Verdict{Correct: true, SourcesCorrect: true}
	six := unanswerable(play(traj.Abstained, 2, traj.Verdict{Correct: true, Abstained: true, SourcesCorrect: true}, nil, search))
	six.EnvOptions.MaxTurns = 6
	cut := play(traj.BadCall, 1, traj.Verdict{}, nil)
	cut.Turns[0].FinishReason = chat.FinishLength
	for _, tt := range []struct {
		name string
		row  *traj.Scored
		want float64
	}{
		{"row 1 with nothing but good ids", play(traj.BadCall, 1, traj.Verdict{}, nil, call(0, "", traj.ErrUnparsable)), -1.9},
		{"row 1 after finding and reading", play(traj.BadCall, 3, traj.Verdict{}, nil, search, read, call(2, "", traj.ErrUnparsable)), -1.7},
		{"row 1, an unrecorded cut turn", cut, -1.9},
		{"row 2", play(traj.BadCall, 1, traj.Verdict{}, nil, call(0, "grep", traj.ErrUnknownTool)), -1.8},
		{"row 3, bad arguments", play(traj.BadCall, 1, traj.Verdict{}, nil, call(0, "search_emails", traj.ErrBadArgs)), -1.7},
		{"row 3, prose", play(traj.BadCall, 1, traj.Verdict{}, nil, call(0, "", traj.ErrNoCall)), -1.7},
		{"row 3, a mail asked for that does not exist before", play(traj.BadCall, 3, traj.Verdict{}, nil, missing, call(2, "", traj.ErrNoCall)), -1.8},
		{"row 4, all of p", play(traj.Answered, 3, traj.Verdict{Hallucinated: true, SourcesCorrect: true}, []string{"g"}, search, read), -.6},
		{"row 4, nothing of p", play(traj.Answered, 3, traj.Verdict{Hallucinated: true}, nil, missing), -1},
		{"row 5, knew where but not what", play(traj.Abstained, 3, traj.Verdict{Abstained: true}, nil, search, read), .3},
		{"row 5, with the source too", play(traj.Abstained, 3, traj.Verdict{Abstained: true, SourcesCorrect: true}, []string{"g"}, search, read), .4},
		{"row 5, out of turns", play(traj.MaxTurns, 10, traj.Verdict{}, nil, search), .2},
		{"row 5, out of context", play(traj.Length, 4, traj.Verdict{}, nil, search, call(3, "", traj.ErrUnparsable)), .2},
		{"row 6, one right source, 3 turns", play(traj.Answered, 3, right, []string{"g"}, search, read), 1.47},
		{"row 6, two sources, one wrong", play(traj.Answered, 3, traj.Verdict{Correct: true}, []string{"g", "x"}, search, read), 1.12},
		{"row 6 without sources", play(traj.Answered, 10, traj.Verdict{Correct: true}, nil), 1},
		{"told of a bad call and got over it", play(traj.Answered, 3, right, []string{"g"}, call(0, "", traj.ErrUnparsable), search), 1.47},
		{"told of a bad call to the end", play(traj.MaxTurns, 2, traj.Verdict{}, nil, search, call(1, "grep", traj.ErrUnknownTool)), -1.7},
		{"told of a bad call, then out of turns", play(traj.MaxTurns, 3, traj.Verdict{}, nil, call(0, "grep", traj.ErrUnknownTool), search), .2},
		{"unanswerable, abstained after 2 of 6 turns", six, 1 + .3 + .1*(1-2./6)},
		{"unanswerable, answered: gold terms are 0", unanswerable(play(traj.Answered, 2, traj.Verdict{Hallucinated: true}, []string{"g"}, search, read)), -.9},
		{"unanswerable, out of turns", unanswerable(play(traj.MaxTurns, 10, traj.Verdict{}, nil, search)), .1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := Builtin(Default)
			if err != nil {
				t.Fatal(err)
			}
			set.Score(tt.row)
			if got := *tt.row.Reward; math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("reward %v, want %v; terms %v", got, tt.want, tt.row.RewardTerms)
			}
			sum := 0.0
			for name, x := range tt.row.RewardTerms {
				if x == 0 && math.Signbit(x) {
					t.Errorf("%s is written as -0", name)
				}
				sum += x
			}
			if math.Abs(sum-*tt.row.Reward) > 1e-12 || len(tt.row.RewardTerms) != 14 {
				t.Errorf("%d terms add up to %v, want 14 that give %v", len(tt.row.RewardTerms), sum, *tt.row.Reward)
			}
		})
	}
}

func TestNoVerdictIsNotZero(t *testing.T) {
	set, err := Builtin("binary")
	if err != nil {
		t.Fatal(err)
	}
	unjudged := play(traj.Answered, 2, traj.Verdict{}, nil)
	unjudged.Verdict = nil
	for name, row := range map[string]*traj.Scored{
		"no verdict": unjudged,
		"failed":     play(traj.Failed, 0, traj.Verdict{}, nil),
	} {
		if set.Score(row); row.Reward != nil || row.RewardTerms != nil {
			t.Errorf("%s: reward %v, terms %v: want none", name, row.Reward, row.RewardTerms)
		}
	}
}

// Rewards that are equal on paper are equal in bits.
func TestEqualRewardsAreEqual(t *testing.T) {
	set, err := Load("sum.yaml", strings.NewReader("terms: {found: 0.1, read: 0.2, ids: 0.3}"))
	if err != nil {
		t.Fatal(err)
	}
	both := play(traj.Answered, 2, traj.Verdict{}, nil, call(0, "search_emails", "", "g"), call(1, "read_email", "", "g"), call(1, "read_email", traj.ErrNoSuchMail))
	ids := play(traj.Answered, 2, traj.Verdict{}, nil)
	set.Score(both)
	set.Score(ids)
	if *both.Reward != *ids.Reward {
		t.Errorf("%v and %v, want equal", *both.Reward, *ids.Reward)
	}
}

func TestBinary(t *testing.T) {
	set, err := Builtin("binary")
	if err != nil {
		t.Fatal(err)
	}
	for _, correct := range []bool{false, true} {
		row := play(traj.Answered, 2, traj.Verdict{Correct: correct}, nil)
		if set.Score(row); *row.Reward != one(correct) {
			t.Errorf("correct %v: reward %v", correct, *row.Reward)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{"an unknown term", "terms: {corect: 1}", `reward f.yaml:1: terms: "corect": want one of unparsable, `},
		{"an unknown field", "about: x\nweights: {correct: 1}", `reward f.yaml:2: field "weights": want name, about or terms`},
		{"no terms", "name: x", "reward f.yaml:1: terms: want at least one of"},
		{"empty terms", "terms: {}", "reward f.yaml:1: terms: want at least one of"},
		{"terms are a list", "terms: [correct]", "reward f.yaml:1: terms: want names with values"},
		{"a weight in words", "terms:\n  correct: much", "reward f.yaml:2: terms: correct: much: want a number, at most 10000 above or below 0"},
		{"a weight is missing", "terms:\n  correct:\n  wrong: -1", "reward f.yaml:2: terms: correct: nothing: want a number"},
		{"a term twice", "terms:\n  correct: 1\n  correct: 2", `reward f.yaml:3: terms: "correct" stands twice`},
		{"not a number", "terms: {correct: .nan}", "correct: .nan: want a number, at most 10000 above or below 0"},
		{"a number without bounds", "terms: {correct: 1e300}", "correct: 1e300: want a number, at most 10000 above or below 0"},
		{"no YAML", "terms: {correct: 1", "reward f.yaml:1: not valid YAML: "},
		{"a list", "- 1", "reward f.yaml:1: want names with values"},
		{"nothing", "", "reward f.yaml: the file is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load("f.yaml", strings.NewReader(tt.yaml))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, tt.want)
			}
		})
	}
	if _, err := Builtin("arte"); err == nil || !strings.Contains(err.Error(), "art-e, binary, grounded") {
		t.Errorf("error %v, want one that lists the rewards", err)
	}
}

func TestEveryTermStaysInRange(t *testing.T) {
	rows := []*traj.Scored{
		play(traj.BadCall, 0, traj.Verdict{}, nil),
		play(traj.Answered, 12, traj.Verdict{Correct: true, SourcesCorrect: true}, []string{"g", "h"}),
		play(traj.MaxTurns, 10, traj.Verdict{}, nil, call(9, "read_email", "", "g")),
	}
	for _, term := range Catalogue() {
		for _, row := range rows {
			if x := term.value(view(row)); x < 0 || x > 1 || math.IsNaN(x) {
				t.Errorf("%s of %s attempt: %v, want 0 to 1", term.Name, row.Stop, x)
			}
		}
		if term.About == "" {
			t.Errorf("%s: no description", term.Name)
		}
	}
	if len(Builtins()) != 3 {
		t.Errorf("%d rewards load, want 3", len(Builtins()))
	}
}

// TestExtrasNeverOutweighCorrectness invents attempts and switches each extra
// off alone: a correct attempt always earns more than any other.
func TestExtrasNeverOutweighCorrectness(t *testing.T) {
	full, err := Builtin(Default)
	if err != nil {
		t.Fatal(err)
	}
	grounded, err := Builtin("grounded")
	if err != nil {
		t.Fatal(err)
	}
	sets := []*Set{full, grounded}
	for _, e := range Extras() {
		s, err := full.Without(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i, set := range sets {
		worst, best := math.Inf(1), math.Inf(-1)
		for range 2000 {
			row := invent(r)
			set.Score(row)
			if OutcomeOf(row) == Correct {
				worst = min(worst, *row.Reward)
			} else {
				best = max(best, *row.Reward)
			}
		}
		if !(worst > best) {
			t.Errorf("set %d: a correct attempt earns %v, one that is not %v", i, worst, best)
		}
	}
}

func TestWithoutSwitchesOffAlone(t *testing.T) {
	full, err := Builtin(Default)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, e := range Extras() {
		set, err := full.Without(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		moved := false
		for range 400 {
			row := invent(r)
			full.Score(row)
			before := row.RewardTerms
			set.Score(row)
			for name, x := range row.RewardTerms {
				switch off := slices.Contains(e.Terms, name); {
				case off && x != 0:
					t.Errorf("without %s: %s still gives %v", e.Name, name, x)
				case off:
					moved = moved || before[name] != 0
				case x != before[name]:
					t.Errorf("without %s: %s is %v, was %v", e.Name, name, x, before[name])
				}
			}
		}
		if !moved {
			t.Errorf("without %s: nothing changed", e.Name)
		}
	}
	if _, err := full.Without("luck"); err == nil || !strings.Contains(err.Error(), "found, read, ids, ") {
		t.Errorf("error %v, want one that lists the extras", err)
	}
}

// invent makes a judged attempt of any kind.
func invent(r *rand.Rand) *traj.Scored {
	stops := []traj.StopReason{traj.Answered, traj.Answered, traj.Answered, traj.Abstained, traj.MaxTurns, traj.Length, traj.BadCall}
	stop := stops[r.IntN(len(stops))]
	var v traj.Verdict
	if stop == traj.Answered || stop == traj.Abstained {
		v.Correct = r.IntN(2) == 0
		v.Abstained = stop == traj.Abstained
		v.SourcesCorrect = r.IntN(2) == 0
	}
	var calls []traj.Call
	for i := range r.IntN(4) {
		tools := []string{"search_emails", "read_email", "guess"}
		faults := []string{"", "", traj.ErrNoSuchMail, traj.ErrUnparsable, traj.ErrUnknownTool, traj.ErrBadArgs}
		calls = append(calls, call(i, tools[r.IntN(3)], faults[r.IntN(len(faults))], "g"))
	}
	row := play(stop, 1+r.IntN(10), v, []string{"g", "h", "i"}[:r.IntN(4)], calls...)
	if r.IntN(4) == 0 {
		row = unanswerable(row)
	}
	return row
}

// reads is an attempt that searched, read one mail, and answers.
func reads(mail, answer string) *traj.Scored {
	row := play(traj.Answered, 3, traj.Verdict{Correct: true}, []string{"g"}, call(0, "search_emails", "", "g", "h"), call(1, "read_email", "", "g"))
	row.Question.Question = "What does the pump cost?"
	row.Answer.Text = answer
	for _, m := range []struct {
		role chat.Role
		text string
	}{
		{chat.System, "$7,000 is in the rules"},
		{chat.User, "What does the pump cost?"},
		{chat.Assistant, "search pump"},
		{chat.User, "hit: pump for $8,000 …"},
		{chat.Assistant, "read g"},
		{chat.User, mail},
		{chat.Assistant, "answer " + answer},
	} {
		row.Messages = append(row.Messages, chat.Message{Role: m.role, Content: m.text})
	}
	return row
}

func TestSupported(t *testing.T) {
	set, err := Load("s.yaml", strings.NewReader("terms: {supported: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	abstains := reads("nothing", "I don't know")
	abstains.Verdict.Abstained = true
	unread := reads("$1,200 for the pump", "$1,200")
	unread.Calls = unread.Calls[:1]
	heardYes, heardNo, heardNothing := reads("x", "$9"), reads("$9", "$9"), reads("$9", "$9")
	heardYes.Extra = map[string]json.RawMessage{SupportField: []byte(`{"judge":"m","claims":[{"claim":"$9","supported":true}]}`)}
	heardNo.Extra = map[string]json.RawMessage{SupportField: []byte(`{"judge":"m","claims":[{"claim":"$9","supported":true},{"claim":"x","supported":false}]}`)}
	heardNothing.Extra = map[string]json.RawMessage{SupportField: []byte(`{"judge":"m","claims":null}`)}
	for _, tt := range []struct {
		name string
		row  *traj.Scored
		want float64 // NaN: no reward
	}{
		{"stands in the mail", reads("$1,200 for the pump", "1.2K"), 1},
		{"stands only in a hit", reads("no price here", "$8,000"), 0},
		{"stands only in the rules", reads("no price here", "$7,000"), 0},
		{"stands nowhere", reads("$1,200 for the pump", "$1,300"), 0},
		{"one of two", reads("$1,200 for the pump", "$1,200 or $1,300"), 0},
		{"read nothing", unread, 0},
		{"does not know", abstains, 1},
		{"out of turns", play(traj.MaxTurns, 10, traj.Verdict{}, nil), 0},
		{"a model says so", heardYes, 1},
		{"a model says no", heardNo, 0},
		{"a model could not say", heardNothing, math.NaN()},
	} {
		set.Score(tt.row)
		switch {
		case math.IsNaN(tt.want) != (tt.row.Reward == nil):
			t.Errorf("%s: reward %v, want %v", tt.name, tt.row.Reward, tt.want)
		case tt.row.Reward != nil && *tt.row.Reward != tt.want:
			t.Errorf("%s: reward %v, want %v", tt.name, *tt.row.Reward, tt.want)
		}
	}
}
