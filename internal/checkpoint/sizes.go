package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// checkSizes compares the configuration with tensors that show each of its
// sizes: a wrong number is to be an error before memory is taken for it.
func (p *Policy) checkSizes() error {
	c := p.Config
	if n := p.Tokenizer.Size(); n > c.VocabSize {
		return fmt.Errorf("the tokenizer has %d tokens, the model %d (vocab_size)", n, c.VocabSize)
	}
	if blocks := blocks(p.weights.Names()); blocks != c.NumHiddenLayers {
		return fmt.Errorf("num_hidden_layers is %d, the weights have %d layers", c.NumHiddenLayers, blocks)
	}
	for _, t := range []struct {
		name  string
		shape []int
	}{
		{"model.embed_tokens.weight", []int{c.VocabSize, c.HiddenSize}},
		{"model.layers.0.self_attn.q_proj.weight", []int{c.NumAttentionHeads * c.HeadDim, c.HiddenSize}},
		{"model.layers.0.self_attn.k_proj.weight", []int{c.NumKeyValueHeads * c.HeadDim, c.HiddenSize}},
		{"model.layers.0.mlp.gate_proj.weight", []int{c.IntermediateSize, c.HiddenSize}},
	} {
		shape, err := p.weights.Shape(t.name)
		if err != nil {
			return err
		}
		if !slices.Equal(shape, t.shape) {
			return fmt.Errorf("tensor %q has shape %v: want %v", t.name, shape, t.shape)
		}
	}
	return nil
}

// blocks counts the layers that tensors belong to.
func blocks(names []string) int {
	n := 0
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, "model.layers."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if i, err := strconv.Atoi(number); err == nil {
				n = max(n, i+1)
			}
		}
	}
	return n
}
