package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentmill/internal/dataset"
	"agentmill/internal/traj"
)

// stepFile writes a step of 40 rows in groups of two that change makes odd.
func stepFile(t *testing.T, dir, name string, reward float64, change func(i int, r *traj.Scored)) string {
	t.Helper()
	path := filepath.Join(dir, name)
	out, err := dataset.Create[traj.Scored](path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	for i := range 40 {
		q := asked
		q.ID, q.Question, q.Answer = fmt.Sprint("q", i/2), fmt.Sprintf("When is audit %d?", i/2), fmt.Sprintf("May %d", 1+i/2)
		r := &traj.Scored{Trajectory: *row(q, traj.Answered, fmt.Sprintf("May %d, it says (%d)", 1+i/2, i%2), "<a@x>")}
		r.ID, r.Group = fmt.Sprintf("%s-%d", name, i), q.ID
		r.Verdict, r.Reward = &traj.Verdict{Correct: true}, &reward
		if change != nil {
			change(i, r)
		}
		if err := out.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

func alarmsOf(t *testing.T, cfg MonitorConfig) []string {
	t.Helper()
	alarms, _, err := Monitor(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range alarms {
		if len(a.Examples) == 0 || a.Text == "" || a.Step == "" {
			t.Errorf("%s has no examples, text or step: %+v", a.Name, a)
		}
		names = append(names, a.Name)
	}
	return names
}

// Each habit sounds its own alarm, and ordinary play none.
func TestMonitorSounds(t *testing.T) {
	search := func(n int) (calls []traj.Call) {
		for i := range n {
			calls = append(calls, traj.Call{Turn: i, Tool: "search_emails", Arguments: fmt.Appendf(nil, `{"keywords":["w%d"]}`, i), IDs: []string{"<a@x>"}})
		}
		return calls
	}
	for _, tt := range []struct {
		want   string
		change func(i int, r *traj.Scored)
	}{
		{"", nil},
		{"repeated_calls", func(i int, r *traj.Scored) {
			if i%5 == 0 {
				r.Calls = append(r.Calls, r.Calls[0], r.Calls[0])
			}
		}},
		{"turn_padding", func(i int, r *traj.Scored) {
			if i%3 == 0 {
				r.Calls = search(4)
			}
		}},
		{"judge_words", func(i int, r *traj.Scored) {
			if i%10 == 0 {
				r.Answer.Text = "May, which matches the reference answer"
			}
		}},
		{"dont_know", func(i int, r *traj.Scored) {
			if i%4 != 0 {
				r.Answer.Text, r.Verdict.Correct, r.Verdict.Abstained = fmt.Sprintf("I don't know %d", i), false, true
			}
		}},
		{"sources_stuffed", func(i int, r *traj.Scored) {
			if i%5 == 0 {
				r.Answer.Sources = []string{"<a@x>", "<b@x>", "<c@x>", "<d@x>", "<e@x>"}
			}
		}},
		{"hedged", func(i int, r *traj.Scored) {
			if i%5 == 0 {
				r.Flags = []string{FlagHedged}
			}
		}},
		{"constant_answer", func(i int, r *traj.Scored) {
			if i%4 == 0 {
				r.Answer.Text = "Monday"
			}
		}},
		{"", func(i int, r *traj.Scored) { // a slip made at six questions, among forty answers
			r.Answer.Text = fmt.Sprintf("May %d, it says (%d)", 1+i/2, i%2)
			if i%2 == 0 && i < 6 {
				r.Answer.Text = "Monday"
			}
		}},
		{"repeated_words", func(i int, r *traj.Scored) {
			if i%5 == 0 {
				r.Answer.Text = fmt.Sprintf("May %d", i) + strings.Repeat(" all", 7)
			}
		}},
		{"diversity_lost", func(i int, r *traj.Scored) { r.Answer.Text = fmt.Sprint("May ", 1+i/2) }},
	} {
		dir := t.TempDir()
		file := stepFile(t, dir, "s1.jsonl", 1, tt.change)
		got := alarmsOf(t, MonitorConfig{In: dataset.Source{Paths: []string{file}}})
		if strings.Join(got, " ") != tt.want {
			t.Errorf("alarms %v, want %q", got, tt.want)
		}
	}
}

func TestMonitorWatchesTheRun(t *testing.T) {
	dir := t.TempDir()
	series := func(name string, rewards []float64, correct []int, words []int) (files []string) {
		for k, reward := range rewards {
			files = append(files, stepFile(t, dir, fmt.Sprintf("%s-%02d.jsonl", name, k), reward, func(i int, r *traj.Scored) {
				r.Verdict.Correct = correct == nil || i < correct[k]
				if words != nil {
					r.Answer.Text += strings.Repeat(" and so on", words[k])
				}
			}))
		}
		return files
	}
	rising := []float64{.1, .2, .3, .4, .5, .6, .7, .8}
	for _, tt := range []struct {
		name string
		cfg  MonitorConfig
		want string
	}{
		{"steady", MonitorConfig{In: dataset.Source{Paths: series("a", rising, nil, nil)}}, ""},
		{"a jump", MonitorConfig{In: dataset.Source{Paths: series("b", []float64{.1, .12, .11, .13, .8, .81, .8}, nil, nil)}}, "reward_jump"},
		{"longer", MonitorConfig{In: dataset.Source{Paths: series("c", []float64{.1, .2, .3}, nil, []int{0, 2, 4})}}, "length_drift"},
		{"validation falls", MonitorConfig{
			In: dataset.Source{Paths: series("d", rising, nil, nil)}, Validation: series("v", rising, []int{30, 30, 29, 29, 25, 22, 20, 19}, nil),
		}, "validation_falls"},
		{"validation rises", MonitorConfig{
			In: dataset.Source{Paths: series("e", rising, nil, nil)}, Validation: series("w", rising, []int{20, 21, 22, 24, 25, 26, 28, 29}, nil),
		}, ""},
		{"a second judge disagrees", MonitorConfig{
			In: dataset.Source{Paths: series("f", rising, nil, nil)}, Second: series("x", rising, []int{30, 30, 29, 29, 25, 22, 20, 19}, nil),
		}, "second_judge_falls"},
	} {
		if got := alarmsOf(t, tt.cfg); strings.Join(got, " ") != tt.want {
			t.Errorf("%s: alarms %v, want %q", tt.name, got, tt.want)
		}
	}
}

// A step that nobody could judge has no reward, which is not one of 0; and an
// alarm about wrong answers shows wrong ones.
func TestMonitorShowsWhatItMeans(t *testing.T) {
	dir := t.TempDir()
	var steps, validation []string
	for k := range 8 {
		steps = append(steps, stepFile(t, dir, fmt.Sprintf("s%d.jsonl", k), .5+float64(k)/20, func(_ int, r *traj.Scored) {
			if k == 4 {
				r.Reward = nil
			}
		}))
		validation = append(validation, stepFile(t, dir, fmt.Sprintf("v%d.jsonl", k), 1, func(i int, r *traj.Scored) { r.Verdict.Correct = i < 38-k }))
	}
	alarms, _, err := Monitor(t.Context(), MonitorConfig{In: dataset.Source{Paths: steps}, Validation: validation})
	if err != nil || len(alarms) != 1 || alarms[0].Name != "validation_falls" {
		t.Fatalf("%+v, %v; want validation_falls alone", alarms, err)
	}
	if id := alarms[0].Examples[0].ID; id != "v7.jsonl-31" {
		t.Errorf("example %s, want the first that is wrong: v7.jsonl-31", id)
	}
}

func TestMonitorNeedsRows(t *testing.T) {
	_, _, err := Monitor(t.Context(), MonitorConfig{In: dataset.Source{Stdin: strings.NewReader("")}})
	if err == nil {
		t.Error("no error for an empty input")
	}
}

func TestCalibrate(t *testing.T) {
	labels := `{"id":"1","source":"A","question":"When?","gold_answers":["March 14"],"candidate":"3/14","human_correct":true}
{"id":"2","source":"A","question":"When?","gold_answers":["March 14"],"candidate":"3/15","human_correct":false}
{"id":"3","source":"B","question":"Who?","gold_answers":["Ashby"],"candidate":"Heyward","human_correct":true}
{"id":"4","source":"B","question":"Who?","gold_answers":["Ashby"],"candidate":"Ashby","human_correct":false}
{"id":"5","source":"B","question":"Where?","gold_answers":["Boise"],"candidate":"Boise","human_correct":null}
{"id":"6","source":"B","question":"Where?","gold_answers":["Boise"],"candidate":"Boise","human_correct":true,"question_flagged_improper":true}
`
	path := filepath.Join(t.TempDir(), "labels.jsonl")
	if err := os.WriteFile(path, []byte(labels), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, leftOut, err := ReadLabels(path)
	if err != nil || leftOut != 2 {
		t.Fatalf("%v, %d left out, want 2", err, leftOut)
	}
	c, err := Calibrate(t.Context(), Match{Rule: "values"}, rows, Times{Again: 2, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c.N != 4 || c.Accuracy != .5 || c.Kappa != 0 || c.Confusion != (Confusion{1, 1, 1, 1}) {
		t.Errorf("%+v", c.Agreement)
	}
	names := []string{c.Sources[0].Source, c.Sources[1].Source}
	if !slices.Equal(names, []string{"A", "B"}) || c.Sources[0].Accuracy != 1 || c.Sources[1].Accuracy != 0 {
		t.Errorf("sources %+v", c.Sources)
	}
	if c.Again == nil || c.Again.Agreement != 1 || c.Again.Rows != 4 {
		t.Errorf("again %+v", c.Again)
	}
	if s := c.String(); !strings.Contains(s, "all") || !strings.Contains(s, "0.500") {
		t.Errorf("table:\n%s", s)
	}
}

// A judge that changes its mind, and one that cannot say.
func TestCalibrateAgain(t *testing.T) {
	no := false
	labels := []Label{{ID: "1", Question: "a", Golds: []string{"x"}, Candidate: "y", Correct: &no}, {ID: "2", Question: "b", Golds: []string{"x"}, Candidate: "z", Correct: &no}}
	s := serve(t, func(n int, s said) (string, string) {
		if strings.Contains(s.User, `"z"`) {
			return "?", "stop"
		}
		return verdictOf([]string{voteWrong, voteRight, voteWrong}[n%3]), "stop"
	})
	c, err := Calibrate(t.Context(), s.judge(t, 1), labels, Times{Again: 3, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c.N != 1 || c.NoVerdict != 1 || c.Again.Rows != 1 || c.Again.Agreement < .33 || c.Again.Agreement > .34 {
		t.Errorf("n %d, no verdict %d, again %+v; want 1, 1, and 1 of 3 pairs", c.N, c.NoVerdict, c.Again)
	}
}

func TestReadLabelsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"1","gold_answers":["x"],"human_correct":true}`:                   "labels.jsonl:1: question: missing",
		`{"id":"1","question":"q","human_correct":true}`:                         "labels.jsonl:1: gold_answers: want at least one",
		`{"id":"1","question":"q","gold_answers":["x"],"human_correct":null}`:    "no row with human_correct true or false",
		`{"id":"1","question":"q","gold_answers":["x"],"human_correct":"maybe"}`: "labels.jsonl:1: human_correct: ",
	} {
		path := filepath.Join(t.TempDir(), "labels.jsonl")
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadLabels(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
