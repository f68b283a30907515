package tinypolicy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
	"agentmill/internal/model/llama"
	"agentmill/internal/model/qwen2"
	"agentmill/internal/model/qwen3"
)

// Tiny is the shape that Write writes.
const Tiny = "tiny"

// shapes are what a folder can be shaped like: very small models of each family,
// and published ones. A vocab_size of 0 is that of the tokenizer.
var shapes = map[string]model.Config{
	Tiny: tiny("llama"),
	"tiny-llama3": with(tiny("llama"), func(c *model.Config) {
		c.RopeTheta, c.TieWordEmbeddings = 500000, false
		c.RopeScaling = &model.RopeScaling{Type: "llama3", Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositions: 128}
	}),
	"tiny-qwen2": with(tiny("qwen2"), func(c *model.Config) { c.RMSNormEps, c.RopeTheta = 1e-6, 1e6 }),
	"tiny-qwen3": with(tiny("qwen3"), func(c *model.Config) { c.RMSNormEps, c.RopeTheta, c.HeadDim = 1e-6, 1e6, 32 }),
	"smollm2-135m": {
		ModelType: "llama", VocabSize: 49152, HiddenSize: 576, IntermediateSize: 1536, NumHiddenLayers: 30,
		NumAttentionHeads: 9, NumKeyValueHeads: 3, HeadDim: 64, MaxPositionEmbeddings: 8192,
		RMSNormEps: 1e-5, RopeTheta: 100000, TieWordEmbeddings: true,
	},
	"qwen2.5-0.5b": {
		ModelType: "qwen2", VocabSize: 151936, HiddenSize: 896, IntermediateSize: 4864, NumHiddenLayers: 24,
		NumAttentionHeads: 14, NumKeyValueHeads: 2, HeadDim: 64, MaxPositionEmbeddings: 32768,
		RMSNormEps: 1e-6, RopeTheta: 1000000, TieWordEmbeddings: true,
	},
	"qwen3-0.6b": {
		ModelType: "qwen3", VocabSize: 151936, HiddenSize: 1024, IntermediateSize: 3072, NumHiddenLayers: 28,
		NumAttentionHeads: 16, NumKeyValueHeads: 8, HeadDim: 128, MaxPositionEmbeddings: 40960,
		RMSNormEps: 1e-6, RopeTheta: 1000000, TieWordEmbeddings: true,
	},
	"llama-3.2-1b": {
		ModelType: "llama", VocabSize: 128256, HiddenSize: 2048, IntermediateSize: 8192, NumHiddenLayers: 16,
		NumAttentionHeads: 32, NumKeyValueHeads: 8, HeadDim: 64, MaxPositionEmbeddings: 131072,
		RMSNormEps: 1e-5, RopeTheta: 500000, TieWordEmbeddings: true,
		RopeScaling: &model.RopeScaling{Type: "llama3", Factor: 32, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositions: 8192},
	},
}

// families are the classes of transformers and the designs by model_type.
var families = map[string]struct {
	class  string
	design func(model.Config) decoder.Design
}{
	"llama": {"LlamaForCausalLM", llama.Design},
	"qwen2": {"Qwen2ForCausalLM", qwen2.Design},
	"qwen3": {"Qwen3ForCausalLM", qwen3.Design},
}

func tiny(modelType string) model.Config {
	return model.Config{
		ModelType: modelType, HiddenSize: 64, IntermediateSize: 128, NumHiddenLayers: 2,
		NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 16, MaxPositionEmbeddings: 4096,
		RMSNormEps: 1e-5, RopeTheta: 10000, TieWordEmbeddings: true,
	}
}

func with(c model.Config, change func(*model.Config)) model.Config {
	change(&c)
	return c
}

// Shapes are the names that Config knows.
func Shapes() []string { return slices.Sorted(maps.Keys(shapes)) }

// Config returns the configuration of a shape for a tokenizer of vocab tokens.
func Config(shape string, vocab int) (model.Config, error) {
	c, ok := shapes[shape]
	if !ok {
		return c, fmt.Errorf("shape %q: want one of %s", shape, strings.Join(Shapes(), ", "))
	}
	c.VocabSize = max(c.VocabSize, vocab)
	c.Architectures, c.HiddenAct = []string{families[c.ModelType].class}, "silu"
	c.BOSTokenID, c.EOSTokenID, c.PadTokenID = json.RawMessage("1"), json.RawMessage("2"), json.RawMessage("2")
	return c, c.Check()
}
