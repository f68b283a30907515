// Package decoder is what the families Llama, Qwen2 and Qwen3 have in common,
// forward and backward: a token's vector passes through blocks of causal
// grouped-query attention with rotary positions and of a SwiGLU feed-forward,
// each behind an RMSNorm and added to the vector; a last RMSNorm and the output
// matrix give the logits. A family (package model/llama) says by a Design what
// its blocks have besides.
package decoder

import (
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/nn"
)

// A Design is where families differ: what their blocks have.
type Design struct {
	QKVBias bool // biases of query, key and value
	OutBias bool // a bias of the attention's output matrix
	MLPBias bool // biases of the feed-forward's three matrices
	QKNorm  bool // an RMSNorm over each head's query and key, before the rotation
}

// A Model is a model.Model of one of the families.
type Model struct {
	cfg     model.Config
	weights *model.Weights
	embed   *nn.Embedding
	blocks  []*block
	head    *nn.Head
	arena   *nn.Arena
	freq    []float64
	tape    *tape // of the last Forward that kept one
}

// New loads a model of design d from src.
func New(cfg model.Config, d Design, b device.Backend, src model.Source, o model.Options) (model.Model, error) {
	w := model.NewWeights(b, src, o)
	m := &Model{cfg: cfg, weights: w, arena: nn.NewArena(b), freq: cfg.RopeFreq()}
	m.embed = w.Embedding(embedName, cfg.VocabSize, cfg.HiddenSize)
	for i := range cfg.NumHiddenLayers {
		m.blocks = append(m.blocks, newBlock(w, cfg, d, o.DType, i))
	}
	m.head = &nn.Head{Backend: b, Norm: w.Norm(normName, cfg.HiddenSize, cfg.RMSNormEps)}
	if cfg.TieWordEmbeddings {
		m.head.Linear = w.TiedHead(headName, m.embed)
	} else {
		m.head.Linear = w.Linear(cfg.HiddenSize, model.Part{Name: headName, Out: cfg.VocabSize})
	}
	if err := w.Finish(); err != nil {
		w.Close()
		return nil, err
	}
	return m, nil
}

// newBlock loads block i, with weights of dtype.
func newBlock(w *model.Weights, cfg model.Config, d Design, dtype device.DType, i int) *block {
	n, s := names(i), sizesOf(cfg)
	w.Ignore(n("self_attn.rotary_emb.inv_freq"))
	part := func(name string, out int, bias bool) model.Part {
		return model.Part{Name: n(name), Out: out, Bias: bias}
	}
	b := &block{
		layer:   i,
		shape:   device.AttentionShape{Heads: cfg.NumAttentionHeads, KVHeads: cfg.NumKeyValueHeads, HeadDim: cfg.HeadDim, DType: dtype},
		attNorm: w.Norm(n("input_layernorm"), s.width, cfg.RMSNormEps),
		qkv: w.Linear(s.width, part("self_attn.q_proj", s.q, d.QKVBias),
			part("self_attn.k_proj", s.kv, d.QKVBias), part("self_attn.v_proj", s.kv, d.QKVBias)),
		o:       w.Linear(s.q, part("self_attn.o_proj", s.width, d.OutBias)),
		ffnNorm: w.Norm(n("post_attention_layernorm"), s.width, cfg.RMSNormEps),
		gateUp:  w.Linear(s.width, part("mlp.gate_proj", s.inner, d.MLPBias), part("mlp.up_proj", s.inner, d.MLPBias)),
		down:    w.Linear(s.inner, part("mlp.down_proj", s.width, d.MLPBias)),
	}
	if d.QKNorm {
		b.qNorm = w.Norm(n("self_attn.q_norm"), cfg.HeadDim, cfg.RMSNormEps)
		b.kNorm = w.Norm(n("self_attn.k_norm"), cfg.HeadDim, cfg.RMSNormEps)
	}
	return b
}

// Config returns the model's configuration.
func (m *Model) Config() model.Config { return m.cfg }

// Weights returns the model's parameters.
func (m *Model) Weights() *model.Weights { return m.weights }

// Close frees the model's memory.
func (m *Model) Close() {
	m.arena.Close()
	m.weights.Close()
}

// NewCache makes room for one sequence of up to capacity tokens.
func (m *Model) NewCache(capacity int) device.Cache {
	return m.weights.Backend.NewCache(m.cfg.NumHiddenLayers, capacity, m.blocks[0].shape)
}

// Logits returns the next-token logits of the batch's Rows.
func (m *Model) Logits(b *model.Batch) device.Mat {
	x := m.run(b, nil)
	for _, s := range b.Seqs {
		if s.Cache != nil {
			s.Cache.Advance(s.Len)
		}
	}
	return m.head.Logits(m.arena, x)
}

// A tape is what Backward needs of a Forward.
type tape struct {
	batch *model.Batch
	attn  []attnActs
	ffn   []ffnActs
	head  *nn.HeadActs
}

// Forward computes the log-probability of each of the batch's Targets.
func (m *Model) Forward(b *model.Batch, logp []float32, keep bool) {
	m.tape = nil
	if len(b.Rows) == 0 {
		return
	}
	var t *tape
	if keep {
		t = &tape{batch: b, attn: make([]attnActs, len(m.blocks)), ffn: make([]ffnActs, len(m.blocks))}
	}
	x := m.run(b, t)
	invTemp := b.InvTemp
	if invTemp == 0 {
		invTemp = 1
	}
	head := m.head.Forward(m.arena, logp, x, b.Targets, invTemp)
	if keep {
		t.head, m.tape = head, t
	}
}

// run returns the last block's output for the batch's Rows. Nothing after the
// last attention depends on other rows, so they end there.
func (m *Model) run(b *model.Batch, t *tape) device.Mat {
	m.arena.Reset()
	p := m.pass(b, t != nil)
	x := m.arena.Mat(len(b.IDs), m.cfg.HiddenSize)
	m.embed.Forward(x, b.IDs)
	for i, blk := range m.blocks {
		mark := m.arena.Mark()
		mid, attn := blk.attend(p, x)
		last := i == len(m.blocks)-1
		if last {
			mid = p.pick(mid, b.Rows)
		}
		out, ffn := blk.feed(p, mid)
		if p.keep {
			t.attn[i], t.ffn[i] = attn, ffn
		} else if !last { // out is x, changed in place
			m.arena.Release(mark)
		}
		x = out
	}
	return x
}

// Backward adds the gradients of the last Forward that kept its tape.
func (m *Model) Backward(dlogp []float32) {
	t := m.tape
	if t == nil {
		return
	}
	p := m.pass(t.batch, true)
	d := m.arena.Zeros(len(t.batch.Rows), m.cfg.HiddenSize)
	dx := m.arena.Zeros(len(t.batch.IDs), m.cfg.HiddenSize)
	m.head.Backward(m.arena, d, t.head, dlogp)
	last := len(m.blocks) - 1
	for i := last; i >= 0; i-- {
		mark := m.arena.Mark()
		m.blocks[i].feedBackward(p, d, &t.ffn[i])
		if i == last {
			p.EmbedGrad(dx, d, t.batch.Rows) // back to all rows
			d = dx
		}
		m.blocks[i].attendBackward(p, d, &t.attn[i])
		m.arena.Release(mark)
	}
	m.embed.Backward(dx, t.batch.IDs)
	m.tape = nil
}

func (m *Model) pass(b *model.Batch, keep bool) *pass {
	return &pass{Backend: m.weights.Backend, arena: m.arena, batch: b, freq: m.freq, keep: keep}
}
