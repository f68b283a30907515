// Package numtest compares numbers in tests: with tolerances, against finite
// differences. A failure names how many elements differ and shows the worst.
package numtest

import (
	"math"
	"testing"
)

// Tol allows |got − want| ≤ Abs + Rel·|want|.
type Tol struct{ Abs, Rel float64 }

// Close fails the test where an element of got is not within tol of want. NaN
// is close to nothing; equal infinities are close.
func Close[T float32 | float64](t testing.TB, name string, got, want []T, tol Tol) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d elements, want %d", name, len(got), len(want))
		return
	}
	bad, worst, excess := 0, 0, 0.0
	for i := range got {
		if e := over(float64(got[i]), float64(want[i]), tol); e > 0 {
			bad++
			if e > excess {
				worst, excess = i, e
			}
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d elements differ, worst at %d: got %v, want %v (allowed %.3g)",
			name, bad, len(got), worst, got[worst], want[worst], tol.Abs+tol.Rel*math.Abs(float64(want[worst])))
	}
}

// over is by how much got misses want beyond tol, 0 for a hit.
func over(got, want float64, tol Tol) float64 {
	if got == want {
		return 0
	}
	e := math.Abs(got-want) - tol.Abs - tol.Rel*math.Abs(want)
	if math.IsNaN(e) || math.IsInf(e, 0) {
		return math.Inf(1)
	}
	return max(e, 0)
}

// gradStep is the central difference's step: the error of a smooth function of
// order 1 is then about 1e-10, in float64.
const gradStep = 1e-5

// Grad is the gradient of loss at x by central differences. x is left as it was.
func Grad(loss func([]float64) float64, x []float64) []float64 {
	grad := make([]float64, len(x))
	for i, v := range x {
		h := gradStep * max(1, math.Abs(v))
		x[i] = v + h
		up := loss(x)
		x[i] = v - h
		down := loss(x)
		x[i] = v
		grad[i] = (up - down) / (2 * h)
	}
	return grad
}
