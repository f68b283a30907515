package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/model"
	"agentmill/internal/optim"
	"agentmill/internal/rl"
)

// A trainer updates a model's weights.
type trainer struct {
	*stage
	model     model.Model
	opt       *optim.AdamW
	lora      *model.LoRA // nil: all weights
	objective rl.Objective
	updates   [][]sample
	schedule  optim.Schedule
	state     state
	saved     time.Time // when the state was written last

	logp, dlogp []float32
}

// Metrics are one line of metrics.jsonl.
type Metrics struct {
	Step         int     `json:"step"` // of the policy, over all its runs
	Method       string  `json:"method"`
	Loss         float64 `json:"loss"`
	GradNorm     float64 `json:"grad_norm"`
	LR           float64 `json:"lr"`
	Rows         int     `json:"rows"`
	Tokens       int     `json:"tokens"`
	Trained      int     `json:"trained_tokens"`
	Seconds      float64 `json:"seconds"`
	TokensPerSec float64 `json:"tokens_per_second"`

	Compared *Compared `json:"compared,omitempty"`
}

// Compared are the metrics of a method that compares attempts: the rewards of
// all rows, the groups, and how far the engine's log-probabilities are from the
// trainer's.
type Compared struct {
	RewardMean float64 `json:"reward_mean"`
	RewardStd  float64 `json:"reward_std"`
	Groups     int     `json:"groups"`
	Flat       int     `json:"flat_groups"`
	Singletons int     `json:"single_groups"`
	Cut        int     `json:"cut_rows"`
	Entropy    float64 `json:"mean_neg_logp"`
	DriftMean  float64 `json:"drift_mean"`
	DriftMax   float64 `json:"drift_max"`
}

// run makes the updates that are still to be made. Interrupted, it keeps what
// was done.
func (t *trainer) run(ctx context.Context) error {
	begun := t.state.Done
	for t.state.Done < len(t.updates) {
		if err := ctx.Err(); err != nil {
			if t.state.Done > begun {
				return errors.Join(err, t.save())
			}
			return err
		}
		m, err := t.update(t.updates[t.state.Done])
		if err != nil {
			return fmt.Errorf("step %d: %w", m.Step, err)
		}
		t.state.Done++
		t.state.Metrics = append(t.state.Metrics, m)
		t.report(m)
		if err := t.maybeSave(); err != nil {
			return err
		}
	}
	return nil
}

// update is one step on the rows of one batch.
func (t *trainer) update(samples []sample) (m Metrics, err error) {
	began := t.cfg.Clock.Now()
	m = Metrics{
		Step: t.parent.Manifest.Step + t.state.Done + 1, Method: t.cfg.Method,
		LR: t.schedule.At(t.state.Done + 1), Rows: len(samples),
	}
	for _, s := range samples {
		m.Trained += s.Targets()
	}
	t.model.Weights().ZeroGrads()
	var seen observed
	for _, micro := range pack(samples, t.cfg.TokensPerBatch) {
		tokens, loss, err := t.accumulate(micro, m.Trained, &seen)
		if err != nil {
			return m, err
		}
		m.Tokens += tokens
		m.Loss += loss
	}
	if math.IsNaN(m.Loss) || math.IsInf(m.Loss, 0) {
		return m, fmt.Errorf("the loss is %v (first row %s)", m.Loss, samples[0].id)
	}
	if m.GradNorm, err = t.opt.Step(m.LR); err != nil {
		return m, err
	}
	t.model.Weights().Repack()
	if m.Seconds = clock.Since(t.cfg.Clock, began); m.Seconds > 0 {
		m.TokensPerSec = float64(m.Tokens) / m.Seconds
	}
	if t.cfg.Method != "sft" {
		m.Compared = t.compared(&seen, m.Trained)
	}
	return m, nil
}

// observed is what a step learns about its rows besides the gradient.
type observed struct {
	drift rl.Drift
	logp  float64 // sum
}

// accumulate runs one micro-batch forward and backward. total is the number of
// trained tokens of the whole update.
func (t *trainer) accumulate(samples []sample, total int, seen *observed) (tokens int, loss float64, err error) {
	packed := make([]model.Sample, len(samples))
	for i, s := range samples {
		packed[i] = s.Sample
	}
	b, err := model.Pack(packed)
	if err != nil {
		return 0, 0, err
	}
	b.InvTemp = samples[0].invTemp
	n := len(b.Targets)
	t.logp, t.dlogp = slices.Grow(t.logp[:0], n)[:n], slices.Grow(t.dlogp[:0], n)[:n]
	t.model.Forward(b, t.logp, true)
	loss = rl.TokenMean(t.objective, tokensOf(samples, t.logp, seen), total, t.dlogp)
	t.model.Backward(t.dlogp)
	return len(b.IDs), loss, nil
}

// tokensOf pairs log-probabilities with advantages. One update is made a batch,
// so the log-probabilities before it are those just computed.
func tokensOf(samples []sample, logp []float32, seen *observed) []rl.Token {
	tokens := make([]rl.Token, 0, len(logp))
	for _, s := range samples {
		for k := range s.Targets() {
			now := float64(logp[len(tokens)])
			tokens = append(tokens, rl.Token{LogP: now, Old: now, Advantage: s.advantage})
			seen.logp += now
			if s.sampled != nil {
				seen.drift.Add(now, float64(s.sampled[k]))
			}
		}
	}
	return tokens
}

// pack splits an update into micro-batches; each holds rows of one temperature.
func pack(samples []sample, maxTokens int) (micro [][]sample) {
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.invTemp, b.invTemp) })
	for len(samples) > 0 {
		n := 1
		for n < len(samples) && samples[n].invTemp == samples[0].invTemp {
			n++
		}
		lengths := make([]int, n)
		for i, s := range samples[:n] {
			lengths[i] = len(s.IDs)
		}
		for _, rows := range rl.Pack(lengths, maxTokens) {
			micro = append(micro, samples[rows[0]:rows[len(rows)-1]+1])
		}
		samples = samples[n:]
	}
	return micro
}

func (t *trainer) compared(seen *observed, trained int) *Compared {
	r := t.stats.Credit
	mean, std := t.rewards()
	return &Compared{
		RewardMean: mean, RewardStd: std, Groups: r.Groups, Flat: r.Flat, Singletons: r.Singletons, Cut: t.stats.Cut,
		Entropy: -seen.logp / float64(trained), DriftMean: seen.drift.Mean(), DriftMax: seen.drift.Max,
	}
}

// rewards are mean and deviation over all rows that have one.
func (s *stage) rewards() (mean, std float64) {
	n, sum, squares := 0.0, 0.0, 0.0
	for i := range s.rows {
		if r := s.rows[i].credit.Reward; r != nil && !math.IsNaN(*r) && !math.IsInf(*r, 0) {
			n, sum, squares = n+1, sum+*r, squares+*r**r
		}
	}
	if n == 0 {
		return 0, 0
	}
	mean = sum / n
	return mean, math.Sqrt(max(0, squares/n-mean*mean))
}

// report logs one step with the time left.
func (t *trainer) report(m Metrics) {
	done, seconds := 0, 0.0
	for _, x := range t.state.Metrics[t.state.Resumed:] {
		done, seconds = done+1, seconds+x.Seconds
	}
	left := time.Duration(seconds / float64(done) * float64(len(t.updates)-t.state.Done) * float64(time.Second))
	args := []any{
		"step", fmt.Sprintf("%d/%d", t.state.Done, len(t.updates)),
		"loss", round(m.Loss, 4), "grad_norm", round(m.GradNorm, 3), "lr", round(m.LR, 8),
		"tokens/s", math.Round(m.TokensPerSec), "left", left.Round(time.Second),
	}
	if c := m.Compared; c != nil {
		args = append(args, "reward", round(c.RewardMean, 3), "drift", round(c.DriftMean, 5))
	}
	t.cfg.Log.Info(t.cfg.Method, args...)
}

func round(x float64, digits int) float64 {
	f := math.Pow(10, float64(digits))
	return math.Round(x*f) / f
}
