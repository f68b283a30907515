package decoder

import (
	"agentmill/internal/device"
	"agentmill/internal/nn"
)

// normHeads normalises each head's query and key of fused rows, where the
// family has such norms; rstd [H+K, T] is what the gradient needs. Values pass
// through.
func (p *pass) normHeads(b *block, raw device.Mat) (qkv device.Mat, rstd device.Buffer) {
	if b.qNorm == nil {
		return raw, nil
	}
	qkv = p.arena.Mat(raw.Rows, raw.Cols)
	p.Copy(qkv.Buf, raw.Buf)
	if p.keep {
		rstd = p.arena.Buffer(raw.Rows * b.normedHeads())
	}
	for h := range b.normedHeads() {
		b.normOf(h).Forward(b.head(qkv, h), headRows(rstd, h, raw.Rows), b.head(raw, h))
	}
	return qkv, rstd
}

// normHeadsBackward turns dqkv, the gradient of what normHeads returned, into
// that of its raw rows.
func (p *pass) normHeadsBackward(b *block, dqkv device.Mat, s *attnActs) device.Mat {
	if b.qNorm == nil {
		return dqkv
	}
	draw := p.arena.Zeros(dqkv.Rows, dqkv.Cols)
	for h := range b.normedHeads() {
		b.normOf(h).Backward(b.head(draw, h), b.head(dqkv, h), b.head(s.raw, h), headRows(s.headRstd, h, dqkv.Rows))
	}
	values := b.normedHeads() * b.shape.HeadDim
	p.Add(draw.Columns(values, draw.Cols), dqkv.Columns(values, dqkv.Cols), 1)
	return draw
}

// normedHeads is how many heads of a fused row are normalised: those of q and k.
func (b *block) normedHeads() int { return b.shape.Heads + b.shape.KVHeads }

// normOf is the norm of head h of a fused row.
func (b *block) normOf(h int) *nn.Norm {
	if h < b.shape.Heads {
		return b.qNorm
	}
	return b.kNorm
}

// head views head h of fused rows.
func (b *block) head(qkv device.Mat, h int) device.Mat {
	return qkv.Columns(h*b.shape.HeadDim, (h+1)*b.shape.HeadDim)
}

// headRows is head h's part of rstd; nil stays nil.
func headRows(rstd device.Buffer, h, rows int) device.Buffer {
	if rstd == nil {
		return nil
	}
	return rstd.Slice(h*rows, (h+1)*rows)
}
