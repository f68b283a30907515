// Package tinypolicy writes a complete policy folder with a very small model of
// random weights, for tests and for trying the pipeline without a download.
package tinypolicy

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"agentmill/internal/checkpoint"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
	"agentmill/internal/seed"
	"agentmill/internal/tokenizer"
)

// words are the ones that the tokenizer joins, so that a game's usual texts are
// short: each gives one merge for every letter after the first.
var words = strings.Fields(`Ġthe Ġto Ġof Ġand Ġin Ġis Ġon Ġfor Ġwas Ġby Ġfrom search read answer
	system user assistant Ġmail Ġinbox Ġdate Ġsubject Ġwhen Ġwho Ġwhat Ġday example ĠI Ġdon't Ġknow`)

// Specials are the control tokens, by id from 0.
var Specials = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}

// chatTemplate is ChatML.
const chatTemplate = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

// Tokenizer returns the tiny policy's tokenizer: all bytes, a few words, and
// the control tokens of ChatML.
func Tokenizer() (*tokenizer.Tokenizer, error) {
	v := tokenizer.Vocab{Split: tokenizer.SplitSmolLM}
	known := map[string]bool{}
	add := func(token string) {
		v.Tokens = append(v.Tokens, token)
		known[token] = true
	}
	for id, content := range Specials {
		v.Added = append(v.Added, tokenizer.Added{ID: int32(id), Content: content, Special: true})
		add(content)
	}
	for _, token := range tokenizer.ByteTokens() {
		add(token)
	}
	for _, word := range words {
		letters := strings.Split(word, "")
		for i := 1; i < len(letters); i++ {
			left := strings.Join(letters[:i], "")
			if !known[left+letters[i]] {
				v.Merges = append(v.Merges, [2]string{left, letters[i]})
				add(left + letters[i])
			}
		}
	}
	return tokenizer.New(v)
}

// Config returns the tiny model's configuration for a vocabulary of vocab tokens.
func Config(vocab int) model.Config {
	return model.Config{
		Architectures: []string{"LlamaForCausalLM"}, ModelType: "llama", VocabSize: vocab,
		HiddenSize: 64, IntermediateSize: 128, NumHiddenLayers: 2,
		NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 16, MaxPositionEmbeddings: 4096,
		RMSNormEps: 1e-5, RopeTheta: 10000, HiddenAct: "silu", TieWordEmbeddings: true,
		BOSTokenID: json.RawMessage("1"), EOSTokenID: json.RawMessage("2"), PadTokenID: json.RawMessage("2"),
	}
}

// Tensors returns random weights for c in the published names: matrices normal
// with deviation 1/√inputs, normalisations near 1.
func Tensors(c model.Config, run uint64) []safetensors.Entry {
	width, kv, inner := c.HiddenSize, c.NumKeyValueHeads*c.HeadDim, c.IntermediateSize
	heads := c.NumAttentionHeads * c.HeadDim
	var entries []safetensors.Entry
	add := func(name string, shape ...int) {
		entries = append(entries, safetensors.Of(name, safetensors.BF16, shape, random(run, name, shape)))
	}
	add("model.embed_tokens.weight", c.VocabSize, width)
	for i := range c.NumHiddenLayers {
		layer := fmt.Sprintf("model.layers.%d.", i)
		add(layer+"input_layernorm.weight", width)
		add(layer+"self_attn.q_proj.weight", heads, width)
		add(layer+"self_attn.k_proj.weight", kv, width)
		add(layer+"self_attn.v_proj.weight", kv, width)
		add(layer+"self_attn.o_proj.weight", width, heads)
		add(layer+"post_attention_layernorm.weight", width)
		add(layer+"mlp.gate_proj.weight", inner, width)
		add(layer+"mlp.up_proj.weight", inner, width)
		add(layer+"mlp.down_proj.weight", width, inner)
	}
	add("model.norm.weight", width)
	return entries
}

func random(run uint64, name string, shape []int) []float32 {
	rng := seed.Stream(run, "tiny policy", name)
	n, mean, deviation := shape[0], 1.0, 0.1
	if len(shape) == 2 {
		n, mean, deviation = n*shape[1], 0, 1/math.Sqrt(float64(shape[1]))
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(mean + deviation*rng.NormFloat64())
	}
	return values
}

// Write writes the policy folder at dir. The same seed gives the same bytes.
func Write(dir string, run uint64) (checkpoint.Manifest, error) {
	tok, err := Tokenizer()
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	c := Config(tok.Size())
	parent, err := checkpoint.New(c, tok, map[string]string{"bos": Specials[1], "eos": Specials[2], "pad": Specials[2]}, chatTemplate)
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	return checkpoint.Save(dir, checkpoint.Contents{
		Parent: parent, Tensors: Tensors(c, run),
		Manifest: checkpoint.Manifest{Method: "random", Updated: true, Flags: map[string]string{"seed": strconv.FormatUint(run, 10)}},
	})
}
