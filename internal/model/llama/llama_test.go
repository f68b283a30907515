package llama_test

import (
	"fmt"
	"math"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/device/cpu/ref"
	"agentmill/internal/model"
	"agentmill/internal/model/llama"
	"agentmill/internal/model/modeltest"
)

func backend(t *testing.T, path string) device.Backend {
	t.Helper()
	b, err := cpu.New(2, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func tiny() model.Config {
	return model.Config{
		ModelType: "llama", VocabSize: 13, HiddenSize: 12, IntermediateSize: 10, NumHiddenLayers: 2,
		NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 4, MaxPositionEmbeddings: 32,
		RMSNormEps: 1e-5, RopeTheta: 100, HiddenAct: "silu",
	}
}

func TestContract(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*model.Config)
	}{
		{"grouped heads, own output matrix", func(*model.Config) {}},
		{"tied output matrix, one key head, biases", func(c *model.Config) {
			c.TieWordEmbeddings, c.NumKeyValueHeads, c.AttentionBias, c.MLPBias = true, 1, true, true
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tiny()
			tt.change(&cfg)
			var backends []device.Backend
			for _, path := range cpu.Paths() {
				backends = append(backends, backend(t, path))
			}
			modeltest.Run(t, modeltest.Family{Config: cfg, Source: llama.Random(cfg, 1), New: llama.New, LogProb: logProb}, backends...)
		})
	}
}

// logProb is the Llama forward pass in float64, one matrix and one head at a time.
func logProb(cfg model.Config, w map[string][]float64, s model.Sample) []float64 {
	c, n := cfg.HiddenSize, len(s.IDs)
	x := make([]float64, n*c)
	ref.Embed(x, w["model.embed_tokens.weight"], s.IDs, c)
	for i := range cfg.NumHiddenLayers {
		plainBlock(cfg, w, fmt.Sprintf("model.layers.%d.", i), x)
	}
	x = norm(cfg, w, "model.norm", x)
	head := w["lm_head.weight"]
	if cfg.TieWordEmbeddings {
		head = w["model.embed_tokens.weight"]
	}
	v := cfg.VocabSize
	logits := make([]float64, n*v)
	ref.Linear(logits, x, head, c, v)
	var out []float64
	for p, trained := range s.Trained {
		if trained {
			out = append(out, logSoftmax(logits[(p-1)*v:p*v], int(s.IDs[p])))
		}
	}
	return out
}

func plainBlock(cfg model.Config, w map[string][]float64, at string, x []float64) {
	h, k, d := cfg.NumAttentionHeads, cfg.NumKeyValueHeads, cfg.HeadDim
	normed := norm(cfg, w, at+"input_layernorm", x)
	q := project(w, at+"self_attn.q_proj", normed, cfg.HiddenSize)
	key := project(w, at+"self_attn.k_proj", normed, cfg.HiddenSize)
	v := project(w, at+"self_attn.v_proj", normed, cfg.HiddenSize)
	rotate(cfg, q, h)
	rotate(cfg, key, k)
	att := make([]float64, len(q))
	for t := range len(q) / (h * d) {
		for i := range h {
			attend(att[(t*h+i)*d:][:d], q[(t*h+i)*d:][:d], key, v, t, i/(h/k)*d, k*d)
		}
	}
	ref.Axpy(x, 1, project(w, at+"self_attn.o_proj", att, h*d))

	normed = norm(cfg, w, at+"post_attention_layernorm", x)
	gate := project(w, at+"mlp.gate_proj", normed, cfg.HiddenSize)
	up := project(w, at+"mlp.up_proj", normed, cfg.HiddenSize)
	for i, g := range gate {
		up[i] *= g / (1 + math.Exp(-g))
	}
	ref.Axpy(x, 1, project(w, at+"mlp.down_proj", up, cfg.IntermediateSize))
}

func norm(cfg model.Config, w map[string][]float64, name string, x []float64) []float64 {
	y := make([]float64, len(x))
	ref.RMSNorm(y, make([]float64, len(x)/cfg.HiddenSize), x, w[name+".weight"], cfg.RMSNormEps)
	return y
}

func project(w map[string][]float64, name string, x []float64, in int) []float64 {
	matrix := w[name+".weight"]
	out := len(matrix) / in
	y := make([]float64, len(x)/in*out)
	for i := range y {
		if bias := w[name+".bias"]; bias != nil {
			y[i] = bias[i%out]
		}
	}
	ref.Linear(y, x, matrix, in, out)
	return y
}

// rotate applies the rotary positions to heads of x, pairing i with i + D/2.
func rotate(cfg model.Config, x []float64, heads int) {
	d := cfg.HeadDim
	for i := range x {
		if i%d >= d/2 {
			continue
		}
		angle := float64(i/(heads*d)) / math.Pow(cfg.RopeTheta, 2*float64(i%d)/float64(d))
		a, b := x[i], x[i+d/2]
		x[i], x[i+d/2] = a*math.Cos(angle)-b*math.Sin(angle), b*math.Cos(angle)+a*math.Sin(angle)
	}
}

// attend sets out to the attention of query q of token t over keys and values,
// which start at column from of rows of width values.
func attend(out, q, key, v []float64, t, from, width int) {
	d := len(q)
	p, sum := make([]float64, t+1), 0.0
	for j := range p {
		p[j] = math.Exp(ref.Dot(q, key[j*width+from:][:d]) / math.Sqrt(float64(d)))
		sum += p[j]
	}
	for j := range p {
		ref.Axpy(out, p[j]/sum, v[j*width+from:][:d])
	}
}

func logSoftmax(logits []float64, target int) float64 {
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(l - logits[target])
	}
	return -math.Log(sum)
}
