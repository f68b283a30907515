package numtest

import (
	"fmt"
	"math"
	"testing"
)

// A recorder keeps what a failing test would say.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { r.said += fmt.Sprintf(format, a...) }

func TestClose(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		name      string
		got, want []float64
		say       string
	}{
		{"within", []float64{1, 2.0009}, []float64{1.0005, 2}, ""},
		{"the worst is shown", []float64{1, 5, 4}, []float64{1, 2, 2}, "x: 2 of 3 elements differ, worst at 1: got 5, want 2 (allowed 0.001)"},
		{"NaN is close to nothing", []float64{nan}, []float64{nan}, "x: 1 of 1 elements differ, worst at 0: got NaN, want NaN (allowed NaN)"},
		{"NaN among numbers", []float64{9, nan}, []float64{1, 1}, "x: 2 of 2 elements differ, worst at 1: got NaN, want 1 (allowed 0.001)"},
		{"equal infinities", []float64{inf}, []float64{inf}, ""},
		{"infinity", []float64{1}, []float64{inf}, "x: 1 of 1 elements differ, worst at 0: got 1, want +Inf (allowed +Inf)"},
		{"length", []float64{1}, nil, "x: got 1 elements, want 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			tol := Tol{Abs: 1e-3}
			if tt.name == "infinity" || tt.name == "NaN is close to nothing" {
				tol.Rel = 1e-3
			}
			Close(r, "x", tt.got, tt.want, tol)
			if r.said != tt.say {
				t.Errorf("got  %q\nwant %q", r.said, tt.say)
			}
		})
	}
}

func TestGrad(t *testing.T) {
	x := []float64{0.3, -2, 5}
	got := Grad(func(x []float64) float64 { return x[0]*x[1] + math.Sin(x[2]) }, x)
	Close(t, "gradient", got, []float64{-2, 0.3, math.Cos(5)}, Tol{Abs: 1e-8})
	Close(t, "x", x, []float64{0.3, -2, 5}, Tol{})
}
