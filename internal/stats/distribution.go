package stats

import "math"

// NormalQuantile returns z with P(Z <= z) = p.
func NormalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// NormalTail returns the two-sided p-value of a standard normal statistic.
func NormalTail(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// StudentTail returns the two-sided p-value of Student's t with df degrees of freedom.
func StudentTail(t float64, df int) float64 {
	if df < 1 || math.IsNaN(t) {
		return 1
	}
	v := float64(df)
	return betaRegularised(v/(v+t*t), v/2, 0.5)
}

// StudentQuantile returns t > 0 with two-sided tail alpha: P(|T| > t) = alpha.
func StudentQuantile(alpha float64, df int) float64 {
	lo, hi := 0.0, 1e6
	for range 200 {
		mid := (lo + hi) / 2
		if StudentTail(mid, df) > alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// binomialTail returns P(X <= k) for X ~ Binomial(n, 1/2).
func binomialTail(k, n int) float64 {
	logHalf := float64(n) * math.Log(0.5)
	sum := 0.0
	for i := 0; i <= k; i++ {
		sum += math.Exp(logChoose(n, i) + logHalf)
	}
	return min(1, sum)
}

func logChoose(n, k int) float64 {
	return logGamma(float64(n+1)) - logGamma(float64(k+1)) - logGamma(float64(n-k+1))
}

func logGamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}

// betaRegularised is the regularised incomplete beta function I_x(a, b).
func betaRegularised(x, a, b float64) float64 {
	if x <= 0 || x >= 1 {
		return max(0, min(1, x))
	}
	front := math.Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + a*math.Log(x) + b*math.Log1p(-x))
	if x < (a+1)/(a+b+2) {
		return front * betaFraction(x, a, b) / a
	}
	return 1 - front*betaFraction(1-x, b, a)/b
}

// betaFraction is the continued fraction of I_x(a, b) by Lentz's method. It
// converges in tens of steps on the side that betaRegularised calls it for.
func betaFraction(x, a, b float64) float64 {
	const tiny, enough, steps = 1e-300, 1e-15, 500
	away := func(y float64) float64 {
		if math.Abs(y) < tiny {
			return tiny
		}
		return y
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m <= steps; m++ {
		for _, coef := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / away(1+coef*d)
			c = away(1 + coef/c)
			h *= d * c
		}
		if math.Abs(d*c-1) < enough {
			break
		}
	}
	return h
}
