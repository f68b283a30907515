// Package qwen2 is the family of Qwen2 and Qwen2.5.
//
// It is Llama's decoder with a bias on query, key and value, never on another
// matrix; no field of the configuration says so. The small models share the
// embedding with the output (tie_word_embeddings), from 7B on they don't.
package qwen2

import (
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
)

// New loads a model of the Qwen2 family from src.
func New(cfg model.Config, b device.Backend, src model.Source, o model.Options) (model.Model, error) {
	return decoder.New(cfg, Design(cfg), b, src, o)
}

// Design is what Qwen2's blocks have.
func Design(model.Config) decoder.Design { return decoder.Design{QKVBias: true} }
