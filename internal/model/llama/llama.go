// Package llama is the Llama family: Llama 2 and 3, SmolLM2 and others.
//
// It is the plain decoder: RMSNorm, grouped-query attention with rotary
// positions, SwiGLU. Llama 3.1 and later stretch the rotation for long contexts
// (model.RopeScaling). Some descendants have biases; their configuration says
// so, for all four matrices of the attention or all three of the feed-forward.
package llama

import (
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
)

// New loads a model of the Llama family from src.
func New(cfg model.Config, b device.Backend, src model.Source, o model.Options) (model.Model, error) {
	return decoder.New(cfg, Design(cfg), b, src, o)
}

// Design is what Llama's blocks have.
func Design(cfg model.Config) decoder.Design {
	return decoder.Design{QKVBias: cfg.AttentionBias, OutBias: cfg.AttentionBias, MLPBias: cfg.MLPBias}
}
