package stats

import (
	"cmp"
	"math"
	"slices"

	"agentmill/internal/seed"
)

// McNemar returns the exact two-sided p-value of won against lost: among pairs
// that differ, either direction is a fair coin under the null hypothesis. It is
// the sign test of 0/1 outcomes.
func McNemar(won, lost int) float64 {
	return min(1, 2*binomialTail(min(won, lost), won+lost))
}

// TwoProportions returns the two-sided p-value of the pooled z test of k1 of n1
// against k2 of n2, independent samples.
func TwoProportions(k1, n1, k2, n2 int) float64 {
	if n1 == 0 || n2 == 0 {
		return 1
	}
	a, b := float64(n1), float64(n2)
	pooled := float64(k1+k2) / (a + b)
	se := math.Sqrt(pooled * (1 - pooled) * (1/a + 1/b))
	if se == 0 {
		return 1
	}
	return NormalTail((float64(k1)/a - float64(k2)/b) / se)
}

// PairedT returns the two-sided p-value of the mean of differences against 0.
func PairedT(differences []float64) float64 {
	m := MeanOf(Sample{Values: differences})
	if m.N < 2 {
		return 1
	}
	se := math.Sqrt(clusterVariance(Sample{Values: differences}.clusters(), m))
	if se == 0 {
		if m.Mean == 0 {
			return 1
		}
		return 0
	}
	return StudentTail(m.Mean/se, m.N-1)
}

const (
	exactPairs  = 16    // up to 2^16 sign patterns are counted, not sampled
	flipRounds  = 99999 // otherwise; the smallest p-value is 1/100000
	sameWithin  = 1e-12 // sums this close are a tie, whatever the order of adding
	rankTiesEps = 1e-12
)

// SignFlip returns the two-sided p-value of a paired permutation test: under
// the null hypothesis the sign of each difference is a fair coin. Give it one
// difference (a mean or a sum) a cluster. Small samples are counted exactly,
// others drawn with the seed, and the observed pattern counts as one draw.
func SignFlip(differences []float64, run uint64) float64 {
	d := nonZero(differences)
	if len(d) == 0 {
		return 1
	}
	observed := math.Abs(sum(d))
	if len(d) <= exactPairs {
		return exactFlip(d, observed)
	}
	draw := seed.Stream(run, "sign flip", len(d))
	extreme := 1
	for range flipRounds {
		if math.Abs(flippedSum(d, draw.Uint64)) >= observed-sameWithin {
			extreme++
		}
	}
	return float64(extreme) / (flipRounds + 1)
}

func exactFlip(d []float64, observed float64) float64 {
	extreme := 0
	for pattern := range 1 << len(d) {
		total := 0.0
		for i, v := range d {
			if pattern>>i&1 == 1 {
				v = -v
			}
			total += v
		}
		if math.Abs(total) >= observed-sameWithin {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(d))
}

// flippedSum uses each random word for 64 signs.
func flippedSum(d []float64, word func() uint64) float64 {
	total, bits := 0.0, uint64(0)
	for i, v := range d {
		if i%64 == 0 {
			bits = word()
		}
		if bits&1 == 1 {
			v = -v
		}
		bits >>= 1
		total += v
	}
	return total
}

func nonZero(values []float64) []float64 {
	var out []float64
	for _, v := range values {
		if v != 0 {
			out = append(out, v)
		}
	}
	return out
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// Wilcoxon returns the two-sided p-value of the signed-rank test by the normal
// approximation with ties and continuity corrected. Zero differences are left
// out. It is meant for 10 pairs or more; SignFlip is exact below.
func Wilcoxon(differences []float64) float64 {
	d := nonZero(differences)
	if len(d) == 0 {
		return 1
	}
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	n := float64(len(d))
	plus, ties := rankSum(d)
	mean := n * (n + 1) / 4
	sd := math.Sqrt(n*(n+1)*(2*n+1)/24 - ties/48)
	if sd == 0 {
		return 1
	}
	return NormalTail(max(0, math.Abs(plus-mean)-0.5) / sd)
}

// rankSum returns the sum of the ranks of positive differences, ranks shared
// among equals, and the sum of t³-t over groups of t equals.
func rankSum(d []float64) (plus, ties float64) {
	for i := 0; i < len(d); {
		j := i
		for j < len(d) && math.Abs(d[j])-math.Abs(d[i]) <= rankTiesEps {
			j++
		}
		rank, t := float64(i+j+1)/2, float64(j-i)
		for _, v := range d[i:j] {
			if v > 0 {
				plus += rank
			}
		}
		ties += t*t*t - t
		i = j
	}
	return plus, ties
}
