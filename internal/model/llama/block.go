package llama

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

// A block is one layer: x += o(attention(norm(x))), x += down(swiglu(norm(x))).
type block struct {
	layer   int
	shape   device.AttentionShape
	attNorm *nn.Norm
	qkv     *nn.Linear // q | k | v
	o       *nn.Linear
	ffnNorm *nn.Norm
	gateUp  *nn.Linear // gate | up
	down    *nn.Linear
}

// acts is what backward needs of a block's forward pass. T rows each.
type acts struct {
	in, mid, attNormed, ffnNormed device.Mat // [T, C]: x before both halves, and normed
	attRstd, ffnRstd              device.Buffer
	qkv                           device.Mat // [T, (H+2K)·D], q and k rotated
	att                           device.Mat // [T, H·D]
	lse                           device.Buffer
	gateUp                        device.Mat // [T, 2F]
	hidden                        device.Mat // [T, F]

	qkvLow, oLow, gateUpLow, downLow device.Mat // of adapters
}

// forward returns the block's output: x itself, changed, unless the pass keeps.
func (b *block) forward(p *pass, x device.Mat) (device.Mat, acts) {
	var s acts
	s.in = x
	s.attNormed, s.attRstd = p.norm(b.attNorm, x)
	s.qkv, s.qkvLow = p.linear(b.qkv, s.attNormed)
	p.rope(s.qkv, b.shape, 1)
	s.att, s.lse = p.attention(b, s.qkv)
	s.mid, s.oLow = p.residual(b.o, x, s.att)

	s.ffnNormed, s.ffnRstd = p.norm(b.ffnNorm, s.mid)
	s.gateUp, s.gateUpLow = p.linear(b.gateUp, s.ffnNormed)
	s.hidden = p.arena.Mat(x.Rows, s.gateUp.Cols/2)
	p.SwiGLU(s.hidden, s.gateUp)
	out, low := p.residual(b.down, s.mid, s.hidden)
	s.downLow = low
	return out, s
}

// backward turns dx, the gradient of the block's output, into that of its input.
func (b *block) backward(p *pass, dx device.Mat, s *acts) {
	a, t := p.arena, dx.Rows
	dhidden := a.Zeros(t, s.hidden.Cols)
	b.down.Backward(a, dhidden, dx, s.hidden, s.downLow)
	dgateUp := a.Mat(t, s.gateUp.Cols)
	p.SwiGLUGrad(dgateUp, dhidden, s.gateUp)
	dnormed := a.Zeros(t, dx.Cols)
	b.gateUp.Backward(a, dnormed, dgateUp, s.ffnNormed, s.gateUpLow)
	b.ffnNorm.Backward(dx, dnormed, s.mid, s.ffnRstd)

	datt := a.Zeros(t, s.att.Cols)
	b.o.Backward(a, datt, dx, s.att, s.oLow)
	dqkv := a.Mat(t, s.qkv.Cols)
	p.AttentionGrad(dqkv, datt, s.att, s.lse, s.qkv, b.shape, p.batch.Seqs)
	p.rope(dqkv, b.shape, -1)
	p.Zero(dnormed.Buf)
	b.qkv.Backward(a, dnormed, dqkv, s.attNormed, s.qkvLow)
	b.attNorm.Backward(dx, dnormed, s.in, s.attRstd)
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

// residual returns x + l(y): x itself, changed, unless the pass keeps.
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
