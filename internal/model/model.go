package model

import (
	"fmt"

	"agentmill/internal/device"
)

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

// A Batch is ragged: the tokens of all sequences one after another, no padding.
type Batch struct {
	IDs       []int32
	Positions []int32 // of each token in its sequence
	Seqs      []device.Seq
	// Rows are the rows whose predictions are wanted, in ascending order.
	Rows []int32
	// Targets are the tokens that Rows predict (for Forward).
	Targets []int32
	// InvTemp divides the temperature out of the logits; 0 means 1.
	InvTemp float32
}

// A Sample is one sequence to score or to train on. Trained marks the tokens
// whose log-probability counts.
type Sample struct {
	IDs     []int32
	Trained []bool
}

// Targets is how many tokens of s count.
func (s Sample) Targets() int {
	n := 0
	for _, t := range s.Trained {
		if t {
			n++
		}
	}
	return n
}

// Pack packs samples into one batch whose Targets are the trained tokens,
// sample by sample. What follows the last trained token of a sample changes
// nothing and is left out.
func Pack(samples []Sample) (*Batch, error) {
	b := &Batch{}
	for i, s := range samples {
		if len(s.IDs) != len(s.Trained) {
			return nil, fmt.Errorf("pack sample %d: %d tokens and %d marks: want equal lengths", i, len(s.IDs), len(s.Trained))
		}
		if len(s.Trained) > 0 && s.Trained[0] {
			return nil, fmt.Errorf("pack sample %d: its first token is marked as trained: want a token before it", i)
		}
		b.add(s)
	}
	return b, nil
}

// add appends one sample.
func (b *Batch) add(s Sample) {
	start, used := len(b.IDs), 0
	for p, trained := range s.Trained {
		if trained {
			b.Rows = append(b.Rows, int32(start+p-1))
			b.Targets = append(b.Targets, s.IDs[p])
			used = p
		}
	}
	if used == 0 {
		return
	}
	b.IDs = append(b.IDs, s.IDs[:used]...)
	for p := range used {
		b.Positions = append(b.Positions, int32(p))
	}
	b.Seqs = append(b.Seqs, device.Seq{Start: start, Len: used})
}

// Check returns an error that names the first token outside the vocabulary of
// c or the first sequence beyond its positions.
func (b *Batch) Check(c Config) error {
	for i, id := range b.IDs {
		if id < 0 || int(id) >= c.VocabSize {
			return fmt.Errorf("token %d at position %d: want 0 to %d", id, b.Positions[i], c.VocabSize-1)
		}
	}
	for _, id := range b.Targets {
		if id < 0 || int(id) >= c.VocabSize {
			return fmt.Errorf("target token %d: want 0 to %d", id, c.VocabSize-1)
		}
	}
	for i, s := range b.Seqs {
		if end := int(b.Positions[s.Start+s.Len-1]) + 1; end > c.MaxPositionEmbeddings {
			return fmt.Errorf("sequence %d has %d tokens: want at most %d (max_position_embeddings)", i, end, c.MaxPositionEmbeddings)
		}
	}
	return nil
}
