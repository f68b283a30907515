package main

import (
	"fmt"
	"slices"

	"agentmill/internal/clock"
)

// A goal is one row of the table: our rate as a multiple of a peer's, or of a
// limit of this machine.
type goal struct {
	name          string
	floor, target float64
	unit          string
}

// against runs ours and theirs in turn, after one of each to warm up, and prints
// a row a goal: both return one rate a goal. What counts is the median of the
// ratios of pairs.
func (b *bench) against(goals []goal, ours, theirs func() ([]float64, error)) error {
	return b.pairs(1, goals, ours, theirs)
}

// pairs is against, with another number of pairs that are not counted.
func (b *bench) pairs(warm int, goals []goal, ours, theirs func() ([]float64, error)) error {
	own, peer := make([][]float64, len(goals)), make([][]float64, len(goals))
	for round := range b.rounds + warm {
		x, err := ours()
		if err != nil {
			return err
		}
		y, err := theirs()
		if err != nil {
			return err
		}
		for i := range goals {
			if round >= warm {
				own[i], peer[i] = append(own[i], x[i]), append(peer[i], y[i])
			}
		}
	}
	for i, g := range goals {
		b.row(g, own[i], peer[i])
	}
	return nil
}

// row prints one row of the table.
func (b *bench) row(g goal, own, peer []float64) {
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = own[i] / peer[i]
	}
	slices.Sort(ratios)
	mid := ratios[len(ratios)/2]
	verdict := "missed"
	switch {
	case mid >= g.target:
		verdict = "target"
	case mid >= g.floor:
		verdict = "floor"
	}
	fmt.Fprintf(b.out, "%-40s %9.1f %9.1f %-9s %5.2f (%.2f to %.2f)  %5.2f %6.2f  %s\n",
		g.name, median(own), median(peer), g.unit, mid, ratios[0], ratios[len(ratios)-1], g.floor, g.target, verdict)
}

// heading prints the names of row's columns.
func (b *bench) heading() {
	fmt.Fprintf(b.out, "%-40s %9s %9s %-9s %-21s %5s %6s  %s\n", "row", "ours", "peer", "", "ratio (range)", "floor", "target", "reached")
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// rate is amount a second of f.
func rate(amount float64, f func()) float64 {
	start := clock.Real().Now()
	f()
	return amount / clock.Since(clock.Real(), start)
}
