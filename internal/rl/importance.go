package rl

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Ways to correct for an engine whose probabilities are not the trainer's.
const (
	Truncate    = "truncate" // min(w, high)
	Mask        = "mask"     // w within low and high, else 0
	Uncorrected = "none"     // w is 1

	Geometric = "geometric" // the mean ratio of a row, free of its length
)

// Importance corrects for the difference between the engine that sampled (μ)
// and the trainer (π_old): w = π_old/μ of a token, of a row (the product), or
// the row's geometric mean.
type Importance struct {
	Kind  string // "" or Uncorrected: none
	Level string // token, sequence or geometric
	// Low and High bound w; negative ones are replaced by WithDefaults.
	Low, High float64
}

// On says that there is anything to correct by.
func (m Importance) On() bool { return m.Kind != "" && m.Kind != Uncorrected }

// WithDefaults fills in usual bounds: 2 for truncation; for masks 1/2 to 2 by
// token, up to 3 by sequence, and .99 to 1.01 for the geometric mean.
func (m Importance) WithDefaults() Importance {
	if m.Level == "" {
		m.Level = PerToken
	}
	low, high := 0.0, 2.0
	if m.Kind == Mask {
		switch m.Level {
		case PerToken:
			low, high = .5, 2
		case PerSequence:
			low, high = 0, 3
		case Geometric:
			low, high = .99, 1.01
		}
	}
	if m.Low < 0 && m.Kind == Mask {
		m.Low = low
	}
	if m.High < 0 {
		m.High = high
	}
	return m
}

// Check returns an error that names what is wrong.
func (m Importance) Check() error {
	d := m.WithDefaults()
	switch {
	case !m.On() && (m.Level != "" || m.Low >= 0 || m.High >= 0):
		return errors.New("importance sampling is off: its level and bounds do nothing; want truncate or mask")
	case !m.On():
		return nil
	case m.Kind != Truncate && m.Kind != Mask:
		return fmt.Errorf("importance sampling %q: want truncate, mask or none", m.Kind)
	case !slices.Contains([]string{PerToken, PerSequence, Geometric}, d.Level):
		return fmt.Errorf("importance sampling by %q: want token, sequence or geometric", d.Level)
	case m.Kind == Truncate && m.Low >= 0:
		return fmt.Errorf("a lower bound of %v: truncation has an upper one alone; want mask", m.Low)
	case !(d.High >= 1) || d.Low > 1:
		return fmt.Errorf("bounds %v to %v: want them around 1, where engine and trainer agree", d.Low, d.High)
	}
	return nil
}

// Weights are the importance weights of one row's tokens; cut is how many of
// them were truncated or masked.
func (m Importance) Weights(old, sampled []float64) (weights []float64, cut int) {
	weights = make([]float64, len(old))
	if m.Level == PerToken {
		for i := range old {
			var held bool
			if weights[i], held = m.bound(expCapped(old[i] - sampled[i])); held {
				cut++
			}
		}
		return weights, cut
	}
	sum := 0.0
	for i := range old {
		sum += old[i] - sampled[i]
	}
	if m.Level == Geometric {
		sum /= float64(max(1, len(old)))
	}
	w, held := m.bound(expCapped(sum))
	if m.Kind == Mask && m.Level == Geometric && w > 0 {
		w = 1 // a mask and nothing else
	}
	for i := range weights {
		weights[i] = w
	}
	if held {
		cut = len(old)
	}
	return weights, cut
}

// bound applies the bounds to one weight.
func (m Importance) bound(w float64) (bounded float64, held bool) {
	switch {
	case m.Kind == Truncate:
		return min(w, m.High), w > m.High
	case w < m.Low || w > m.High:
		return 0, true
	}
	return w, false
}

// A Drift measures how far the numbers of the engine that sampled are from the
// trainer's.
type Drift struct {
	Count int
	Max   float64 // of |log π_old − log μ|
	sum   float64
	k3    float64
	// sums of w and of probabilities, for the effective sample size and the
	// correlation
	w, ww              float64
	p, q, pp, qq, both float64
}

// Add takes in one token.
func (d *Drift) Add(old, sampled float64) {
	diff := old - sampled
	d.sum += math.Abs(diff)
	d.Count++
	d.Max = max(d.Max, math.Abs(diff))
	w := expCapped(diff)
	d.k3 += w - 1 - diff
	d.w, d.ww = d.w+w, d.ww+w*w
	p, q := math.Exp(old), math.Exp(sampled)
	d.p, d.q = d.p+p, d.q+q
	d.pp, d.qq, d.both = d.pp+p*p, d.qq+q*q, d.both+p*q
}

// Mean is the mean of |log π_old − log μ| over all tokens, 0 without any.
func (d *Drift) Mean() float64 { return d.over(d.sum) }

// KL is the k3 estimate of KL(μ‖π_old).
func (d *Drift) KL() float64 { return d.over(d.k3) }

// EffectiveShare is (Σw)²/(n·Σw²): the effective share of the sample, 1 where
// engine and trainer agree.
func (d *Drift) EffectiveShare() float64 {
	if d.ww == 0 {
		return 1
	}
	return d.w * d.w / (float64(d.Count) * d.ww)
}

// Correlation is that of the probabilities; 1 where there is nothing to compare.
func (d *Drift) Correlation() float64 {
	n := float64(d.Count)
	vp, vq := n*d.pp-d.p*d.p, n*d.qq-d.q*d.q
	if !(vp > 0) || !(vq > 0) {
		return 1
	}
	return (n*d.both - d.p*d.q) / math.Sqrt(vp*vq)
}

func (d *Drift) over(sum float64) float64 {
	if d.Count == 0 {
		return 0
	}
	return sum / float64(d.Count)
}
