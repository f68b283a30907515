package stats

import (
	"math"
	"slices"

	"agentmill/internal/seed"
)

// Wilson returns the score interval of k successes in n trials. n may be
// fractional: an effective number of independent trials. n = 0 says nothing:
// 0 to 1.
func Wilson(k, n float64) Interval {
	if n <= 0 {
		return Interval{0, 1}
	}
	z := NormalQuantile((1 + Level) / 2)
	p := k / n
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{max(0, centre-half), min(1, centre+half)}
}

// A Sample is values with the cluster that each belongs to. Cluster may be nil:
// every value is a cluster of its own.
type Sample struct {
	Values  []float64
	Cluster []string
}

// A Mean is the mean of a sample with its interval.
type Mean struct {
	N        int      `json:"n"`
	Clusters int      `json:"clusters"`
	Mean     float64  `json:"mean"`
	Interval Interval `json:"interval"`
}

// MeanOf returns the mean with Student's interval over clusters. A single
// cluster gives an unbounded interval.
func MeanOf(s Sample) Mean {
	sums := s.clusters()
	m := Mean{N: len(s.Values), Clusters: len(sums), Mean: average(s.Values)}
	half := math.Inf(1)
	if len(sums) > 1 {
		half = StudentQuantile(1-Level, len(sums)-1) * math.Sqrt(clusterVariance(sums, m))
	}
	m.Interval = Interval{m.Mean - half, m.Mean + half}
	return m
}

// ShareOf returns the share of ones in a sample of zeros and ones with a Wilson
// interval whose n is divided by the design effect of the clusters. The effect
// is never taken below 1, and where all values are equal, so that it cannot be
// seen, a cluster counts as one trial.
func ShareOf(s Sample) Mean {
	sums := s.clusters()
	m := Mean{N: len(s.Values), Clusters: len(sums), Mean: average(s.Values)}
	n := float64(m.N)
	if m.Clusters < m.N {
		n = effective(sums, m)
	}
	m.Interval = Wilson(m.Mean*n, n)
	return m
}

func effective(sums []clusterSum, m Mean) float64 {
	binomial := m.Mean * (1 - m.Mean) / float64(m.N)
	if binomial == 0 || len(sums) < 2 {
		return float64(len(sums))
	}
	return float64(m.N) / max(1, clusterVariance(sums, m)/binomial)
}

// Wider returns the interval that covers both.
func Wider(a, b Interval) Interval { return Interval{min(a.Lo, b.Lo), max(a.Hi, b.Hi)} }

type clusterSum struct {
	sum float64
	n   int
}

// clusters returns the clusters' sums in order of first appearance, so that
// rounding does not depend on map order.
func (s Sample) clusters() []clusterSum {
	if s.Cluster == nil {
		out := make([]clusterSum, len(s.Values))
		for i, v := range s.Values {
			out[i] = clusterSum{v, 1}
		}
		return out
	}
	at := map[string]int{}
	var out []clusterSum
	for i, v := range s.Values {
		j, seen := at[s.Cluster[i]]
		if !seen {
			j = len(out)
			at[s.Cluster[i]] = j
			out = append(out, clusterSum{})
		}
		out[j].sum += v
		out[j].n++
	}
	return out
}

// clusterVariance is the variance of the mean (a ratio: total over count) by
// linearisation over clusters, with the factor g/(g-1). With clusters of one it
// is the usual s²/n.
func clusterVariance(sums []clusterSum, m Mean) float64 {
	g, total := float64(len(sums)), 0.0
	for _, c := range sums {
		e := c.sum - m.Mean*float64(c.n)
		total += e * e
	}
	return total * g / (g - 1) / (float64(m.N) * float64(m.N))
}

func average(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Bootstrap returns the percentile interval of a statistic over units 0..n-1
// (clusters, not single values), drawn with replacement rounds times. stat gets
// the drawn units.
func Bootstrap(n, rounds int, run uint64, stat func(units []int) float64) Interval {
	draw := seed.Stream(run, "bootstrap", n, rounds)
	values := make([]float64, rounds)
	units := make([]int, n)
	for r := range values {
		for i := range units {
			units[i] = draw.IntN(n)
		}
		values[r] = stat(units)
	}
	slices.Sort(values)
	return Interval{Percentile(values, (1-Level)/2), Percentile(values, (1+Level)/2)}
}

// Percentile returns the q-quantile of sorted values, interpolated linearly
// between neighbours (R's type 7). It is NaN for no values.
func Percentile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
