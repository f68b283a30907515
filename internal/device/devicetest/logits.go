package devicetest

import (
	"fmt"

	"agentmill/internal/device/cpu/ref"
)

func testLogProbs(s *suite) {
	for _, c := range sizes {
		for _, invTemp := range []float32{1, 0.7} {
			s.logProbs(s.values(c[0]*c[1], 3), c[0], c[1], invTemp)
		}
	}
}

// testLogProbsExtreme has logits whose exponentials overflow and vanish.
func testLogProbsExtreme(s *suite) {
	x := s.values(2*300, 1)
	x[3], x[7], x[305] = 5e3, -5e3, 300
	s.logProbs(x, 2, 300, 1)
}

func (s *suite) logProbs(x []float32, rows, cols int, invTemp float32) {
	name := fmt.Sprintf("of %d×%d at %g", rows, cols, invTemp)
	targets, dlogp := s.ids(rows, cols), s.values(rows, 1)
	p, logp, lse, grad := make([]float64, len(x)), make([]float64, rows), make([]float64, rows), wide(x)
	ref.Softmax(p, lse, wide(x), cols, float64(invTemp))
	ref.LogProbs(logp, lse, wide(x), targets, cols, float64(invTemp))
	ref.LogProbsGrad(grad, lse, targets, wide(dlogp), cols, float64(invTemp))

	gotLogp, gotLse, mx := make([]float32, rows), make([]float32, rows), s.mat(x, cols)
	s.b.LogProbs(gotLogp, gotLse, mx, targets, invTemp)
	s.close("logp", "logp "+name, gotLogp, logp)
	s.close("logp", "lse "+name, gotLse, lse)
	my := s.mat(make([]float32, len(x)), cols)
	s.b.Softmax(my, gotLse, mx, invTemp)
	s.close("default", "softmax "+name, s.read(my), p)
	s.close("logp", "lse of softmax "+name, gotLse, lse)
	s.b.LogProbsGrad(mx, gotLse, targets, dlogp, invTemp)
	s.close("default", "dlogits "+name, s.read(mx), grad)
}
