package modeltest

import (
	"fmt"
	"math"

	"agentmill/internal/device/cpu/ref"
	"agentmill/internal/model"
)

// logProb is a plain forward pass in float64, written from the papers, one matrix
// and one head at a time: the log-probability of each trained token of s. Biases
// and the norms of queries and keys are applied where w has them.
func logProb(cfg model.Config, w map[string][]float64, s model.Sample) []float64 {
	c, n := cfg.HiddenSize, len(s.IDs)
	x := make([]float64, n*c)
	ref.Embed(x, w["model.embed_tokens.weight"], s.IDs, c)
	for i := range cfg.NumHiddenLayers {
		plainBlock(cfg, w, fmt.Sprintf("model.layers.%d.", i), x)
	}
	x = norm(cfg, w["model.norm.weight"], x)
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
	normed := norm(cfg, w[at+"input_layernorm.weight"], x)
	q := project(w, at+"self_attn.q_proj", normed, cfg.HiddenSize)
	key := project(w, at+"self_attn.k_proj", normed, cfg.HiddenSize)
	v := project(w, at+"self_attn.v_proj", normed, cfg.HiddenSize)
	if weight := w[at+"self_attn.q_norm.weight"]; weight != nil {
		q, key = norm(cfg, weight, q), norm(cfg, w[at+"self_attn.k_norm.weight"], key)
	}
	rotate(cfg, q, h)
	rotate(cfg, key, k)
	att := make([]float64, len(q))
	for t := range len(q) / (h * d) {
		for i := range h {
			attend(att[(t*h+i)*d:][:d], q[(t*h+i)*d:][:d], key, v, t, i/(h/k)*d, k*d)
		}
	}
	ref.Axpy(x, 1, project(w, at+"self_attn.o_proj", att, h*d))

	normed = norm(cfg, w[at+"post_attention_layernorm.weight"], x)
	gate := project(w, at+"mlp.gate_proj", normed, cfg.HiddenSize)
	up := project(w, at+"mlp.up_proj", normed, cfg.HiddenSize)
	for i, g := range gate {
		up[i] *= g / (1 + math.Exp(-g))
	}
	ref.Axpy(x, 1, project(w, at+"mlp.down_proj", up, cfg.IntermediateSize))
}

// norm is RMSNorm over each len(weight) values of x.
func norm(cfg model.Config, weight, x []float64) []float64 {
	y := make([]float64, len(x))
	ref.RMSNorm(y, make([]float64, len(x)/len(weight)), x, weight, cfg.RMSNormEps)
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
	d, freq := cfg.HeadDim, cfg.RopeFreq()
	for i := range x {
		if i%d >= d/2 {
			continue
		}
		angle := float64(i/(heads*d)) * freq[i%d]
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
