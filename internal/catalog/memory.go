package catalog

import (
	"cmp"
	"fmt"

	"agentmill/internal/device"
	"agentmill/internal/infer"
	"agentmill/internal/model"
)

// A footprint is what playing takes of memory at the most, in bytes.
type footprint struct {
	weights  int64 // with what is needed to load and to run them
	position int64 // keys and values of one token
	row      int64 // logits of one attempt
}

func footprintOf(c model.Config, dtype device.DType) footprint {
	size := int64(dtype.Size())
	h, f := int64(c.HiddenSize), int64(c.IntermediateSize)
	q, kv := int64(c.NumAttentionHeads*c.HeadDim), int64(c.NumKeyValueHeads*c.HeadDim)
	layers, vocab := int64(c.NumHiddenLayers), int64(c.VocabSize)
	matrices := layers * (h*(q+2*kv) + q*h + 3*h*f)
	table := 4 * vocab * h // of embeddings; as much again while the largest tensor is read
	activations := 4 * infer.DefaultBatchTokens * (4*h + 2*q + 2*kv + 3*f)
	return footprint{
		weights:  size*(matrices+vocab*h) + 2*table + activations,
		position: 8 * layers * kv,
		row:      8 * vocab,
	}
}

// checkMemory says what fits where playing could take more than c allows.
func checkMemory(c LocalConfig, m model.Config, dtype device.DType) error {
	if c.MaxMemory == 0 {
		return nil
	}
	context := int64(m.MaxPositionEmbeddings)
	if c.Context > 0 {
		context = min(context, int64(c.Context))
	}
	sessions := int64(cmp.Or(c.Sessions, infer.DefaultSessions))
	need := footprintOf(m, dtype)
	attempt := context*need.position + need.row
	left := c.MaxMemory - need.weights
	switch fits := left / attempt; {
	case left >= sessions*attempt:
		return nil
	case fits > 0:
		return fmt.Errorf("%s of memory: the weights take %s and an attempt of %d tokens up to %s: %d at a time fit, not %d (--concurrency, --context)",
			gigabytes(c.MaxMemory), gigabytes(need.weights), context, gigabytes(attempt), fits, sessions)
	case left > need.row+need.position:
		return fmt.Errorf("%s of memory: the weights take %s: an attempt of %d tokens fits, not one of %d (--context)",
			gigabytes(c.MaxMemory), gigabytes(need.weights), (left-need.row)/need.position, context)
	}
	return fmt.Errorf("%s of memory: the weights alone take %s", gigabytes(c.MaxMemory), gigabytes(need.weights))
}

func gigabytes(n int64) string { return fmt.Sprintf("%.2f GB", float64(n)/1e9) }
