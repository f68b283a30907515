// Package model owns what all model families share: Config (the published
// config.json), Param (a published tensor and its gradient), Weights (the
// parameters of one model, loaded by name, trained in full, by adapters or not
// at all) and Model, which a family implements once, forward and backward.
//
// M1: every parameter is a published tensor, found by its published name; a
// tensor that is missing, left over, misshaped or not finite is an error that
// names it.
// M2: the log-probabilities of Forward and the logits of Logits are the same
// bits, whatever else is in the batch (invariant D2 of package device).
package model

import (
	"encoding/json"
	"fmt"
	"math"

	"agentmill/internal/jsonl"
)

// A Config describes a model, in the names of Hugging Face's config.json.
type Config struct {
	Architectures         []string        `json:"architectures,omitempty"`
	ModelType             string          `json:"model_type"`
	VocabSize             int             `json:"vocab_size"`
	HiddenSize            int             `json:"hidden_size"`
	IntermediateSize      int             `json:"intermediate_size"`
	NumHiddenLayers       int             `json:"num_hidden_layers"`
	NumAttentionHeads     int             `json:"num_attention_heads"`
	NumKeyValueHeads      int             `json:"num_key_value_heads"`
	HeadDim               int             `json:"head_dim,omitempty"`
	MaxPositionEmbeddings int             `json:"max_position_embeddings"`
	RMSNormEps            float64         `json:"rms_norm_eps"`
	RopeTheta             float64         `json:"rope_theta"`
	RopeScaling           *RopeScaling    `json:"rope_scaling,omitempty"`
	HiddenAct             string          `json:"hidden_act"`
	AttentionBias         bool            `json:"attention_bias"`
	MLPBias               bool            `json:"mlp_bias"`
	TieWordEmbeddings     bool            `json:"tie_word_embeddings"`
	TorchDType            string          `json:"torch_dtype,omitempty"`
	BOSTokenID            json.RawMessage `json:"bos_token_id,omitempty"`
	EOSTokenID            json.RawMessage `json:"eos_token_id,omitempty"`
	PadTokenID            json.RawMessage `json:"pad_token_id,omitempty"`
}

// ParseConfig reads a config.json, fills in what it may leave out, and checks it.
func ParseConfig(data []byte) (Config, error) {
	var c Config
	var x excluded
	var rope newerRope
	for _, part := range []any{&c, &x, &rope} {
		if err := jsonl.Unmarshal(data, part); err != nil {
			return c, fmt.Errorf("read config.json: %w", err)
		}
	}
	c.fillRope(rope)
	c.fill()
	if err := c.Check(); err != nil {
		return c, err
	}
	return c, x.check(c)
}

// excluded are fields of config.json that ask for what no family here does.
type excluded struct {
	Quantization *struct {
		Method string `json:"quant_method"`
	} `json:"quantization_config"`
	UseWindow     bool     `json:"use_sliding_window"`
	Window        *int     `json:"sliding_window"`
	LayerTypes    []string `json:"layer_types"`
	PartialRotary *float64 `json:"partial_rotary_factor"`
}

func (x *excluded) check(c Config) error {
	if x.Quantization != nil {
		return fmt.Errorf("config.json: quantization_config is of method %q: want weights in f32, f16 or bf16, or a GGUF file", x.Quantization.Method)
	}
	if x.UseWindow && x.Window != nil && *x.Window < c.MaxPositionEmbeddings {
		return fmt.Errorf("config.json: use_sliding_window is true with %d of %d positions: want false", *x.Window, c.MaxPositionEmbeddings)
	}
	for i, kind := range x.LayerTypes {
		if kind != "full_attention" {
			return fmt.Errorf("config.json: layer_types: layer %d is %q: want \"full_attention\"", i, kind)
		}
	}
	if p := x.PartialRotary; p != nil && *p != 1 {
		return fmt.Errorf("config.json: partial_rotary_factor is %v: want 1", *p)
	}
	return nil
}

// fill sets what config.json may leave out to the published defaults.
func (c *Config) fill() {
	if c.NumKeyValueHeads == 0 {
		c.NumKeyValueHeads = c.NumAttentionHeads
	}
	if c.HeadDim == 0 && c.ModelType == "qwen3" {
		c.HeadDim = 128
	}
	if c.HeadDim == 0 && c.NumAttentionHeads > 0 {
		c.HeadDim = c.HiddenSize / c.NumAttentionHeads
	}
	if c.RopeTheta == 0 {
		c.RopeTheta = 10000
	}
	if c.HiddenAct == "" {
		c.HiddenAct = "silu"
	}
	if c.RMSNormEps == 0 {
		c.RMSNormEps = 1e-6
	}
}

// Check returns an error that names the first field that is out of range.
func (c *Config) Check() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"vocab_size", c.VocabSize},
		{"hidden_size", c.HiddenSize},
		{"intermediate_size", c.IntermediateSize},
		{"num_hidden_layers", c.NumHiddenLayers},
		{"num_attention_heads", c.NumAttentionHeads},
		{"num_key_value_heads", c.NumKeyValueHeads},
		{"head_dim", c.HeadDim},
		{"max_position_embeddings", c.MaxPositionEmbeddings},
	} {
		if f.value < 1 || f.value > math.MaxInt32 {
			return fmt.Errorf("config.json: %s is %d: want at least 1", f.name, f.value)
		}
	}
	switch {
	case c.NumAttentionHeads%c.NumKeyValueHeads != 0:
		return fmt.Errorf("config.json: num_attention_heads is %d and num_key_value_heads %d: want a multiple", c.NumAttentionHeads, c.NumKeyValueHeads)
	case c.HeadDim%2 != 0:
		return fmt.Errorf("config.json: head_dim is %d: want an even number", c.HeadDim)
	case c.HiddenAct != "silu":
		return fmt.Errorf("config.json: hidden_act is %q: want \"silu\"", c.HiddenAct)
	case c.RMSNormEps < 0 || math.IsNaN(c.RMSNormEps):
		return fmt.Errorf("config.json: rms_norm_eps is %v: want at least 0", c.RMSNormEps)
	case !(c.RopeTheta > 0) || math.IsInf(c.RopeTheta, 0):
		return fmt.Errorf("config.json: rope_theta is %v: want a positive number", c.RopeTheta)
	}
	if err := c.RopeScaling.check(); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	return nil
}
