package llama

import (
	"fmt"
	"math"

	"agentmill/internal/model"
	"agentmill/internal/seed"
)

// Random returns random tensors for a model of configuration cfg, for tests and
// for pipelines that are tried out without a real model.
func Random(cfg model.Config, run uint64) model.MapSource {
	src := model.MapSource{}
	c, f, d := cfg.HiddenSize, cfg.IntermediateSize, cfg.HeadDim
	q, kv := cfg.NumAttentionHeads*d, cfg.NumKeyValueHeads*d
	add := func(name string, shape ...int) { src[name+".weight"] = random(run, name, shape) }
	linear := func(name string, bias bool, out, in int) {
		add(name, out, in)
		if bias {
			src[name+".bias"] = random(run, name+".bias", []int{out})
		}
	}
	add("model.embed_tokens", cfg.VocabSize, c)
	add("model.norm", c)
	if !cfg.TieWordEmbeddings {
		add("lm_head", cfg.VocabSize, c)
	}
	for i := range cfg.NumHiddenLayers {
		at := fmt.Sprintf("model.layers.%d.", i)
		add(at+"input_layernorm", c)
		add(at+"post_attention_layernorm", c)
		linear(at+"self_attn.q_proj", cfg.AttentionBias, q, c)
		linear(at+"self_attn.k_proj", cfg.AttentionBias, kv, c)
		linear(at+"self_attn.v_proj", cfg.AttentionBias, kv, c)
		linear(at+"self_attn.o_proj", cfg.AttentionBias, c, q)
		linear(at+"mlp.gate_proj", cfg.MLPBias, f, c)
		linear(at+"mlp.up_proj", cfg.MLPBias, f, c)
		linear(at+"mlp.down_proj", cfg.MLPBias, c, f)
	}
	return src
}

// random draws normal values: matrices with deviation 1/√in, vectors around 1
// with deviation 0.1.
func random(run uint64, name string, shape []int) model.Tensor {
	rng := seed.Stream(run, "random", name)
	n, mean, dev := shape[0], 1.0, 0.1
	if len(shape) == 2 {
		n, mean, dev = shape[0]*shape[1], 0, 1/math.Sqrt(float64(shape[1])) //nolint:gosec // two there are
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(mean + dev*rng.NormFloat64())
	}
	return model.Tensor{Values: values, Shape: shape}
}
