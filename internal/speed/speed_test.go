package speed

import (
	"context"
	"math"
	"strings"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
	"agentmill/internal/model/llama"
)

// TestNeeds: SmolLM2-135M takes .212 GFLOP a token without logits, .269 with, and
// its matrices 269 MB in 16 bits.
func TestNeeds(t *testing.T) {
	n := needsOf(model.Config{
		VocabSize: 49152, HiddenSize: 576, IntermediateSize: 1536, NumHiddenLayers: 30,
		NumAttentionHeads: 9, NumKeyValueHeads: 3, HeadDim: 64,
	}, device.BF16)
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"GFLOP without logits", n.flops / 1e9, .212},
		{"GFLOP with logits", (n.flops + n.logits) / 1e9, .269},
		{"MB of weights", n.weights / 1e6, 269},
		{"KB of keys and values a token", n.keyValues / 1e3, 46.08},
	} {
		if math.Abs(tt.got/tt.want-1) > .005 {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// TestJudge: the slower of reading and computing is the limit.
func TestJudge(t *testing.T) {
	n := needs{flops: 100, weights: 1000}
	r := &Report{FlopsPerSecond: 1000, BytesPerSecond: 1000}
	if got := n.judge(r, 1, .5, 1, 0); got.Limit != "memory" || got.OfLimit != .5 {
		t.Errorf("one token: %+v, want half of what memory allows", got)
	}
	if got := n.judge(r, 1, 5, 100, 0); got.Limit != "arithmetic" || got.OfLimit != .5 {
		t.Errorf("100 tokens: %+v, want half of what arithmetic allows", got)
	}
	if got := n.judge(&Report{}, 1, 5, 100, 0); got.OfLimit != 0 {
		t.Errorf("an unknown machine: %+v", got)
	}
}

func tiny(positions int) model.Config {
	return model.Config{
		ModelType: "llama", VocabSize: 16, HiddenSize: 8, IntermediateSize: 8, NumHiddenLayers: 1,
		NumAttentionHeads: 2, NumKeyValueHeads: 1, HeadDim: 4, MaxPositionEmbeddings: positions,
		RMSNormEps: 1e-5, RopeTheta: 10000, HiddenAct: "silu",
	}
}

func open(t *testing.T, c model.Config) model.Model {
	t.Helper()
	backend, err := cpu.New(1, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	m, err := llama.New(c, backend, decoder.Random(c, llama.Design(c), 3), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func TestMeasure(t *testing.T) {
	r := &Report{Policy: "tiny"}
	if err := Measure(t.Context(), r, open(t, tiny(GroupPrompt+GroupNew)), device.F32, 1); err != nil {
		t.Fatal(err)
	}
	if r.Prefill.TokensPerSecond <= 0 || len(r.Decode) != 3 || r.Decode[2].TokensPerSecond <= 0 || r.SharedPrompt <= 0 || r.BytesPerSecond <= 0 {
		t.Errorf("not all is measured: %+v", r)
	}
	var out strings.Builder
	if _, err := r.WriteTo(&out); err != nil || strings.Count(out.String(), "tokens/s") != 4 {
		t.Errorf("error %v, report:\n%s", err, out.String())
	}
}

func TestMeasureRefuses(t *testing.T) {
	if err := Measure(t.Context(), &Report{}, open(t, tiny(100)), device.F32, 1); err == nil || !strings.Contains(err.Error(), "100 positions: the measurement takes 576") {
		t.Errorf("a short model: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Measure(ctx, &Report{}, open(t, tiny(600)), device.F32, 1); err == nil {
		t.Error("a cancelled measurement ends without an error")
	}
}
