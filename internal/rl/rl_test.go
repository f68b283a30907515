package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/numtest"
)

func TestEstimators(t *testing.T) {
	third := 1.0 / 3
	for _, tt := range []struct {
		name          string
		rewards, want []float64
	}{
		{"grpo", []float64{1, 0, 0, 0}, []float64{1.7320468, -0.5773489, -0.5773489, -0.5773489}},
		{"grpo-sample", []float64{1, 0, 0, 0}, []float64{1.499997, -0.499999, -0.499999, -0.499999}},
		{"drgrpo", []float64{1, 0, 0, 0}, []float64{0.75, -0.25, -0.25, -0.25}},
		{"rloo", []float64{1, 0, 0, 0}, []float64{1, -third, -third, -third}},
		{"maxrl", []float64{1, 0, 0, 0}, []float64{3, -1, -1, -1}},
		{"maxrl", []float64{0, 0, -1, 1}, []float64{0, 0, 0, 0}},
		{"rloo", []float64{1.4, -0.8}, []float64{2.2, -2.2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			estimate, err := NewEstimator(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			numtest.Close(t, tt.name, estimate(tt.rewards), tt.want, numtest.Tol{Abs: 1e-6})
		})
	}
	if _, err := NewEstimator("grp"); err == nil || err.Error() != `"grp": want one of grpo, grpo-sample, drgrpo, rloo, maxrl, reinforce++` {
		t.Errorf("unknown name: got %v", err)
	}
}

// TestEstimatorProperties holds for every estimator: same length, finite, and
// permuting rewards permutes advantages.
func TestEstimatorProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range EstimatorNames() {
		estimate, _ := NewEstimator(name)
		for range 50 {
			rewards := make([]float64, 2+rng.IntN(7))
			for i := range rewards {
				rewards[i] = rng.Float64()*4 - 2
			}
			perm := rng.Perm(len(rewards))
			shuffled, want := make([]float64, len(rewards)), make([]float64, len(rewards))
			a := estimate(rewards)
			for i, p := range perm {
				shuffled[i], want[i] = rewards[p], a[p]
			}
			numtest.Close(t, name, estimate(shuffled), want, numtest.Tol{Abs: 1e-9, Rel: 1e-9})
		}
	}
}

func row(group string, attempt int, reward float64) Row {
	return Row{ID: fmt.Sprintf("%s%d", group, attempt), Group: group, Attempt: attempt, Reward: &reward}
}

func TestCredit(t *testing.T) {
	failed := Row{ID: "f", Group: "a", Attempt: 9}
	for _, tt := range []struct {
		name string
		rows []Row
		want []float64
		ok   []bool
		rep  Report
	}{
		{
			"by id, not by position",
			[]Row{row("a", 0, 1), row("b", 0, 0), row("a", 1, 0), row("b", 1, 2)},
			[]float64{1, -2, -1, 2},
			[]bool{true, true, true, true},
			Report{Groups: 2},
		},
		{"a singleton has no signal", []Row{row("a", 0, 1.4), failed, failed}, []float64{0, 0, 0}, []bool{false, false, false}, Report{Singletons: 1, NoReward: 2}},
		{"all equal: no signal", []Row{row("a", 0, 1), row("a", 1, 1)}, []float64{0, 0}, []bool{false, false}, Report{Flat: 1}},
		{"rounding is no signal", []Row{row("a", 0, math.Float64frombits(0x3fd3333333333334)), row("a", 1, .3)}, []float64{0, 0}, []bool{false, false}, Report{Flat: 1}},
		{
			"NaN leaves alone, is named",
			[]Row{row("a", 0, 1), row("a", 1, math.NaN()), row("a", 2, 0), row("b", 0, math.Inf(-1))},
			[]float64{1, 0, -1, 0},
			[]bool{true, false, true, false},
			Report{Groups: 1, NotFinite: []string{"b0", "a1"}},
		},
		{
			"parts count once",
			[]Row{row("a", 0, 1), row("a", 0, 1), row("a", 1, 0), row("a", 0, 1)},
			[]float64{1, 1, -1, 1},
			[]bool{true, true, true, true},
			Report{Groups: 1},
		},
		{"a row at the mean leaves", []Row{row("a", 0, 1), row("a", 1, 0), row("a", 2, .5)}, []float64{.75, -.75, 0}, []bool{true, true, false}, Report{Groups: 1}},
		{"nothing", nil, []float64{}, []bool{}, Report{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			credits, rep := Crediting{Advantage: "rloo"}.Credit(tt.rows)
			a, ok := make([]float64, len(credits)), make([]bool, len(credits))
			for i, c := range credits {
				a[i], ok[i] = c.Advantage, c.OK
			}
			numtest.Close(t, "advantages", a, tt.want, numtest.Tol{Abs: 1e-12})
			if diff := cmp.Diff(tt.ok, ok); diff != "" {
				t.Errorf("in the batch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.rep, rep); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrift(t *testing.T) {
	var d Drift
	if d.Mean() != 0 {
		t.Errorf("no tokens: mean %v", d.Mean())
	}
	d.Add(-1, -1.2)
	d.Add(-2, -1)
	numtest.Close(t, "mean and max", []float64{d.Mean(), d.Max}, []float64{.6, 1}, numtest.Tol{Abs: 1e-12})
}

func TestPack(t *testing.T) {
	for _, tt := range []struct {
		name    string
		lengths []int
		shared  []int
		want    [][]int
	}{
		{"none", nil, nil, nil},
		{"fits exactly", []int{4, 6, 1}, []int{0, 0, 0}, [][]int{{0, 1}, {2}}},
		{"too long for any", []int{3, 11, 3, 3}, []int{0, 0, 0, 0}, [][]int{{0}, {1}, {2, 3}}},
		{"shared tokens count once a batch", []int{6, 8, 7, 9, 11}, []int{0, 5, 6, 3, 9}, [][]int{{0, 1, 2}, {3}, {4}}},
	} {
		if diff := cmp.Diff(tt.want, Pack(tt.lengths, tt.shared, 10)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if !strings.Contains(fmt.Sprint(Pack([]int{1, 1}, []int{0, 0}, 0)), "[0] [1]") {
		t.Error("a limit of 0 must still place every row")
	}
}
