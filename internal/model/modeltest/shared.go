package modeltest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
	"agentmill/internal/seed"
)

// alike are samples that branch off one another at random places, also in what
// is trained.
func (f Family) alike(rng *rand.Rand, n int) []model.Sample {
	all := f.randomSamples(rng, n)
	for i := 1; i < n; i++ {
		s, from := &all[i], all[rng.IntN(i)]
		k := rng.IntN(len(from.IDs))
		s.IDs = slices.Concat(from.IDs[:k], s.IDs)
		s.Trained = slices.Concat(from.Trained[:k], s.Trained)
		keep := min(len(s.IDs), f.Config.MaxPositionEmbeddings)
		s.IDs, s.Trained = s.IDs[:keep], s.Trained[:keep]
	}
	return all
}

func packShared(t *testing.T, samples []model.Sample) *model.Batch {
	t.Helper()
	b, err := model.PackShared(samples)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sharedTolerance is how far a matrix of gradients may be from what it should be,
// as a share of its length. With bfloat16 a sum that was rounded is not the sum of
// what was rounded.
var sharedTolerance = map[device.DType]float64{device.F32: 1e-5, device.BF16Dot: .1}

// testShared compares samples that begin alike, computed once, with each by
// itself: the same bits forward, the same sums in another order backward, and the
// same bits again.
func (f Family) testShared(t *testing.T) {
	for run := range uint64(4) {
		samples := f.alike(seed.Stream(run, "alike"), 6)
		apart, shared := pack(t, samples...), packShared(t, samples)
		if len(shared.IDs) >= len(apart.IDs) {
			t.Fatalf("%d tokens of %d, want fewer", len(shared.IDs), len(apart.IDs))
		}
		for dtype, tol := range sharedTolerance {
			full, adapters := model.Options{Train: model.TrainFull, DType: dtype}, f.loraOptions()
			adapters.DType = dtype
			for _, o := range []model.Options{full, adapters} {
				f.sameShared(t, fmt.Sprintf("run %d, %s, dtype %d", run, o.Train, dtype), f.open(t, o), shared, apart, tol)
			}
		}
	}
}

func (f Family) sameShared(t *testing.T, name string, m model.Model, shared, apart *model.Batch, tol float64) {
	t.Helper()
	n := len(apart.Targets)
	got, want := make([]float32, n), make([]float32, n)
	m.Forward(shared, got, false)
	m.Forward(apart, want, false)
	equalBits(t, name+": logp", got, want)
	dlogp := weightsOf(n)
	wantGrads, gotGrads := grads(m, dlogp, apart), grads(m, dlogp, shared)
	again := grads(m, dlogp, shared)
	for _, param := range slices.Sorted(maps.Keys(wantGrads)) {
		if far := distance(gotGrads[param], wantGrads[param]); !(far <= tol) {
			t.Errorf("%s: %s: differs by %.2g of its length, want %g at most", name, param, far, tol)
		}
		equalBits(t, name+": "+param+" again", again[param], gotGrads[param])
	}
}

// testSharedGrad compares the gradients that pass through what is shared with
// finite differences of a plain forward pass, sample by sample, in float64.
func (f Family) testSharedGrad(t *testing.T) {
	samples := f.alike(seed.Stream(0, "alike"), 6)
	b := packShared(t, samples)
	got := grads(f.open(t, model.Options{Train: model.TrainFull}), weightsOf(len(b.Targets)), b)
	tensors := f.tensors()
	for _, part := range []string{"q", "k", "v"} {
		name := "model.layers.0.self_attn." + part + "_proj.weight"
		want := f.difference("shared "+name, tensors[name], func([]float64) float64 { return f.loss(tensors, samples) })
		numtest.Close(t, name, widen(got[name]), want, numtest.Tol{Abs: 5e-6, Rel: 1e-4})
	}
}

// distance is ‖got − want‖/‖want‖.
func distance(got, want []float32) float64 {
	far, length := 0.0, 0.0
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		far, length = far+d*d, length+float64(w)*float64(w)
	}
	return math.Sqrt(far / length)
}
