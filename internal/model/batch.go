package model

import (
	"fmt"
	"slices"

	"agentmill/internal/device"
)

// A Batch is ragged: the tokens of all sequences one after another, no padding.
type Batch struct {
	IDs       []int32
	Positions []int32 // of each token in its sequence
	Seqs      []device.Seq
	// Rows are the rows whose predictions are wanted; one may be wanted more than
	// once, where sequences begin alike.
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

// Input are the tokens of s that are computed: what follows the last trained one
// changes nothing, and nothing is predicted from that.
func (s Sample) Input() []int32 {
	for p, trained := range slices.Backward(s.Trained) {
		if trained {
			return s.IDs[:p]
		}
	}
	return nil
}

// Shared is how many computed tokens s begins with as t does.
func (s Sample) Shared(t Sample) (n int) {
	a, b := s.Input(), t.Input()
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Pack packs samples into one batch whose Targets are the trained tokens,
// sample by sample, each sample by itself.
func Pack(samples []Sample) (*Batch, error) { return pack(samples, false) }

// PackShared is Pack, but what a sample begins with as an earlier one does is
// computed once for both. Predictions are the same bits; gradients are the same
// sums in another order.
func PackShared(samples []Sample) (*Batch, error) { return pack(samples, true) }

func pack(samples []Sample, share bool) (*Batch, error) {
	p := packer{batch: &Batch{}}
	for i, s := range samples {
		if len(s.IDs) != len(s.Trained) {
			return nil, fmt.Errorf("pack sample %d: %d tokens and %d marks: want equal lengths", i, len(s.IDs), len(s.Trained))
		}
		if len(s.Trained) > 0 && s.Trained[0] {
			return nil, fmt.Errorf("pack sample %d: its first token is marked as trained: want a token before it", i)
		}
		at := p.add(s)
		if share {
			p.before = append(p.before, placed{s, at})
		}
	}
	return p.batch, nil
}

// A packer fills a batch.
type packer struct {
	batch  *Batch
	before []placed // samples that others may begin with
}

// placed is a sample and the row of each of its computed tokens.
type placed struct {
	Sample
	rows []int32
}

// add appends a sample and returns the row of each of its computed tokens.
func (p *packer) add(s Sample) []int32 {
	b, ids := p.batch, s.Input()
	rows := p.begun(s)
	n, start := len(rows), len(b.IDs)
	for i, id := range ids[n:] {
		b.IDs = append(b.IDs, id)
		b.Positions = append(b.Positions, int32(n+i))
		rows = append(rows, int32(start+i))
	}
	if len(ids) > n {
		b.Seqs = append(b.Seqs, device.Seq{Start: start, Len: len(ids) - n, Prefix: spans(rows[:n])})
	}
	for i, trained := range s.Trained {
		if trained {
			b.Rows = append(b.Rows, rows[i-1])
			b.Targets = append(b.Targets, s.IDs[i])
		}
	}
	return rows
}

// begun are the rows of what s begins with that are there.
func (p *packer) begun(s Sample) (rows []int32) {
	for _, t := range p.before {
		if n := s.Shared(t.Sample); n > len(rows) {
			rows = t.rows[:n:n]
		}
	}
	return rows
}

// spans are rows as runs.
func spans(rows []int32) (runs []device.Span) {
	for i, r := range rows {
		if i == 0 || r != rows[i-1]+1 {
			runs = append(runs, device.Span{Start: int(r)})
		}
		runs[len(runs)-1].Len++
	}
	return runs
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
