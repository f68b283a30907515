package decoder

import (
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/nn"
)

// A pass is one run of a batch through the blocks. If keep is not set, a block
// works in place and its activations are forgotten.
type pass struct {
	device.Backend
	arena *nn.Arena
	batch *model.Batch
	freq  []float64
	keep  bool
}

// A block is one layer: x += o(attention(norm(x))), then x += down(swiglu(norm(x))).
type block struct {
	layer   int
	shape   device.AttentionShape
	attNorm *nn.Norm
	qkv     *nn.Linear // q | k | v
	qNorm   *nn.Norm   // over each head's q, and k; nil in most families
	kNorm   *nn.Norm
	o       *nn.Linear
	ffnNorm *nn.Norm
	gateUp  *nn.Linear // gate | up
	down    *nn.Linear
}

// attnActs is what the backward pass of the attention half needs. T rows each.
type attnActs struct {
	in, normed   device.Mat // [T, C]
	rstd         device.Buffer
	raw          device.Mat // [T, (H+2K)·D], before qNorm and kNorm
	headRstd     device.Buffer
	qkv          device.Mat // [T, (H+2K)·D], q and k rotated
	heads        device.Mat // [T, H·D]
	lse          device.Buffer
	qkvLow, oLow device.Mat // of adapters
}

// attend returns x + o(attention(norm(x))).
func (b *block) attend(p *pass, x device.Mat) (device.Mat, attnActs) {
	var s attnActs
	s.in = x
	s.normed, s.rstd = p.norm(b.attNorm, x)
	s.raw, s.qkvLow = p.linear(b.qkv, s.normed)
	s.qkv, s.headRstd = p.normHeads(b, s.raw)
	p.rope(s.qkv, b.shape, 1)
	s.heads, s.lse = p.attention(b, s.qkv)
	x, s.oLow = p.residual(b.o, x, s.heads)
	return x, s
}

// attendBackward turns dx, the gradient of what attend returned, into that of its x.
func (b *block) attendBackward(p *pass, dx device.Mat, s *attnActs) {
	a, t := p.arena, dx.Rows
	dheads := a.Zeros(t, s.heads.Cols)
	b.o.Backward(a, dheads, dx, s.heads, s.oLow)
	dqkv := a.Mat(t, s.qkv.Cols)
	p.AttentionGrad(dqkv, dheads, s.heads, s.lse, s.qkv, b.shape, p.batch.Seqs)
	p.rope(dqkv, b.shape, -1)
	dqkv = p.normHeadsBackward(b, dqkv, s)
	dnormed := a.Zeros(t, dx.Cols)
	b.qkv.Backward(a, dnormed, dqkv, s.normed, s.qkvLow)
	b.attNorm.Backward(dx, dnormed, s.in, s.rstd)
}

// ffnActs is what the backward pass of the feed-forward half needs.
type ffnActs struct {
	in, normed         device.Mat // [T, C]
	rstd               device.Buffer
	gateUp             device.Mat // [T, 2F]
	hidden             device.Mat // [T, F]
	gateUpLow, downLow device.Mat // of adapters
}

// feed returns x + down(silu(gate(norm(x)))·up(norm(x))).
func (b *block) feed(p *pass, x device.Mat) (device.Mat, ffnActs) {
	var s ffnActs
	s.in = x
	s.normed, s.rstd = p.norm(b.ffnNorm, x)
	s.gateUp, s.gateUpLow = p.linear(b.gateUp, s.normed)
	s.hidden = p.arena.Mat(x.Rows, s.gateUp.Cols/2)
	p.SwiGLU(s.hidden, s.gateUp)
	x, s.downLow = p.residual(b.down, x, s.hidden)
	return x, s
}

// feedBackward turns dx, the gradient of what feed returned, into that of its x.
func (b *block) feedBackward(p *pass, dx device.Mat, s *ffnActs) {
	a, t := p.arena, dx.Rows
	dhidden := a.Zeros(t, s.hidden.Cols)
	b.down.Backward(a, dhidden, dx, s.hidden, s.downLow)
	dgateUp := a.Mat(t, s.gateUp.Cols)
	p.SwiGLUGrad(dgateUp, dhidden, s.gateUp)
	dnormed := a.Zeros(t, dx.Cols)
	b.gateUp.Backward(a, dnormed, dgateUp, s.normed, s.gateUpLow)
	b.ffnNorm.Backward(dx, dnormed, s.in, s.rstd)
}

// pick returns the chosen rows of x.
func (p *pass) pick(x device.Mat, rows []int32) device.Mat {
	y := p.arena.Mat(len(rows), x.Cols)
	p.Embed(y, x, rows)
	return y
}

// norm returns n(x) and what its gradient needs.
func (p *pass) norm(n *nn.Norm, x device.Mat) (y device.Mat, rstd device.Buffer) {
	y = p.arena.Mat(x.Rows, x.Cols)
	if p.keep {
		rstd = p.arena.Buffer(x.Rows)
	}
	n.Forward(y, rstd, x)
	return y, rstd
}

// linear returns l(x).
func (p *pass) linear(l *nn.Linear, x device.Mat) (y, low device.Mat) {
	y = p.arena.Mat(x.Rows, l.Weight.Out())
	return y, l.Forward(p.arena, y, x, false)
}

// residual returns x + l(y): x itself, changed, unless the pass keeps activations.
func (p *pass) residual(l *nn.Linear, x, y device.Mat) (sum, low device.Mat) {
	sum = x
	if p.keep {
		sum = p.arena.Mat(x.Rows, x.Cols)
		p.Copy(sum.Buf, x.Buf)
	}
	return sum, l.Forward(p.arena, sum, y, true)
}

// rope rotates q and k of fused rows by their positions, or back.
func (p *pass) rope(qkv device.Mat, s device.AttentionShape, sign float32) {
	heads := s.Heads + s.KVHeads
	p.Rope(qkv.Columns(0, heads*s.HeadDim), p.batch.Positions, heads, s.HeadDim, p.freq, sign)
}

// attention returns the heads' outputs and what their gradient needs.
func (p *pass) attention(b *block, qkv device.Mat) (out device.Mat, lse device.Buffer) {
	out = p.arena.Mat(qkv.Rows, b.shape.Heads*b.shape.HeadDim)
	if p.keep {
		lse = p.arena.Buffer(qkv.Rows * b.shape.Heads)
	}
	p.Attention(out, lse, qkv, b.shape, p.batch.Seqs, b.layer)
	return out, lse
}
