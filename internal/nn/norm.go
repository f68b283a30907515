package nn

import "agentmill/internal/device"

// A Norm is RMSNorm: y = x/√(mean(x²)+ε)·weight.
type Norm struct {
	Backend device.Backend
	Weight  device.Buffer // [C]
	Grad    device.Buffer // nil when frozen
	Eps     float32
}

// Forward computes y from x. rstd [T] is what Backward needs; it may be nil.
func (n *Norm) Forward(y device.Mat, rstd device.Buffer, x device.Mat) {
	n.Backend.RMSNorm(y, rstd, x, n.Weight, n.Eps)
}

// Backward adds to dx and to the gradient of the weight.
func (n *Norm) Backward(dx, dy, x device.Mat, rstd device.Buffer) {
	n.Backend.RMSNormGrad(dx, n.Grad, dy, x, n.Weight, rstd)
}

// An Embedding is a table [V, C] of vectors, one a token.
type Embedding struct {
	Backend device.Backend
	Table   device.Mat
	Grad    device.Buffer // nil when frozen
}

// Forward copies the vectors of ids to y.
func (e *Embedding) Forward(y device.Mat, ids []int32) {
	e.Backend.Embed(y, e.Table, ids)
}

// Backward adds dy to the gradient of the table.
func (e *Embedding) Backward(dy device.Mat, ids []int32) {
	if e.Grad != nil {
		e.Backend.EmbedGrad(device.Dense(e.Grad, e.Table.Rows, e.Table.Cols), dy, ids)
	}
}
