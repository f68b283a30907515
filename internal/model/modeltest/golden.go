package modeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
	"agentmill/internal/safetensors"
)

// GoldenScript writes the golden files, seen from a family's folder.
const GoldenScript = "../../../tools/golden/families.py"

// A golden is a file of what transformers, PEFT and PyTorch computed of a tiny
// model, written by GoldenScript.
type golden struct {
	*safetensors.File
	t       *testing.T
	new     New
	backend device.Backend
}

// Golden compares logits, log-probabilities, every gradient, those of adapters
// on all projections included, and, where the file has them, ten optimiser
// steps with what the file at path says.
func Golden(t *testing.T, path string, build New, b device.Backend) {
	t.Helper()
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	script, err := os.ReadFile(GoldenScript)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(script)
	meta := f.Metadata()
	if meta["format"] != "agentmill-golden" || meta["version"] != "2" || meta["script"] != hex.EncodeToString(sum[:]) {
		t.Fatalf("%s was not written by this %s: run it again", path, GoldenScript)
	}
	t.Run("full", golden{f, t, build, b}.testFull)
	t.Run("adapter", golden{f, t, build, b}.testLoRA)
}

func (g golden) get(name string) []float32 {
	g.t.Helper()
	v, _, err := g.Tensor(name)
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

// source holds the tensors whose names begin with prefix.
func (g golden) source(prefix string) model.MapSource {
	src := model.MapSource{}
	for _, name := range g.Names() {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			v, shape, err := g.Tensor(name)
			if err != nil {
				g.t.Fatal(err)
			}
			src[rest] = model.Tensor{Values: v, Shape: shape}
		}
	}
	return src
}

func (g golden) samples() []model.Sample {
	var all []model.Sample
	for i := range 2 {
		var s model.Sample
		for _, id := range g.get(fmt.Sprintf("ids.%d", i)) {
			s.IDs = append(s.IDs, int32(id))
		}
		for _, m := range g.get(fmt.Sprintf("mask.%d", i)) {
			s.Trained = append(s.Trained, m != 0)
		}
		all = append(all, s)
	}
	return all
}

// open builds the model of the file's configuration and starting weights.
func (g golden) open(o model.Options) model.Model {
	g.t.Helper()
	cfg, err := model.ParseConfig([]byte(g.Metadata()["config"]))
	if err != nil {
		g.t.Fatal(err)
	}
	m, err := g.new(cfg, g.backend, g.source("param."), o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(m.Close)
	return m
}

// compareLogits compares the logits of both sequences.
func (g golden) compareLogits(m model.Model, prefix string) {
	g.t.Helper()
	for i, s := range g.samples() {
		name := fmt.Sprintf("%s.%d", prefix, i)
		numtest.Close(g.t, name, logits(m, s.IDs), g.get(name), numtest.Tol{Abs: 1e-5, Rel: 1e-5})
	}
}

// testFull compares logits, log-probabilities, gradients and ten optimiser steps
// with PyTorch's. Both sides compute in float32, in another order: the
// tolerances allow for sums of some hundred rounded terms, grown over ten steps
// for the last ones.
func (g golden) testFull(t *testing.T) {
	g.t = t
	m := g.open(model.Options{Train: model.TrainFull})
	g.compareLogits(m, "logits")
	g.compareScores(m, "")
	if !slices.Contains(g.Names(), "losses") {
		return
	}
	losses, norms := g.train(m)
	numtest.Close(t, "losses", losses, g.get("losses"), numtest.Tol{Rel: 1e-4})
	numtest.Close(t, "norms", norms, g.get("norms"), numtest.Tol{Rel: 1e-3})
	for _, p := range m.Weights().Params() {
		numtest.Close(t, "final "+p.Name, download(m, p.Values), g.get("final."+p.Name), numtest.Tol{Abs: 2e-4, Rel: 1e-3})
	}
}

// testLoRA compares logits, log-probabilities and gradients under an adapter
// with PEFT's.
func (g golden) testLoRA(t *testing.T) {
	g.t = t
	m := g.open(model.Options{
		Train: model.TrainLoRA, Adapter: g.source("lora."),
		LoRA: model.LoRA{Rank: 3, Alpha: 5, Targets: model.AllProjections()},
	})
	g.compareLogits(m, "lora_logits")
	g.compareScores(m, "lora_")
}

// compareScores compares the targets' log-probabilities and all gradients of
// their negative mean with those whose names begin with prefix.
func (g golden) compareScores(m model.Model, prefix string) {
	g.t.Helper()
	batch, dlogp := g.batch()
	logp := make([]float32, len(dlogp))
	m.Weights().ZeroGrads()
	m.Forward(batch, logp, true)
	m.Backward(dlogp)
	numtest.Close(g.t, prefix+"logp", logp, g.get(prefix+"logp"), numtest.Tol{Abs: 1e-5, Rel: 1e-5})
	want := 0
	for _, name := range g.Names() {
		if strings.HasPrefix(name, prefix+"grad.") {
			want++
		}
	}
	if got := len(m.Weights().Params()); got != want {
		g.t.Errorf("%d tensors have gradients, want %d", got, want)
	}
	for _, p := range m.Weights().Params() {
		numtest.Close(g.t, prefix+"grad "+p.Name, download(m, p.Grad), g.get(prefix+"grad."+p.Name), numtest.Tol{Abs: 5e-6, Rel: 1e-4})
	}
}

// batch packs both sequences, with the gradient of the mean negative
// log-probability.
func (g golden) batch() (*model.Batch, []float32) {
	g.t.Helper()
	b, err := model.Pack(g.samples())
	if err != nil {
		g.t.Fatal(err)
	}
	dlogp := make([]float32, len(b.Targets))
	for i := range dlogp {
		dlogp[i] = -1 / float32(len(dlogp))
	}
	return b, dlogp
}

// logits of all positions of one sequence, without a cache.
func logits(m model.Model, ids []int32) []float32 {
	b := &model.Batch{IDs: ids, Seqs: []device.Seq{{Start: 0, Len: len(ids)}}}
	for p := range ids {
		b.Positions = append(b.Positions, int32(p))
		b.Rows = append(b.Rows, int32(p))
	}
	return download(m, m.Logits(b).Buf)
}

// train takes ten steps of AdamW with gradients clipped to norm 1 and returns
// losses and gradient norms.
func (g golden) train(m model.Model) (losses, norms []float32) {
	g.t.Helper()
	batch, dlogp := g.batch()
	b, n := m.Weights().Backend, len(dlogp)
	logp := make([]float32, n)
	moments := map[string]device.Buffer{}
	for step := 1; step <= 10; step++ {
		m.Weights().ZeroGrads()
		m.Forward(batch, logp, true)
		m.Backward(dlogp)
		squares, loss := 0.0, 0.0
		for _, p := range m.Weights().Params() {
			squares += b.SumSquares(p.Grad)
			if step == 1 {
				moments["m"+p.Name], moments["v"+p.Name] = b.Alloc(p.Grad.Len()), b.Alloc(p.Grad.Len())
			}
		}
		for _, l := range logp {
			loss -= float64(l) / float64(n)
		}
		losses, norms = append(losses, float32(loss)), append(norms, float32(math.Sqrt(squares)))
		h := device.AdamW{LR: 1e-2, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1, Step: step, Clip: min(1, 1/math.Sqrt(squares))}
		for _, p := range m.Weights().Params() {
			b.AdamW(p.Values, p.Grad, moments["m"+p.Name], moments["v"+p.Name], h)
		}
		m.Weights().Repack()
	}
	return losses, norms
}
