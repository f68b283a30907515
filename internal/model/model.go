package model

import "agentmill/internal/device"

// A Model computes one family's architecture. Calls are made from one
// goroutine at a time. It has more than six methods because it is both sides,
// playing and training, of one set of weights.
type Model interface {
	Config() Config
	Weights() *Weights

	// NewCache makes room for one sequence's keys and values.
	NewCache(capacity int) device.Cache
	// Logits runs a batch and returns the next-token logits of its Rows. They
	// are valid until the next call. Caches advance over the batch's tokens.
	Logits(b *Batch) device.Mat

	// Forward computes the log-probability of each target. If keep is set it
	// saves what Backward needs; nothing else may run between the two.
	Forward(b *Batch, logp []float32, keep bool)
	// Backward adds to the gradients of all trained parameters, given the
	// loss's gradient for each target of the last Forward.
	Backward(dlogp []float32)

	Close()
}
