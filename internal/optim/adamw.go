// Package optim updates a model's parameters: AdamW over device buffers, with
// the gradient clipped by its global norm, and learning-rate schedules.
package optim

import (
	"fmt"
	"math"

	"agentmill/internal/device"
	"agentmill/internal/model"
)

// A Config holds what does not change from step to step.
type Config struct {
	Beta1, Beta2, Eps float64
	WeightDecay       float64 // of matrices; vectors do not decay
	ClipNorm          float64 // of all gradients together; 0: not clipped
}

// Default is what train uses unless told otherwise.
func Default() Config { return Config{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, ClipNorm: 1} }

// An AdamW holds the moments of a model's parameters.
type AdamW struct {
	Config  Config
	Steps   int // taken so far
	backend device.Backend
	params  []*model.Param
	m, v    []device.Buffer
}

// New starts with moments of zero.
func New(b device.Backend, params []*model.Param, c Config) *AdamW {
	o := &AdamW{Config: c, backend: b, params: params}
	for _, p := range params {
		o.m = append(o.m, b.Alloc(p.Values.Len()))
		o.v = append(o.v, b.Alloc(p.Values.Len()))
	}
	return o
}

// Step updates the parameters from their gradients at learning rate lr and
// returns the gradient's norm before clipping. A norm that is not finite is an
// error, and nothing is updated. The caller repacks the weights.
func (o *AdamW) Step(lr float64) (norm float64, err error) {
	for _, p := range o.params {
		norm += o.backend.SumSquares(p.Grad)
	}
	norm = math.Sqrt(norm)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, fmt.Errorf("the gradient's norm is %v", norm)
	}
	o.Steps++
	h := device.AdamW{
		LR: lr, Beta1: o.Config.Beta1, Beta2: o.Config.Beta2, Eps: o.Config.Eps,
		Step: o.Steps, Clip: clip(norm, o.Config.ClipNorm),
	}
	for i, p := range o.params {
		h.WeightDecay = 0
		if len(p.Shape) > 1 {
			h.WeightDecay = o.Config.WeightDecay
		}
		o.backend.AdamW(p.Values, p.Grad, o.m[i], o.v[i], h)
	}
	return norm, nil
}

// clip is the factor that brings norm down to limit.
func clip(norm, limit float64) float64 {
	if limit <= 0 || norm <= limit {
		return 1
	}
	return limit / norm
}

// Moments returns the moments of parameter i.
func (o *AdamW) Moments(i int) (m, v device.Buffer) { return o.m[i], o.v[i] }

// Close frees the moments.
func (o *AdamW) Close() {
	for i := range o.m {
		o.backend.Free(o.m[i])
		o.backend.Free(o.v[i])
	}
	o.m, o.v = nil, nil
}
