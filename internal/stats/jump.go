package stats

import (
	"math"
	"slices"
)

// Jump looks for a step in a series that does not fit its other steps: a change
// from one value to the next that differs from the median change by more than
// four robust standard deviations and by least. at is the index of the value
// behind the largest one. A steady trend is no jump; fewer than six values say
// nothing.
func Jump(series []float64, least float64) (at int, size float64, found bool) {
	const fewest, sigmas, perMAD = 6, 4, 1.4826
	if len(series) < fewest {
		return 0, 0, false
	}
	var changes []float64
	for i := 1; i < len(series); i++ {
		changes = append(changes, series[i]-series[i-1])
	}
	middle := median(changes)
	var away []float64
	for _, c := range changes {
		away = append(away, math.Abs(c-middle))
	}
	limit := max(least, sigmas*perMAD*median(away))
	for i, a := range away {
		if a > limit && a > math.Abs(size) {
			at, size, found = i+1, changes[i]-middle, true
		}
	}
	return at, size, found
}

func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return Percentile(sorted, .5)
}
