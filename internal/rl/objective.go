package rl

import "math"

// A Token is one trained token of a batch: its log-probability now, when the
// batch began (the trainer's own numbers, so that the ratio is 1 at first), and
// the advantage of its row.
type Token struct {
	LogP, Old float64
	Advantage float64
}

// An Objective is the loss of one token, to be minimised, and its derivative by
// the token's log-probability.
type Objective func(t Token) (loss, dlogp float64)

// Likelihood is the loss of imitation, −log p. It has no advantages.
func Likelihood(t Token) (loss, dlogp float64) { return -t.LogP, -1 }

// Reinforce is −ρ·A with ρ = π/π_old. On policy its gradient is REINFORCE's,
// −A·∇log π.
func Reinforce(t Token) (loss, dlogp float64) {
	weighted := math.Exp(t.LogP-t.Old) * t.Advantage
	return -weighted, -weighted
}

// Clip is PPO's loss, −min(ρ·A, clip(ρ, 1−low, 1+high)·A): a token that has
// moved far enough in its direction gives no more gradient.
func Clip(low, high float64) Objective {
	return func(t Token) (loss, dlogp float64) {
		ratio := math.Exp(t.LogP - t.Old)
		free := ratio * t.Advantage
		held := min(max(ratio, 1-low), 1+high) * t.Advantage
		if held < free {
			return -held, 0
		}
		return -free, -free
	}
}

// TokenMean sums the losses of tokens, divided by total, the number of trained
// tokens of the whole batch, and writes the gradient of each to dlogp.
func TokenMean(objective Objective, tokens []Token, total int, dlogp []float32) (loss float64) {
	scale := 1 / float64(total)
	for i, t := range tokens {
		l, d := objective(t)
		loss += l * scale
		dlogp[i] = float32(d * scale)
	}
	return loss
}

// A Drift measures how far the numbers of the engine that sampled are from the
// trainer's: |log π_old − log μ| a token.
type Drift struct {
	sum   float64
	count int
	Max   float64
}

// Add takes in one token.
func (d *Drift) Add(old, sampled float64) {
	diff := math.Abs(old - sampled)
	d.sum += diff
	d.count++
	d.Max = max(d.Max, diff)
}

// Mean is the mean over all tokens, 0 without any.
func (d *Drift) Mean() float64 {
	if d.count == 0 {
		return 0
	}
	return d.sum / float64(d.count)
}
