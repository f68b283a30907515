// Package qwen3 is the Qwen3 family, its dense models.
//
// It is Llama's decoder with an RMSNorm over each head's query and each head's
// key, between projection and rotation; all heads of a layer share the two
// weights. This keeps the scores small, so Qwen2's biases are gone. The size of
// a head is free: heads times size need not be the width of the model.
package qwen3

import (
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
)

// New loads a model of the Qwen3 family from src.
func New(cfg model.Config, b device.Backend, src model.Source, o model.Options) (model.Model, error) {
	return decoder.New(cfg, Design(cfg), b, src, o)
}

// Design is what Qwen3's blocks have.
func Design(cfg model.Config) decoder.Design {
	return decoder.Design{QKNorm: true, QKVBias: cfg.AttentionBias, OutBias: cfg.AttentionBias}
}
