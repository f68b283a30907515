package nn

import "agentmill/internal/device"

// A Linear is y = x·Wᵀ + bias. W may stack the rows of several published
// matrices (q, k and v; gate and up), so that they are one product.
type Linear struct {
	Backend  device.Backend
	Weight   device.Weight // W [out, in], packed
	Values   device.Buffer // W in float32, row-major; nil when frozen
	Grad     device.Buffer // dW, as Values; nil when frozen
	Bias     device.Buffer // [out], or nil
	BiasGrad device.Buffer // nil when frozen
	Adapter  *Adapter      // nil without LoRA
}

// An Adapter is LoRA on the parts of a Linear: y += (s·x·Aᵀ)·Bᵀ with
// s = alpha/rank. The A of all parts are stacked, so that they are one product.
type Adapter struct {
	Rank  int
	Scale float32
	A     device.Weight // s·A, packed [parts·rank, in]
	AVals device.Buffer // A in float32
	AGrad device.Buffer
	Parts []AdapterPart
	Drop  *Dropout // nil: none
	Index uint64   // of the adapter in its model, so that each drops other values
}

// An AdapterPart is B of one published matrix: columns From to To of y.
type AdapterPart struct {
	From, To int
	B        device.Weight // [To−From, rank], packed
	BVals    device.Buffer
	BGrad    device.Buffer
}

// Forward computes y from x, adding to y if add is set. The returned matrix is
// what an adapter's Backward needs.
func (l *Linear) Forward(a *Arena, y, x device.Mat, add bool) (low device.Mat) {
	l.Backend.Linear(y, x, l.Weight, add)
	if l.Bias != nil {
		l.Backend.AddRow(y, l.Bias)
	}
	if l.Adapter != nil {
		low = l.Adapter.forward(l.Backend, a, y, x)
	}
	return low
}

// Backward adds to dx and to the gradients of whatever is trained. low is what
// Forward returned. A dx without a buffer is not wanted.
func (l *Linear) Backward(a *Arena, dx, dy, x, low device.Mat) {
	if l.Grad != nil {
		l.Backend.LinearWeightGrad(device.Dense(l.Grad, l.Weight.Out(), l.Weight.In()), dy, x)
	}
	if l.BiasGrad != nil {
		l.Backend.AddRowGrad(l.BiasGrad, dy)
	}
	if dx.Buf != nil {
		l.Backend.LinearInputGrad(dx, dy, l.Weight)
	}
	if l.Adapter != nil {
		l.Adapter.backward(l.Backend, a, dx, dy, x, low)
	}
}

// Repack makes changed values take effect.
func (l *Linear) Repack() {
	if l.Grad != nil {
		l.Backend.SetWeight(l.Weight, l.Values)
	}
	if l.Adapter != nil {
		l.Adapter.Repack(l.Backend)
	}
}

// forward adds the adapter's share to y and returns s·x·Aᵀ.
func (ad *Adapter) forward(b device.Backend, a *Arena, y, x device.Mat) device.Mat {
	low := a.Mat(x.Rows, ad.A.Out())
	mark := a.Mark()
	b.Linear(low, ad.dropped(b, a, x), ad.A, false)
	a.Release(mark)
	for i, p := range ad.Parts {
		b.Linear(y.Columns(p.From, p.To), ad.columns(low, i), p.B, true)
	}
	return low
}

// backward: with u = s·x·Aᵀ, dB = dyᵀ·u, du = dy·B, dx = du·(s·A), dA = s·duᵀ·x,
// where x is what dropout has left of it.
func (ad *Adapter) backward(b device.Backend, a *Arena, dx, dy, x, low device.Mat) {
	mark := a.Mark()
	defer a.Release(mark)
	dlow := a.Zeros(low.Rows, low.Cols)
	for i, p := range ad.Parts {
		dpart := dy.Columns(p.From, p.To)
		b.LinearWeightGrad(device.Dense(p.BGrad, p.To-p.From, ad.Rank), dpart, ad.columns(low, i))
		b.LinearInputGrad(ad.columns(dlow, i), dpart, p.B)
	}
	if dx.Buf != nil {
		ad.inputGrad(b, a, dx, dlow)
	}
	scaled := a.Zeros(low.Rows, low.Cols)
	b.Add(scaled, dlow, ad.Scale)
	b.LinearWeightGrad(device.Dense(ad.AGrad, ad.A.Out(), ad.A.In()), scaled, ad.dropped(b, a, x))
}

// inputGrad adds dlow·(s·A) to dx, but for what was dropped.
func (ad *Adapter) inputGrad(b device.Backend, a *Arena, dx, dlow device.Mat) {
	if !ad.Drop.on() {
		b.LinearInputGrad(dx, dlow, ad.A)
		return
	}
	through := a.Zeros(dx.Rows, dx.Cols)
	b.LinearInputGrad(through, dlow, ad.A)
	ad.Drop.apply(b, through, ad.Index)
	b.Add(dx, through, 1)
}

// dropped is x, or a copy of it with values dropped.
func (ad *Adapter) dropped(b device.Backend, a *Arena, x device.Mat) device.Mat {
	if !ad.Drop.on() {
		return x
	}
	y := a.Zeros(x.Rows, x.Cols)
	b.Add(y, x, 1)
	ad.Drop.apply(b, y, ad.Index)
	return y
}

// Repack makes changed values of the adapter take effect.
func (ad *Adapter) Repack(b device.Backend) {
	scaled := b.Alloc(ad.AVals.Len())
	defer b.Free(scaled)
	b.Add(device.Dense(scaled, 1, scaled.Len()), device.Dense(ad.AVals, 1, scaled.Len()), ad.Scale)
	b.SetWeight(ad.A, scaled)
	for _, p := range ad.Parts {
		b.SetWeight(p.B, p.BVals)
	}
}

// columns are those of m, a matrix as wide as the stacked A, that belong to part i.
func (ad *Adapter) columns(m device.Mat, i int) device.Mat {
	return m.Columns(i*ad.Rank, (i+1)*ad.Rank)
}
