package optim

import (
	"fmt"
	"math"
)

// floor is the share of the learning rate that a decaying schedule ends near.
const floor = 0.1

// A Schedule gives the learning rate of each step.
type Schedule struct {
	Kind   string // constant, linear or cosine
	LR     float64
	Warmup int // steps in which the rate rises evenly to its value
	Total  int // steps in all
}

// Check returns an error that names what is wrong.
func (s Schedule) Check() error {
	switch {
	case s.Kind != "constant" && s.Kind != "linear" && s.Kind != "cosine":
		return fmt.Errorf("schedule %q: want constant, linear or cosine", s.Kind)
	case !(s.LR > 0) || s.LR > 1:
		return fmt.Errorf("learning rate %v: want more than 0 and at most 1", s.LR)
	case s.Warmup < 0:
		return fmt.Errorf("warmup %d: want 0 steps or more", s.Warmup)
	}
	return nil
}

// At is the rate of step, which counts from 1. A decay begins with the first step
// and runs under the warm-up.
func (s Schedule) At(step int) float64 {
	rate := s.LR
	if s.Warmup > 0 {
		rate *= min(1, float64(step)/float64(s.Warmup))
	}
	if s.Total == 0 {
		return rate
	}
	switch gone := float64(step-1) / float64(s.Total); s.Kind {
	case "linear":
		rate *= 1 - (1-floor)*gone
	case "cosine":
		rate *= floor + (1-floor)*(1+math.Cos(math.Pi*gone))/2
	}
	return rate
}
