package optim

import (
	"math"
	"strings"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
)

func backend(t *testing.T) device.Backend {
	t.Helper()
	b, err := cpu.New(2, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func param(b device.Backend, shape []int, values, grad []float32) *model.Param {
	p := &model.Param{Shape: shape, Values: b.Alloc(len(values)), Grad: b.Alloc(len(grad))}
	b.Upload(p.Values, values)
	b.Upload(p.Grad, grad)
	return p
}

func values(b device.Backend, buf device.Buffer) []float32 {
	v := make([]float32, buf.Len())
	b.Download(v, buf)
	return v
}

// TestStep: after one step of AdamW every entry moves by lr·sign(gradient),
// whatever the gradient's size, and matrices shrink by lr·decay besides.
func TestStep(t *testing.T) {
	b := backend(t)
	matrix := param(b, []int{1, 3}, []float32{1, 1, 1}, []float32{3, -0.04, 0})
	vector := param(b, []int{2}, []float32{1, 1}, []float32{-4, 0})
	o := New(b, []*model.Param{matrix, vector}, Config{Beta1: .9, Beta2: .95, Eps: 1e-12, WeightDecay: .5, ClipNorm: 1})
	defer o.Close()
	norm, err := o.Step(0.01)
	if err != nil {
		t.Fatal(err)
	}
	numtest.Close(t, "norm", []float64{norm}, []float64{math.Sqrt(9 + 0.0016 + 16)}, numtest.Tol{Rel: 1e-6})
	numtest.Close(t, "matrix", values(b, matrix.Values), []float32{.985, 1.005, .995}, numtest.Tol{Abs: 1e-6})
	numtest.Close(t, "vector", values(b, vector.Values), []float32{1.01, 1}, numtest.Tol{Abs: 1e-6})
	m, v := o.Moments(0)
	clipped := float32(3 / norm)
	numtest.Close(t, "first moment", values(b, m)[:1], []float32{.1 * clipped}, numtest.Tol{Rel: 1e-5})
	numtest.Close(t, "second moment", values(b, v)[:1], []float32{.05 * clipped * clipped}, numtest.Tol{Rel: 1e-5})
}

func TestSmallGradientIsNotScaledUp(t *testing.T) {
	b := backend(t)
	p := param(b, []int{1}, []float32{0}, []float32{0.5})
	o := New(b, []*model.Param{p}, Default())
	defer o.Close()
	if _, err := o.Step(1e-3); err != nil {
		t.Fatal(err)
	}
	m, _ := o.Moments(0)
	numtest.Close(t, "first moment", values(b, m), []float32{.05}, numtest.Tol{Rel: 1e-5})
}

func TestNaNGradientChangesNothing(t *testing.T) {
	b := backend(t)
	p := param(b, []int{2}, []float32{1, 2}, []float32{1, float32(math.NaN())})
	o := New(b, []*model.Param{p}, Default())
	defer o.Close()
	if _, err := o.Step(0.1); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("got %v, want an error that names NaN", err)
	}
	numtest.Close(t, "values", values(b, p.Values), []float32{1, 2}, numtest.Tol{})
	if o.Steps != 0 {
		t.Errorf("%d steps counted, want 0", o.Steps)
	}
}

func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		name     string
		schedule Schedule
		want     []float64
	}{
		{"constant", Schedule{Kind: "constant", LR: 1}, []float64{1, 1, 1, 1}},
		{"warm-up", Schedule{Kind: "constant", LR: 1, Warmup: 2}, []float64{.5, 1, 1, 1}},
		{"linear to a tenth", Schedule{Kind: "linear", LR: 1, Total: 9}, []float64{1, .9, .8, .7, .6, .5, .4, .3, .2}},
		{"cosine to a tenth", Schedule{Kind: "cosine", LR: 1, Total: 4}, []float64{1, .1 + .45*(1+math.Sqrt2/2), .55, .1 + .45*(1-math.Sqrt2/2)}},
		{"both", Schedule{Kind: "linear", LR: 2, Warmup: 2, Total: 3}, []float64{1, 1.4, .8}},
	} {
		var got []float64
		for step := range len(tt.want) {
			got = append(got, tt.schedule.At(step+1))
		}
		numtest.Close(t, tt.name, got, tt.want, numtest.Tol{Abs: 1e-12})
	}
	for _, bad := range []Schedule{{Kind: "step", LR: 1}, {Kind: "linear"}, {Kind: "linear", LR: math.NaN()}, {Kind: "linear", LR: 1, Warmup: -1}} {
		if bad.Check() == nil {
			t.Errorf("%+v: got no error", bad)
		}
	}
}
