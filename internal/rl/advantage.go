// Package rl is the arithmetic of policy gradients: advantages of grouped
// rewards, losses of sampled tokens, packing of rows. It knows no model and
// does no input or output.
//
// Most callers want Credit, which turns the rows of a batch into advantages,
// and Objective, which turns log-probabilities into a loss and its gradient.
//
// L1: attempts are compared within their group, found by id, never by position.
// L2: a group without spread, or of one attempt, has no signal: its advantages
// are exactly 0 and it leaves the batch, counted.
package rl

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// An Estimator maps the rewards of one group to one advantage each. It is
// called for groups of at least two attempts that differ.
type Estimator func(rewards []float64) []float64

// Estimators by name: how the difference to the group's mean is scaled.
var estimators = []struct {
	name     string
	estimate Estimator
}{
	{"grpo", GRPO},
	{"grpo-sample", GRPOSample},
	{"drgrpo", DrGRPO},
	{"rloo", RLOO},
	{"maxrl", MaxRL},
}

// EstimatorNames lists the names that NewEstimator knows.
func EstimatorNames() []string {
	var names []string
	for _, e := range estimators {
		names = append(names, e.name)
	}
	return names
}

// NewEstimator returns the estimator of that name.
func NewEstimator(name string) (Estimator, error) {
	for _, e := range estimators {
		if e.name == name {
			return e.estimate, nil
		}
	}
	return nil, fmt.Errorf("%q: want one of %s", name, strings.Join(EstimatorNames(), ", "))
}

// stdEps keeps the division by a small deviation finite, as published.
const stdEps = 1e-6

// GRPO divides by the population deviation.
func GRPO(rewards []float64) []float64 {
	return scaled(rewards, 1/(deviation(rewards, len(rewards))+stdEps))
}

// GRPOSample divides by the sample deviation, as verl and TRL do.
func GRPOSample(rewards []float64) []float64 {
	return scaled(rewards, 1/(deviation(rewards, len(rewards)-1)+stdEps))
}

// DrGRPO is the difference to the mean alone.
func DrGRPO(rewards []float64) []float64 { return scaled(rewards, 1) }

// RLOO is the difference to the mean of the others: (r − mean)·G/(G−1).
func RLOO(rewards []float64) []float64 { //nolint:revive // the method's name, which only looks like a stutter
	g := float64(len(rewards))
	return scaled(rewards, g/(g-1))
}

// MaxRL divides by the mean, for rewards that are not negative; a group whose
// mean is 0 or less has no signal.
func MaxRL(rewards []float64) []float64 {
	m := mean(rewards)
	if m <= 0 {
		return make([]float64, len(rewards))
	}
	return scaled(rewards, 1/m)
}

func scaled(rewards []float64, factor float64) []float64 {
	m := mean(rewards)
	a := make([]float64, len(rewards))
	for i, r := range rewards {
		a[i] = (r - m) * factor
	}
	return a
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// deviation is the root of the summed squares over n.
func deviation(x []float64, n int) float64 {
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(n))
}

// A Row is what Credit needs of one training row. Rows of the same group and
// attempt are parts of one attempt: it counts once in the group, and all its
// parts share its advantage.
type Row struct {
	ID      string
	Group   string
	Attempt int
	Reward  *float64 // nil: failed, or without a verdict
}

// A Report says what Credit left out.
type Report struct {
	Groups     int // groups that have a signal
	Flat       int // groups whose attempts all have the same reward
	Singletons int // groups of one attempt
	NoReward   int // rows without a reward
	NotFinite  []string
}

// flat is the spread below which rewards count as equal: the rounding of sums
// of terms must not become an advantage.
const flat = 1e-8

// Credit returns the advantage of each row; ok is false for rows that have left
// the batch. The order of rows does not matter.
func Credit(rows []Row, estimate Estimator) (advantage []float64, ok []bool, report Report) {
	advantage, ok = make([]float64, len(rows)), make([]bool, len(rows))
	for _, g := range groups(rows, &report) {
		switch {
		case len(g.attempts) == 1:
			report.Singletons++
			continue
		case deviation(g.rewards, len(g.rewards)) < flat:
			report.Flat++
			continue
		}
		report.Groups++
		for k, a := range estimate(g.rewards) {
			for _, i := range g.parts[k] {
				advantage[i], ok[i] = a, a != 0
			}
		}
	}
	return advantage, ok, report
}

// A group is the attempts at one question: rewards and parts go by attempts.
type group struct {
	attempts []int
	rewards  []float64
	parts    [][]int // indices of rows
}

// groups collects rows in the order of their groups' first appearance, attempts
// by number.
func groups(rows []Row, report *Report) []*group {
	byID := map[string]*group{}
	var list []*group
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rows[a].Attempt - rows[b].Attempt })
	for _, i := range order {
		r := rows[i]
		switch {
		case r.Reward == nil:
			report.NoReward++
			continue
		case math.IsNaN(*r.Reward) || math.IsInf(*r.Reward, 0):
			report.NotFinite = append(report.NotFinite, r.ID)
			continue
		}
		g := byID[r.Group]
		if g == nil {
			g = &group{}
			byID[r.Group] = g
			list = append(list, g)
		}
		g.add(i, r)
	}
	return list
}

func (g *group) add(i int, r Row) {
	last := len(g.attempts) - 1
	if last >= 0 && g.attempts[last] == r.Attempt {
		g.parts[last] = append(g.parts[last], i)
		return
	}
	g.attempts = append(g.attempts, r.Attempt)
	g.rewards = append(g.rewards, *r.Reward)
	g.parts = append(g.parts, []int{i})
}
