// Package modeltest is the contract suite of model.Model: every family runs it
// on a tiny configuration with random weights.
package modeltest

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
	"agentmill/internal/seed"
)

// New is what builds a family's model.
type New = func(model.Config, device.Backend, model.Source, model.Options) (model.Model, error)

// A Family is what the suite tests.
type Family struct {
	Config model.Config
	Source model.MapSource // tensors of Config, random
	New    New

	backend     device.Backend
	differences map[string][]float64 // finite differences by name, once for all backends
}

// Tiny is a configuration small enough for finite differences.
func Tiny(modelType string) model.Config {
	return model.Config{
		ModelType: modelType, VocabSize: 13, HiddenSize: 12, IntermediateSize: 10, NumHiddenLayers: 2,
		NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 4, MaxPositionEmbeddings: 32,
		RMSNormEps: 1e-5, RopeTheta: 100, HiddenAct: "silu",
	}
}

// Run runs the suite on each backend.
func Run(t *testing.T, f Family, backends ...device.Backend) {
	f.differences = map[string][]float64{}
	for _, b := range backends {
		f.backend = b
		t.Run(b.Path(), f.run)
	}
}

func (f Family) run(t *testing.T) {
	t.Run("log-probs equal a plain forward pass", f.testLogProbs)
	t.Run("full gradients equal finite differences", f.testFullGrad)
	t.Run("adapter gradients equal finite differences", f.testLoRAGrad)
	t.Run("prefill, single steps and batches give the same bits", f.testSameBits)
	t.Run("a copied beginning gives the same bits", f.testPrefix)
	t.Run("scores equal the logits' bits", f.testScores)
	t.Run("packing does not change gradients", f.testPacking)
	t.Run("what samples begin with is computed once", f.testShared)
	t.Run("shared gradients equal finite differences", f.testSharedGrad)
	t.Run("many targets go through the head in chunks", f.testChunks)
	t.Run("a merged adapter equals the adapter", f.testMerge)
	t.Run("one batch is overfitted", f.testOverfit)
	t.Run("broken tensors are named", f.testBroken)
	t.Run("adapters that fit nothing are named", f.testStrayAdapter)
}

// samples are three sequences with some trained tokens each.
func (f Family) samples() []model.Sample {
	rng := seed.Stream(1, "modeltest")
	var all []model.Sample
	for _, n := range []int{7, 2, 5} {
		s := model.Sample{IDs: make([]int32, n), Trained: make([]bool, n)}
		for i := range n {
			s.IDs[i] = int32(rng.IntN(f.Config.VocabSize))
			s.Trained[i] = i > 0 && (i%3 == 1 || i == n-2)
		}
		all = append(all, s)
	}
	return all
}

// weightsOf are fixed numbers that make a loss of log-probabilities: Σ w·logp.
func weightsOf(n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(i%5)*0.3 - 0.5
	}
	return w
}

func (f Family) open(t *testing.T, o model.Options) model.Model {
	t.Helper()
	m, err := f.New(f.Config, f.backend, f.Source, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func pack(t *testing.T, samples ...model.Sample) *model.Batch {
	t.Helper()
	b, err := model.Pack(samples)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tensors are the source's values in float64.
func (f Family) tensors() map[string][]float64 {
	out := map[string][]float64{}
	for name, tensor := range f.Source {
		v := make([]float64, len(tensor.Values))
		for i, x := range tensor.Values {
			v[i] = float64(x)
		}
		out[name] = v
	}
	return out
}

// loss is Σ w·logp of all samples by the plain forward pass.
func (f Family) loss(tensors map[string][]float64, samples []model.Sample) float64 {
	var logp []float64
	for _, s := range samples {
		logp = append(logp, logProb(f.Config, tensors, s)...)
	}
	sum := 0.0
	for i, w := range weightsOf(len(logp)) {
		sum += float64(w) * logp[i]
	}
	return sum
}

// grads runs forward and backward of the loss on batches, and returns the
// gradients by name.
func grads(m model.Model, dlogp []float32, batches ...*model.Batch) map[string][]float32 {
	m.Weights().ZeroGrads()
	for _, b := range batches {
		n := len(b.Targets)
		m.Forward(b, make([]float32, n), true)
		m.Backward(dlogp[:n])
		dlogp = dlogp[n:]
	}
	out := map[string][]float32{}
	for _, p := range m.Weights().Params() {
		out[p.Name] = download(m, p.Grad)
	}
	return out
}

func download(m model.Model, b device.Buffer) []float32 {
	v := make([]float32, b.Len())
	m.Weights().Backend.Download(v, b)
	return v
}

func (f Family) testLogProbs(t *testing.T) {
	m := f.open(t, model.Options{})
	b := pack(t, f.samples()...)
	got := make([]float32, len(b.Targets))
	m.Forward(b, got, false)
	var want []float64
	for _, s := range f.samples() {
		want = append(want, logProb(f.Config, f.tensors(), s)...)
	}
	numtest.Close(t, "logp", widen(got), want, numtest.Tol{Abs: 2e-6, Rel: 2e-6})
}

func (f Family) testFullGrad(t *testing.T) {
	m := f.open(t, model.Options{Train: model.TrainFull})
	b := pack(t, f.samples()...)
	got := grads(m, weightsOf(len(b.Targets)), b)
	if len(got) != len(f.Source) {
		t.Errorf("%d parameters have gradients, want %d", len(got), len(f.Source))
	}
	tensors := f.tensors()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		want := f.difference(name, tensors[name], func([]float64) float64 { return f.loss(tensors, f.samples()) })
		numtest.Close(t, name, widen(got[name]), want, numtest.Tol{Abs: 5e-6, Rel: 1e-4})
	}
}

// difference is the gradient of loss at x, the values of the tensor called name.
func (f Family) difference(name string, x []float64, loss func([]float64) float64) []float64 {
	if _, ok := f.differences[name]; !ok {
		f.differences[name] = numtest.Grad(loss, x)
	}
	return f.differences[name]
}

// loraOptions trains adapters whose B is not zero, so that A has a gradient.
func (f Family) loraOptions() model.Options {
	o := model.Options{
		Train: model.TrainLoRA,
		LoRA:  model.LoRA{Rank: 3, Alpha: 5, Targets: model.AllProjections()},
	}
	adapter := model.MapSource{}
	for name, tensor := range f.Source {
		part := strings.TrimSuffix(name, ".weight")
		if !slices.Contains(o.LoRA.Targets, part[strings.LastIndex(part, ".")+1:]) || len(tensor.Shape) != 2 {
			continue
		}
		at := "base_model.model." + part + ".lora_"
		adapter[at+"A.weight"] = random(at+"A", o.LoRA.Rank, tensor.Shape[1])
		adapter[at+"B.weight"] = random(at+"B", tensor.Shape[0], o.LoRA.Rank)
	}
	o.Adapter = adapter
	return o
}

func random(name string, rows, cols int) model.Tensor {
	rng := seed.Stream(2, name)
	v := make([]float32, rows*cols)
	for i := range v {
		v[i] = float32(rng.NormFloat64() * 0.3)
	}
	return model.Tensor{Values: v, Shape: []int{rows, cols}}
}

func (f Family) testLoRAGrad(t *testing.T) {
	o := f.loraOptions()
	m := f.open(t, o)
	b := pack(t, f.samples()...)
	got := grads(m, weightsOf(len(b.Targets)), b)
	adapter := o.Adapter.(model.MapSource)
	if len(got) != len(adapter) {
		t.Errorf("%d parameters have gradients, want %d", len(got), len(adapter))
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		want := f.difference(name, widen(adapter[name].Values), func(v []float64) float64 { return f.lossMerged(o, name, v) })
		numtest.Close(t, name, widen(got[name]), want, numtest.Tol{Abs: 5e-6, Rel: 1e-4})
	}
}

// lossMerged is the loss with the adapters merged in float64, one of their
// matrices replaced by values.
func (f Family) lossMerged(o model.Options, replaced string, values []float64) float64 {
	tensors := f.tensors()
	adapter := o.Adapter.(model.MapSource)
	get := func(name string) []float64 {
		if name == replaced {
			return values
		}
		return widen(adapter[name].Values)
	}
	scale := o.LoRA.Alpha / float64(o.LoRA.Rank)
	for name, w := range tensors {
		at := "base_model.model." + strings.TrimSuffix(name, ".weight") + ".lora_"
		if _, ok := adapter[at+"A.weight"]; !ok {
			continue
		}
		a, b := get(at+"A.weight"), get(at+"B.weight")
		out, in := f.Source[name].Shape[0], f.Source[name].Shape[1]
		for i := range out {
			for k := range o.LoRA.Rank {
				for j := range in {
					w[i*in+j] += scale * b[i*o.LoRA.Rank+k] * a[k*in+j]
				}
			}
		}
	}
	return f.loss(tensors, f.samples())
}

// testPacking compares the gradients of all samples in one batch with those of
// the same samples in another order and in batches of random sizes, down to one
// each; the same packing again gives the same bits.
func (f Family) testPacking(t *testing.T) {
	m := f.open(t, model.Options{Train: model.TrainFull})
	for run := range uint64(4) {
		rng := seed.Stream(run, "packing")
		samples := f.randomSamples(rng, 5)
		weights := make([][]float32, len(samples))
		for i, s := range samples {
			weights[i] = weightsOf(s.Targets())
		}
		want := grads(m, slices.Concat(weights...), pack(t, samples...))
		batches, dlogp := f.repack(t, rng, samples, weights)
		got := grads(m, dlogp, batches...)
		for name := range want {
			numtest.Close(t, name, got[name], want[name], numtest.Tol{Abs: 5e-6, Rel: 2e-5})
		}
		again := grads(m, dlogp, batches...)
		for name := range got {
			equalBits(t, name+" again", again[name], got[name])
		}
	}
}

// repack shuffles samples and puts them into batches of random sizes.
func (f Family) repack(t *testing.T, rng *rand.Rand, samples []model.Sample, weights [][]float32) (batches []*model.Batch, dlogp []float32) {
	t.Helper()
	order := rng.Perm(len(samples))
	for len(order) > 0 {
		n := 1 + rng.IntN(min(3, len(order)))
		var part []model.Sample
		for _, i := range order[:n] {
			part, dlogp = append(part, samples[i]), append(dlogp, weights[i]...)
		}
		batches, order = append(batches, pack(t, part...)), order[n:]
	}
	return batches, dlogp
}

// testChunks packs so many copies of a sample that the head needs several
// chunks: the gradient is the sum of one copy's.
func (f Family) testChunks(t *testing.T) {
	m := f.open(t, model.Options{Train: model.TrainFull})
	s := f.samples()[0]
	const copies = 120
	n := s.Targets()
	one := grads(m, weightsOf(n), pack(t, s))
	var many []model.Sample
	var dlogp []float32
	for range copies {
		many = append(many, s)
		dlogp = append(dlogp, weightsOf(n)...)
	}
	got := grads(m, dlogp, pack(t, many...))
	for name, want := range one {
		for i := range want {
			want[i] *= copies
		}
		numtest.Close(t, name, got[name], want, numtest.Tol{Abs: 5e-4, Rel: 1e-4})
	}
}

func (f Family) testMerge(t *testing.T) {
	o := f.loraOptions()
	b := pack(t, f.samples()...)
	want, got := make([]float32, len(b.Targets)), make([]float32, len(b.Targets))
	f.open(t, o).Forward(b, want, false)
	m, err := f.New(f.Config, f.backend, model.Merge(f.Source, o.Adapter, o.LoRA), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Forward(b, got, false)
	numtest.Close(t, "logp", got, want, numtest.Tol{Abs: 5e-6, Rel: 5e-6})
}

// testOverfit trains on one batch, in full and by fresh adapters, until the
// batch is known by heart: as far as an output matrix that is frozen allows.
func (f Family) testOverfit(t *testing.T) {
	for _, tt := range []struct {
		options model.Options
		want    float32
	}{
		{model.Options{Train: model.TrainFull}, -0.01},
		{model.Options{Train: model.TrainLoRA, LoRA: model.LoRA{Rank: 4, Alpha: 8, Targets: model.AllProjections()}}, -0.6},
	} {
		m := f.open(t, tt.options)
		first, last := overfit(m, pack(t, f.samples()[0]), 100)
		if !(last > tt.want && first < -1.5) {
			t.Errorf("training %s: mean log-probability went from %v to %v: want it above %v", tt.options.Train, first, last, tt.want)
		}
	}
}

// overfit raises the targets' mean log-probability by steps of AdamW.
func overfit(m model.Model, b *model.Batch, steps int) (first, last float32) {
	backend := m.Weights().Backend
	params := m.Weights().Params()
	moments := map[*model.Param][2]device.Buffer{}
	for _, p := range params {
		moments[p] = [2]device.Buffer{backend.Alloc(p.Values.Len()), backend.Alloc(p.Values.Len())}
	}
	n := len(b.Targets)
	logp, dlogp := make([]float32, n), make([]float32, n)
	for i := range dlogp {
		dlogp[i] = -1 / float32(n)
	}
	for step := 1; step <= steps; step++ {
		m.Weights().ZeroGrads()
		m.Forward(b, logp, true)
		m.Backward(dlogp)
		if last = mean(logp); step == 1 {
			first = last
		}
		for _, p := range params {
			h := device.AdamW{LR: 0.02, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Step: step, Clip: 1}
			backend.AdamW(p.Values, p.Grad, moments[p][0], moments[p][1], h)
		}
		m.Weights().Repack()
	}
	return first, last
}

func mean(v []float32) float32 {
	sum := float32(0)
	for _, x := range v {
		sum += x
	}
	return sum / float32(len(v))
}

func (f Family) testBroken(t *testing.T) {
	const name = "model.norm.weight"
	good := f.Source[name]
	nan := slices.Clone(good.Values)
	nan[1] = float32(math.NaN())
	for _, tt := range []struct {
		name   string
		change func(model.MapSource)
		want   string
	}{
		{"missing", func(s model.MapSource) { delete(s, name) }, `tensor "model.norm.weight": not found`},
		{"left over", func(s model.MapSource) { s["model.extra.weight"] = good }, `tensor "model.extra.weight": this model has no such tensor`},
		{"misshaped", func(s model.MapSource) {
			s[name] = model.Tensor{Values: good.Values[1:], Shape: []int{len(good.Values) - 1}}
		}, `tensor "model.norm.weight" has shape`},
		{"not a number", func(s model.MapSource) { s[name] = model.Tensor{Values: nan, Shape: good.Shape} }, `tensor "model.norm.weight": value 1 is NaN`},
	} {
		src := maps.Clone(f.Source)
		tt.change(src)
		_, err := f.New(f.Config, f.backend, src, model.Options{})
		wantError(t, tt.name, err, tt.want)
	}
}

func (f Family) testStrayAdapter(t *testing.T) {
	o := f.loraOptions()
	stray := "base_model.model.model.layers.99.mlp.up_proj.lora_A.weight"
	o.Adapter.(model.MapSource)[stray] = random(stray, o.LoRA.Rank, f.Config.HiddenSize)
	_, err := f.New(f.Config, f.backend, f.Source, o)
	wantError(t, "training", err, stray)
	_, err = f.New(f.Config, f.backend, model.Merge(f.Source, o.Adapter, o.LoRA), model.Options{})
	wantError(t, "merging", err, stray)

	o = model.Options{Train: model.TrainLoRA, LoRA: model.LoRA{Rank: 2, Alpha: 2, Targets: []string{"query"}}}
	_, err = f.New(f.Config, f.backend, f.Source, o)
	wantError(t, "unknown targets", err, "targets [query]")
	o.LoRA.Rank = 0
	_, err = f.New(f.Config, f.backend, f.Source, o)
	wantError(t, "no rank", err, "rank is 0")
}

func wantError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error is %v, want one with %q", name, err, want)
	}
}

func widen(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}
