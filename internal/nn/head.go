package nn

import "agentmill/internal/device"

// HeadRows is how many rows of logits a Head makes at a time: with 49,152
// tokens in the vocabulary, 256 rows are 50 MB.
const HeadRows = 256

// A Head turns vectors into logits or log-probabilities, HeadRows at a time
// where the logits themselves are not wanted: those of a whole batch never exist.
type Head struct {
	Backend device.Backend
	Norm    *Norm
	Linear  *Linear // [V, C]
}

// HeadActs is what Backward needs of a forward pass.
type HeadActs struct {
	targets []int32
	invTemp float32
	in      device.Mat // [R, C], and normed
	normed  device.Mat
	rstd    device.Buffer
	logits  device.Mat // one chunk [min(R, HeadRows), V]; holds the last one made
	low     device.Mat // of an adapter on the head
	lse     []float32
}

// Logits returns the logits of each row of x. They live in a.
func (h *Head) Logits(a *Arena, x device.Mat) device.Mat {
	normed := a.Mat(x.Rows, x.Cols)
	h.Norm.Forward(normed, nil, x)
	logits := a.Mat(x.Rows, h.Linear.Weight.Out())
	h.Linear.Forward(a, logits, normed, false)
	return logits
}

// Forward computes logp[i] = log softmax(invTemp·logits of x[i])[targets[i]].
func (h *Head) Forward(a *Arena, logp []float32, x device.Mat, targets []int32, invTemp float32) *HeadActs {
	n := x.Rows
	s := &HeadActs{
		targets: targets, invTemp: invTemp,
		in: x, normed: a.Mat(n, x.Cols), rstd: a.Buffer(n),
		logits: a.Mat(min(n, HeadRows), h.Linear.Weight.Out()), lse: make([]float32, n),
	}
	h.Norm.Forward(s.normed, s.rstd, x)
	for from := 0; from < n; from += HeadRows {
		to := min(from+HeadRows, n)
		logits := h.chunk(a, s, from, to)
		h.Backend.LogProbs(logp[from:to], s.lse[from:to], logits, targets[from:to], invTemp)
	}
	return s
}

// Backward adds to dx, the gradient of what Forward was given, and to those of
// norm and matrix. dlogp is the loss's gradient a target.
func (h *Head) Backward(a *Arena, dx device.Mat, s *HeadActs, dlogp []float32) {
	mark := a.Mark()
	defer a.Release(mark)
	n := s.in.Rows
	dnormed := a.Zeros(n, dx.Cols)
	for from := 0; from < n; from += HeadRows {
		to := min(from+HeadRows, n)
		logits := rowsOf(s.logits, 0, to-from)
		if n > HeadRows { // else the logits of Forward are still there
			logits = h.chunk(a, s, from, to)
		}
		h.Backend.LogProbsGrad(logits, s.lse[from:to], s.targets[from:to], dlogp[from:to], s.invTemp)
		h.Linear.Backward(a, rowsOf(dnormed, from, to), logits, rowsOf(s.normed, from, to), s.low)
	}
	h.Norm.Backward(dx, dnormed, s.in, s.rstd)
}

// chunk makes the logits of rows from to to.
func (h *Head) chunk(a *Arena, s *HeadActs, from, to int) device.Mat {
	logits := rowsOf(s.logits, 0, to-from)
	s.low = h.Linear.Forward(a, logits, rowsOf(s.normed, from, to), false)
	return logits
}

// rowsOf views rows from to to of m.
func rowsOf(m device.Mat, from, to int) device.Mat {
	return device.Mat{Buf: m.Buf.Slice(from*m.Stride, to*m.Stride), Rows: to - from, Cols: m.Cols, Stride: m.Stride}
}
