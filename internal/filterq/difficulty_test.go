package filterq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/dataset"
	"agentmill/internal/filterq"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// attempts writes scored attempts at questions: ok[i] are those at qs[i].
func attempts(t *testing.T, w world, name string, qs []question.Question, ok ...string) string {
	t.Helper()
	out, err := dataset.Create[traj.Scored](w.path(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	for i, letters := range ok {
		for k, letter := range letters {
			row := traj.Scored{Trajectory: traj.Trajectory{Schema: 1, ID: fmt.Sprintf("%s-%d-%d", name, i, k), Question: qs[i], Attempt: k, Stop: traj.Answered}}
			if letter != '?' {
				row.Verdict = &traj.Verdict{Correct: letter == '+'}
			}
			if err := out.Write(&row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return w.path(name)
}

// TestDifficulty: questions move between pools as attempts come in; only those
// of the training split are chosen.
func TestDifficulty(t *testing.T) {
	w := world{dir: t.TempDir()}
	qs := ofInboxes(6)
	for i := range qs {
		qs[i].Split, qs[i].ID = question.Train, fmt.Sprint("q", i)
	}
	qs[5].Split = question.Test
	w.write(t, "q.jsonl", qs)
	// q0 always right, q1 never, q2 half; q3 was never right and is now; q4 is new.
	early := attempts(t, w, "early.jsonl", qs, "++", "--", "+-", "----", "?", "++++")
	late := attempts(t, w, "late.jsonl", qs, "++", "--", "-+", "++++")
	filter := func(change func(*filterq.Config)) ([]string, filterq.Stats) {
		kept, _, st := w.filter(t, "q.jsonl", func(c *filterq.Config) {
			c.Difficulty = filterq.Difficulty{Scored: []string{early, late}, Recent: 4, High: 1, Order: filterq.InputOrder, Floor: .02, Seed: 1}
			change(c)
		})
		var ids []string
		for _, q := range kept {
			ids = append(ids, q.ID)
		}
		return ids, st
	}
	ids, st := filter(func(c *filterq.Config) { c.Difficulty.Low, c.Difficulty.High = .1, .9 })
	if diff := cmp.Diff([]string{"q2", "q4", "q5"}, ids); diff != "" {
		t.Errorf("in the band (-want +got):\n%s", diff)
	}
	if want := (filterq.Pool{Easy: 2, Normal: 1, Hard: 1, New: 1}); st.Pool != want {
		t.Errorf("pools %+v, want %+v", st.Pool, want)
	}
	// With a longer memory q3 is half right.
	if _, st = filter(func(c *filterq.Config) { c.Difficulty.Recent = 16 }); st.Pool.Normal != 2 || st.Pool.Easy != 1 {
		t.Errorf("with a longer memory: %+v", st.Pool)
	}
	ids, _ = filter(func(c *filterq.Config) { c.Difficulty.Order = filterq.HardFirst })
	if diff := cmp.Diff([]string{"q1", "q2", "q4", "q0", "q3", "q5"}, ids); diff != "" {
		t.Errorf("hard first (-want +got):\n%s", diff)
	}
}

// TestWeightedOrder: over many draws a question comes first as often as its
// weight says; solved ones too, by the floor.
func TestWeightedOrder(t *testing.T) {
	w := world{dir: t.TempDir()}
	qs := ofInboxes(3)
	for i := range qs {
		qs[i].Split, qs[i].ID = question.Train, fmt.Sprint("q", i)
	}
	w.write(t, "q.jsonl", qs)
	scored := attempts(t, w, "s.jsonl", qs, "++++", "++--", "+---") // weights .05, .25, .1875
	first := map[string]int{}
	const draws = 300
	for seed := range uint64(draws) {
		kept, _, _ := w.filter(t, "q.jsonl", func(c *filterq.Config) {
			c.Difficulty = filterq.Difficulty{Scored: []string{scored}, Recent: 8, High: 1, Order: filterq.Weighted, Floor: .05, Seed: seed}
		})
		first[kept[0].ID]++
	}
	for id, weight := range map[string]float64{"q0": .05, "q1": .25, "q2": .1875} {
		want := draws * weight / .4875
		if got := float64(first[id]); got < want*.6 || got > want*1.4 {
			t.Errorf("%s came first %v times of %d, want about %.0f", id, got, draws, want)
		}
	}
}

func TestDifficultyRefusals(t *testing.T) {
	w := world{dir: t.TempDir()}
	qs := ofInboxes(1)
	qs[0].Split = question.Train
	qs[0].ID = "q0"
	w.write(t, "q.jsonl", qs)
	solved := attempts(t, w, "s.jsonl", qs, "+++")
	of := func(d filterq.Difficulty) error {
		_, err := filterq.Run(context.Background(), filterq.Config{In: dataset.Source{Paths: []string{w.path("q.jsonl")}}, Out: w.path("out.jsonl"), Progress: silent(), Hits: 5, Difficulty: d})
		return err
	}
	err := of(filterq.Difficulty{Scored: []string{solved}, Recent: 4, Low: .1, High: .9, Order: filterq.InputOrder, Floor: .02})
	if !errors.Is(err, filterq.ErrNoSignal) || !strings.Contains(err.Error(), "1 are easy, 0 normal, 0 hard, 0 new") {
		t.Errorf("all solved: %v, want a named outcome", err)
	}
	for _, tt := range []struct {
		d    filterq.Difficulty
		want string
	}{
		{filterq.Difficulty{Order: filterq.HardFirst}, "nothing is known of the questions"},
		{filterq.Difficulty{Scored: []string{solved}, Low: .9, High: .1}, "--min-pass 0.9 --max-pass 0.1"},
		{filterq.Difficulty{Scored: []string{solved}, High: 1}, "--recent 0"},
		{filterq.Difficulty{Scored: []string{solved}, High: 1, Recent: 1, Floor: 1}, "--floor 1"},
		{filterq.Difficulty{Scored: []string{solved}, High: 1, Recent: 1, Floor: .1, Order: "x"}, `--order "x"`},
	} {
		c := filterq.Config{Hits: 5, Difficulty: tt.d}
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
