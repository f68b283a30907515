package decoder

import (
	"fmt"
	"math"

	"agentmill/internal/model"
	"agentmill/internal/seed"
)

// The published names of tensors outside of blocks, without ".weight".
const (
	embedName = "model.embed_tokens"
	normName  = "model.norm"
	headName  = "lm_head"
)

// names gives the published names of block i's parts.
func names(i int) func(part string) string {
	return func(part string) string { return fmt.Sprintf("model.layers.%d.%s", i, part) }
}

// sizes are the widths of a block's matrices.
type sizes struct{ width, q, kv, inner int }

func sizesOf(c model.Config) sizes {
	return sizes{c.HiddenSize, c.NumAttentionHeads * c.HeadDim, c.NumKeyValueHeads * c.HeadDim, c.IntermediateSize}
}

// A Spec is the published name and shape of a tensor.
type Spec struct {
	Name  string
	Shape []int
}

// Specs are the tensors of a model of configuration cfg and design d.
func Specs(cfg model.Config, d Design) []Spec {
	var l specs
	l.add(embedName, cfg.VocabSize, cfg.HiddenSize)
	for i := range cfg.NumHiddenLayers {
		l.block(cfg, d, i)
	}
	l.add(normName, cfg.HiddenSize)
	if !cfg.TieWordEmbeddings {
		l.add(headName, cfg.VocabSize, cfg.HiddenSize)
	}
	return l
}

type specs []Spec

func (l *specs) block(cfg model.Config, d Design, i int) {
	n, s := names(i), sizesOf(cfg)
	l.add(n("input_layernorm"), s.width)
	l.matrix(n("self_attn.q_proj"), d.QKVBias, s.q, s.width)
	l.matrix(n("self_attn.k_proj"), d.QKVBias, s.kv, s.width)
	l.matrix(n("self_attn.v_proj"), d.QKVBias, s.kv, s.width)
	l.matrix(n("self_attn.o_proj"), d.OutBias, s.width, s.q)
	if d.QKNorm {
		l.add(n("self_attn.q_norm"), cfg.HeadDim)
		l.add(n("self_attn.k_norm"), cfg.HeadDim)
	}
	l.add(n("post_attention_layernorm"), s.width)
	l.matrix(n("mlp.gate_proj"), d.MLPBias, s.inner, s.width)
	l.matrix(n("mlp.up_proj"), d.MLPBias, s.inner, s.width)
	l.matrix(n("mlp.down_proj"), d.MLPBias, s.width, s.inner)
}

func (l *specs) add(name string, shape ...int) { *l = append(*l, Spec{name + ".weight", shape}) }

func (l *specs) matrix(name string, bias bool, out, in int) {
	l.add(name, out, in)
	if bias {
		*l = append(*l, Spec{name + ".bias", []int{out}})
	}
}

// Random draws values for s from the stream of run and stage: matrices normal
// with deviation 1/√inputs, vectors near 1.
func (s Spec) Random(run uint64, stage string) []float32 {
	rng := seed.Stream(run, stage, s.Name)
	n, mean, dev := s.Shape[0], 1.0, 0.1
	if len(s.Shape) == 2 {
		n, mean, dev = n*s.Shape[1], 0, 1/math.Sqrt(float64(s.Shape[1]))
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(mean + dev*rng.NormFloat64())
	}
	return values
}

// Random returns random tensors for a model of configuration cfg and design d,
// for tests and for pipelines that are tried out without a real model.
func Random(cfg model.Config, d Design, run uint64) model.MapSource {
	src := model.MapSource{}
	for _, s := range Specs(cfg, d) {
		src[s.Name] = model.Tensor{Values: s.Random(run, "random"), Shape: s.Shape}
	}
	return src
}
