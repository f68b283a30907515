// Package rl is the arithmetic of policy gradients: advantages of grouped
// rewards, losses of sampled tokens, packing of rows. It knows no model and
// does no input or output.
//
// Most callers want Crediting, which turns the rows of a batch into advantages,
// and Loss, which turns log-probabilities into a loss and its gradient. The
// options of both are independent of each other; those that would undo each
// other are refused by their Check.
//
// L1: attempts are compared within their group, found by id, never by position.
// L2: a group without spread, or of one attempt, has no signal: its advantages
// are exactly 0 and it leaves the batch, counted.
// L3: on policy, and at its defaults, every loss has the gradient of REINFORCE,
// −w·A·∇log π, where w is what the aggregation says and nothing else.
// L4: what is masked (tokens, rows) leaves the numerator and the denominator.
package rl

import (
	"fmt"
	"math"
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
	{ReinforcePP, DrGRPO}, // and then a z-score over the batch
}

// ReinforcePP is REINFORCE++ with the group's mean as baseline: the difference
// to it, and then one z-score over all attempts of the batch.
const ReinforcePP = "reinforce++"

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

// standardise makes x have mean 0 and deviation 1, where it has any.
func standardise(x []float64) {
	m, d := mean(x), deviation(x, len(x))
	if d < flat {
		return
	}
	for i := range x {
		x[i] = (x[i] - m) / (d + stdEps)
	}
}

// deviation is the root of the summed squares over n.
func deviation(x []float64, n int) float64 {
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(n))
}
