package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"agentmill/internal/checkpoint"
	"agentmill/internal/clock"
	"agentmill/internal/model"
	"agentmill/internal/optim"
	"agentmill/internal/rl"
	"agentmill/internal/seed"
)

// A trainer updates a model's weights.
type trainer struct {
	*stage
	model    model.Model
	opt      *optim.AdamW
	lora     *model.LoRA // nil: all weights
	updates  [][]sample
	schedule optim.Schedule
	known    known
	// reference is open until it has scored the rows; nil if none is needed.
	reference *checkpoint.Policy
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

	Note     string    `json:"note,omitempty"`
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
	DriftKL    float64 `json:"drift_kl"`          // KL(μ‖π_old), k3
	Agreement  float64 `json:"drift_correlation"` // of the probabilities
	Effective  float64 `json:"effective_share"`   // (Σw)²/(n·Σw²)
	Held       float64 `json:"importance_held"`   // share of tokens whose weight was cut or masked
	Merged     float64 `json:"merged_steps"`      // share of turns that share their advantage
	KL         float64 `json:"reference_kl"`      // mean of log π − log π_ref
}

// run makes the updates that are still to be made. Interrupted, it keeps what
// was done.
func (t *trainer) run(ctx context.Context) error {
	begun := t.state.Done
	shown := live{cfg: t.cfg, first: t.parent.Manifest.Step + 1}
	shown.resume(t.state.Metrics)
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
		if err := errors.Join(t.maybeSave(), t.keep(), shown.add(m, t.state.Done == len(t.updates))); err != nil {
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
		LR: t.schedule.At(t.state.Done + 1),
	}
	batch, trained := t.weighed(samples)
	m.Rows, m.Trained = len(batch), trained
	t.model.Weights().ZeroGrads()
	var seen observed
	for i, micro := range pack(batch, t.cfg.TokensPerBatch) {
		t.model.Weights().Drop(seed.Derive(t.cfg.Seed, "dropout", t.state.Done, i), true)
		tokens, loss, err := t.accumulate(micro, &seen)
		t.model.Weights().Drop(0, false)
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
		m.Compared = t.compared(&seen)
	}
	if math.Abs(m.Loss) < looksZero && m.GradNorm > 1e-6 {
		m.Note = zeroLoss
	}
	return m, nil
}

// looksZero is below what the log shows of a loss. Importance weights near 1 keep it
// from being exactly 0.
const looksZero = 5e-5

// zeroLoss explains what looks like a fault and is none.
const zeroLoss = "the loss is 0 because advantages of a group add up to 0 and the policy is still the one that sampled; the gradient is not"

// weighed are the rows of an update with the weight of their tokens. Rows of
// which all is masked have left. trained is how many tokens the loss is over.
func (t *trainer) weighed(samples []sample) (batch []sample, trained int) {
	attempts := make([]rl.Attempt, len(samples))
	for i, s := range samples {
		attempts[i] = rl.Attempt{Name: s.attempt(), Tokens: s.Targets()}
		if t.cfg.RL.Importance.Kind == rl.Mask {
			w, _ := t.cfg.RL.Importance.Weights(wide(t.known.old[s.row]), wide(s.sampled))
			for _, x := range w {
				if x == 0 {
					attempts[i].Tokens--
				}
			}
		}
		trained += attempts[i].Tokens
	}
	for i, scale := range rl.Scales(t.cfg.RL.Aggregate, t.cfg.RL.Limit, attempts) {
		if s := samples[i]; attempts[i].Tokens > 0 {
			s.scale = scale
			batch = append(batch, s)
		}
	}
	return batch, trained
}

// observed is what a step learns about its rows besides the gradient.
type observed struct {
	drift  rl.Drift
	logp   float64 // sum
	tokens int
	kl     float64 // sum
	held   int
}

// accumulate runs one micro-batch forward and backward.
func (t *trainer) accumulate(samples []sample, seen *observed) (tokens int, loss float64, err error) {
	b, err := packed(samples)
	if err != nil {
		return 0, 0, err
	}
	n := len(b.Targets)
	t.logp, t.dlogp = slices.Grow(t.logp[:0], n)[:n], slices.Grow(t.dlogp[:0], n)[:n]
	t.model.Forward(b, t.logp, true)
	logp, dlogp := t.logp, t.dlogp
	for _, s := range samples {
		k := s.Targets()
		q := t.sequence(s, logp[:k], seen)
		loss += t.cfg.RL.Loss.Apply(&q, dlogp[:k])
		logp, dlogp = logp[k:], dlogp[k:]
	}
	t.model.Backward(t.dlogp)
	return len(b.IDs), loss, nil
}

// packed is samples as one batch.
func packed(samples []sample) (*model.Batch, error) {
	rows := make([]model.Sample, len(samples))
	for i, s := range samples {
		rows[i] = s.Sample
	}
	b, err := model.PackShared(rows)
	if err != nil {
		return nil, err
	}
	b.InvTemp = samples[0].invTemp
	return b, nil
}

// sequence is a row as the loss sees it. Before the policy has moved, its
// log-probabilities at the start are those just computed.
func (t *trainer) sequence(s sample, now []float32, seen *observed) rl.Sequence {
	o := t.cfg.RL
	q := rl.Sequence{LogP: wide(now), Turn: s.turns, Scale: s.scale}
	q.Old = q.LogP
	switch old := t.known.old[s.row]; {
	case o.Old == enginesOld && s.sampled != nil:
		q.Old = wide(s.sampled)
	case old != nil:
		q.Old = wide(old)
	}
	if reference := t.known.reference[s.row]; reference != nil {
		q.Reference = wide(reference)
	}
	t.observe(s, &q, seen)
	if t.cfg.Method == "sft" {
		return q
	}
	q.Advantage = make([]float64, len(now))
	for k := range q.Advantage {
		q.Advantage[k] = s.credit.Of(s.turns[k])
		if t.cfg.Method == "distill" { // the gradient of KL(π‖teacher) on the student's own tokens
			q.Advantage[k] = q.Reference[k] - q.Old[k]
		}
	}
	if o.Importance.On() {
		var cut int
		q.Weight, cut = o.Importance.Weights(q.Old, wide(s.sampled))
		seen.held += cut
	}
	return q
}

// observe takes in a row's numbers.
func (t *trainer) observe(s sample, q *rl.Sequence, seen *observed) {
	for k, now := range q.LogP {
		seen.logp += now
		seen.tokens++
		if q.Reference != nil {
			seen.kl += now - q.Reference[k]
		}
		if s.sampled == nil {
			continue
		}
		trainers := q.Old[k]
		if t.cfg.RL.Old == enginesOld {
			trainers = now
		}
		seen.drift.Add(trainers, float64(s.sampled[k]))
	}
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// pack splits an update into micro-batches; each holds rows of one temperature.
// Rows that begin alike, as those of a group do, are neighbours: what they begin
// with is computed once a batch.
func pack(samples []sample, maxTokens int) (micro [][]sample) {
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.invTemp, b.invTemp), slices.Compare(a.Input(), b.Input()))
	})
	for len(samples) > 0 {
		n := 1
		for n < len(samples) && samples[n].invTemp == samples[0].invTemp {
			n++
		}
		lengths, shared := make([]int, n), make([]int, n)
		for i, s := range samples[:n] {
			lengths[i] = len(s.Input())
			if i > 0 {
				shared[i] = s.Shared(samples[i-1].Sample)
			}
		}
		for _, rows := range rl.Pack(lengths, shared, maxTokens) {
			micro = append(micro, samples[rows[0]:rows[len(rows)-1]+1])
		}
		samples = samples[n:]
	}
	return micro
}

func (t *trainer) compared(seen *observed) *Compared {
	r, n := &t.stats.Credit, float64(max(1, seen.tokens))
	mean, std := t.rewards()
	return &Compared{
		RewardMean: mean, RewardStd: std, Groups: r.Groups, Flat: r.Flat, Singletons: r.Singletons, Cut: t.stats.Cut,
		Entropy: -seen.logp / n, DriftMean: seen.drift.Mean(), DriftMax: seen.drift.Max, DriftKL: seen.drift.KL(),
		Agreement: seen.drift.Correlation(), Effective: seen.drift.EffectiveShare(),
		Held: float64(seen.held) / n, Merged: r.MergeShare(), KL: seen.kl / n,
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
	if m.Note != "" {
		args = append(args, "note", m.Note)
	}
	t.cfg.Log.Info(t.cfg.Method, args...)
}

func round(x float64, digits int) float64 {
	f := math.Pow(10, float64(digits))
	return math.Round(x*f) / f
}
