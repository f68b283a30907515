package llama_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/model/llama"
	"agentmill/internal/numtest"
	"agentmill/internal/safetensors"
)

// A golden is what transformers, PEFT and PyTorch computed: testdata/golden.safetensors,
// written by tools/golden/llama.py.
type golden struct {
	*safetensors.File
	t *testing.T
}

func openGolden(t *testing.T) golden {
	t.Helper()
	f, err := safetensors.Open("testdata/golden.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	script, err := os.ReadFile("../../../tools/golden/llama.py")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(script)
	meta := f.Metadata()
	if meta["format"] != "agentmill-golden" || meta["version"] != "1" || meta["script"] != hex.EncodeToString(sum[:]) {
		t.Fatalf("golden.safetensors was not written by this tools/golden/llama.py: run it again")
	}
	return golden{f, t}
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
	m, err := llama.New(cfg, backend(g.t, ""), g.source("param."), o)
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

// TestGolden compares logits, gradients and ten optimiser steps with PyTorch's.
// Both sides compute in float32, in another order: the tolerances allow for
// sums of some hundred rounded terms, grown over ten steps for the last ones.
func TestGolden(t *testing.T) {
	g := openGolden(t)
	m := g.open(model.Options{Train: model.TrainFull})
	g.compareLogits(m, "logits")
	losses, norms := train(t, m, g)
	numtest.Close(t, "losses", losses, g.get("losses"), numtest.Tol{Rel: 1e-4})
	numtest.Close(t, "norms", norms, g.get("norms"), numtest.Tol{Rel: 1e-3})
	for _, p := range m.Weights().Params() {
		numtest.Close(t, "final "+p.Name, download(m, p.Values), g.get("final."+p.Name), numtest.Tol{Abs: 2e-4, Rel: 1e-3})
	}
}

// TestGoldenLoRA compares logits and gradients under an adapter with PEFT's.
func TestGoldenLoRA(t *testing.T) {
	g := openGolden(t)
	adapter := g.source("lora.")
	m := g.open(model.Options{
		Train: model.TrainLoRA, Adapter: adapter,
		LoRA: model.LoRA{Rank: 3, Alpha: 5, Targets: model.AllProjections()},
	})
	g.compareLogits(m, "lora_logits")
	batch, dlogp := g.batch()
	m.Forward(batch, make([]float32, len(dlogp)), true)
	m.Backward(dlogp)
	if got := len(m.Weights().Params()); got != len(adapter) {
		t.Errorf("%d matrices have gradients, want %d", got, len(adapter))
	}
	for _, p := range m.Weights().Params() {
		numtest.Close(t, p.Name, download(m, p.Grad), g.get("lora_grad."+p.Name), numtest.Tol{Abs: 5e-6, Rel: 1e-4})
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

func download(m model.Model, b device.Buffer) []float32 {
	v := make([]float32, b.Len())
	m.Weights().Backend.Download(v, b)
	return v
}

// train takes ten steps of AdamW with gradients clipped to norm 1, checking the
// first gradients, and returns losses and gradient norms.
func train(t *testing.T, m model.Model, g golden) (losses, norms []float32) {
	t.Helper()
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
				numtest.Close(t, "grad "+p.Name, download(m, p.Grad), g.get("grad."+p.Name), numtest.Tol{Abs: 2e-6, Rel: 1e-4})
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
