package rl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Sequence is the sampled tokens of one training row: log-probabilities now,
// when the batch began (the trainer's own numbers), and by the reference policy
// where the loss has one. All slices are as long, or nil.
type Sequence struct {
	LogP, Old, Reference []float64
	Advantage            []float64
	Turn                 []int     // number of the turn, not falling
	Weight               []float64 // importance weights; nil: 1. 0 masks a token
	Scale                float64   // of every token, as the aggregation says
}

// Kinds of losses.
const (
	Likelihood = "likelihood" // −log p: imitation, no advantages
	Reinforce  = "reinforce"  // −A·log π
	Clip       = "clip"       // PPO: −min(ρA, clip(ρ, 1−low, 1+high)A)
	DualClip   = "dual-clip"  // the same, and at most −cA where A < 0
	CISPO      = "cispo"      // −sg[clip(ρ, 1−low, 1+high)]·A·log π
	GSPO       = "gspo"       // clip, with the geometric mean of a row's ratios
)

// A lossKind is a kind with advantages, with its published bounds.
type lossKind struct {
	name      string
	low, high float64
	clips     bool
}

var losses = []lossKind{
	{Reinforce, 0, 0, false},
	{Clip, .2, .2, true},
	{DualClip, .2, .2, true},
	{CISPO, 1, 4, true},
	{GSPO, 3e-4, 4e-4, true},
}

// LossNames lists the kinds with advantages.
func LossNames() (names []string) {
	for _, l := range losses {
		names = append(names, l.name)
	}
	return names
}

// Spans of a ratio, and how KL is measured.
const (
	PerToken    = "token"
	PerTurn     = "turn"
	PerSequence = "sequence"

	K1    = "k1"
	K2    = "k2"
	K3    = "k3"
	Shift = "shift" // taken off the advantage, not added to the loss
)

// A Loss says how log-probabilities become a loss, to be minimised. Empty
// strings and negative numbers are replaced by WithDefaults.
type Loss struct {
	Kind      string
	Low, High float64 // the ratio is held within 1−Low and 1+High
	Dual      float64 // of dual-clip: c
	// Ratio is over what span ρ = π/π_old is taken: the product over a turn or a
	// row, of GSPO the geometric mean. The tokens of a span share its ratio, and
	// each has its gradient through its own log-probability, so that the weight
	// of rows is Aggregate's business alone.
	Ratio  string
	KL     string // "": none
	KLCoef float64
}

// WithDefaults fills in what depends on the kind. What the kind has no use for
// stays unset.
func (l Loss) WithDefaults() Loss {
	i := slices.IndexFunc(losses, func(k lossKind) bool { return k.name == l.Kind })
	if i < 0 || !losses[i].clips {
		return l
	}
	if l.Low < 0 {
		l.Low = losses[i].low
	}
	if l.High < 0 {
		l.High = losses[i].high
	}
	if l.Kind == DualClip && l.Dual < 0 {
		l.Dual = 3
	}
	if l.Ratio == "" {
		l.Ratio = PerToken
		if l.Kind == GSPO {
			l.Ratio = PerSequence
		}
	}
	return l
}

// Check returns an error that names what is wrong in l, before its defaults or
// after.
func (l Loss) Check() error {
	if !slices.Contains(LossNames(), l.Kind) && l.Kind != Likelihood {
		return fmt.Errorf("loss %q: want one of %s", l.Kind, strings.Join(LossNames(), ", "))
	}
	d := l.WithDefaults()
	clips := slices.ContainsFunc(losses, func(k lossKind) bool { return k.name == l.Kind && k.clips })
	switch {
	case !clips && (l.Low >= 0 || l.High >= 0):
		return fmt.Errorf("loss %s has no ratio to clip: want clip bounds with %s", l.Kind, clipping())
	case !clips && l.Ratio != "":
		return fmt.Errorf("loss %s has no ratio, so its span means nothing: want it with %s", l.Kind, clipping())
	case l.Kind != DualClip && l.Dual >= 0:
		return fmt.Errorf("a dual clip of %v belongs to the loss dual-clip, not to %s", l.Dual, l.Kind)
	case d.Low > 1 || math.IsNaN(d.Low):
		return fmt.Errorf("lower clip %v: want 0 to 1, a ratio is never below 0", d.Low)
	case math.IsNaN(d.High) || math.IsInf(d.High, 0):
		return fmt.Errorf("upper clip %v: want a number", d.High)
	case l.Kind == DualClip && !(d.Dual > 1+d.High):
		return fmt.Errorf("dual clip %v with upper clip %v: want more than %v, else it cuts what the first clip lets through", d.Dual, d.High, 1+d.High)
	case clips && !slices.Contains([]string{PerToken, PerTurn, PerSequence}, d.Ratio):
		return fmt.Errorf("ratio per %q: want token, turn or sequence", d.Ratio)
	case l.Kind == GSPO && d.Ratio == PerToken:
		return errors.New("loss gspo is the mean ratio of a span: per token it is the loss clip with bounds of nearly 0; want turn or sequence")
	case !slices.Contains([]string{"", K1, K2, K3, Shift}, l.KL):
		return fmt.Errorf("kl %q: want k1, k2, k3 or shift", l.KL)
	case (l.KL == "") != (l.KLCoef == 0) || !(l.KLCoef >= 0) || math.IsInf(l.KLCoef, 0):
		return fmt.Errorf("kl %q with the coefficient %v: want both, or neither", l.KL, l.KLCoef)
	}
	return nil
}

func clipping() string {
	var names []string
	for _, l := range losses {
		if l.clips {
			names = append(names, l.name)
		}
	}
	return strings.Join(names, ", ")
}

// Apply returns the loss of s and writes its derivative by each token's
// log-probability to dlogp.
func (l Loss) Apply(s *Sequence, dlogp []float32) (loss float64) {
	var ratios []float64
	if l.Kind != Likelihood && l.Kind != Reinforce {
		ratios = l.ratios(s)
	}
	dlogp = dlogp[:len(s.LogP)]
	for i, logp := range s.LogP {
		ratio, advantage := 1.0, 0.0
		if ratios != nil {
			ratio = ratios[i]
		}
		if l.Kind != Likelihood {
			advantage = l.advantage(s, i)
		}
		value, d := l.token(logp, ratio, advantage)
		if s.Weight != nil {
			value, d = value*s.Weight[i], d*s.Weight[i]
		}
		if k, dk := l.kl(s, i); k != 0 || dk != 0 {
			value, d = value+k, d+dk
		}
		loss += value * s.Scale
		dlogp[i] = float32(d * s.Scale) //nolint:gosec // as long as LogP
	}
	return loss
}

// advantage is that of token i, with KL taken off where KL is a shift. Nothing
// is summed over tokens, so that what a tool says can not enter (case G1).
func (l Loss) advantage(s *Sequence, i int) float64 {
	if l.KL != Shift {
		return s.Advantage[i]
	}
	return s.Advantage[i] - l.KLCoef*(s.Old[i]-s.Reference[i])
}

// token is the loss of one token and its derivative by the log-probability.
func (l Loss) token(logp, ratio, advantage float64) (value, d float64) {
	switch l.Kind {
	case Likelihood:
		return -logp, -1
	case Reinforce:
		return -advantage, -advantage
	}
	held := min(max(ratio, 1-l.Low), 1+l.High)
	if l.Kind == CISPO {
		return -held * advantage * logp, -held * advantage
	}
	free := ratio * advantage
	switch {
	case l.Kind == DualClip && advantage < 0 && ratio > l.Dual:
		return -l.Dual * advantage, 0
	case held*advantage < free:
		return -held * advantage, 0
	}
	return -free, -free
}

// ratios are π/π_old of each token's span.
func (l Loss) ratios(s *Sequence) []float64 {
	out := make([]float64, len(s.LogP))
	for from := 0; from < len(out); {
		to := l.spanEnd(s, from)
		sum := 0.0
		for i := from; i < to; i++ {
			sum += s.LogP[i] - s.Old[i]
		}
		if l.Kind == GSPO {
			sum /= float64(to - from)
		}
		r := expCapped(sum)
		for i := from; i < to; i++ {
			out[i] = r
		}
		from = to
	}
	return out
}

// spanEnd is where the span that begins with token from ends.
func (l Loss) spanEnd(s *Sequence, from int) int {
	switch l.Ratio {
	case PerToken:
		return from + 1
	case PerSequence:
		return len(s.LogP)
	}
	to := from + 1
	for to < len(s.LogP) && s.Turn[to] == s.Turn[from] {
		to++
	}
	return to
}

// kl is the KL term of token i and its derivative.
func (l Loss) kl(s *Sequence, i int) (value, d float64) {
	if l.KL == "" || l.KL == Shift {
		return 0, 0
	}
	diff := min(max(s.Reference[i]-s.LogP[i], -maxExponent), maxExponent)
	switch l.KL {
	case K1:
		value, d = -diff, 1
	case K2:
		value, d = diff*diff/2, -diff
	case K3:
		value, d = math.Exp(diff)-diff-1, 1-math.Exp(diff)
	}
	return l.KLCoef * value, l.KLCoef * d
}

// maxExponent keeps ratios of policies that have nothing in common finite.
const maxExponent = 20

func expCapped(x float64) float64 { return math.Exp(min(max(x, -maxExponent), maxExponent)) }

// Aggregations: how the losses of tokens become one.
const (
	ByToken    = "token"    // every token weighs the same: 1/Σ T
	BySequence = "sequence" // every attempt weighs the same: 1/(N·T)
	ByConstant = "constant" // 1/(N·limit): as by token, whatever else is in the batch
)

// An Attempt is what Scales needs of a row: rows of one attempt (parts) share
// its weight.
type Attempt struct {
	Name   string
	Tokens int // trained, and not masked
}

// Scales are the weights that one token of each row has in the loss. Rows
// without tokens have left the batch.
func Scales(aggregate string, limit int, rows []Attempt) []float64 {
	total, tokens := 0, map[string]int{}
	for _, r := range rows {
		if r.Tokens > 0 {
			total += r.Tokens
			tokens[r.Name] += r.Tokens
		}
	}
	scales := make([]float64, len(rows))
	for i, r := range rows {
		switch {
		case r.Tokens == 0:
		case aggregate == BySequence:
			scales[i] = 1 / (float64(len(tokens)) * float64(tokens[r.Name]))
		case aggregate == ByConstant:
			scales[i] = 1 / (float64(len(tokens)) * float64(limit))
		default:
			scales[i] = 1 / float64(total)
		}
	}
	return scales
}

// CheckAggregate returns an error that names what is wrong.
func CheckAggregate(aggregate string, limit int) error {
	switch {
	case !slices.Contains([]string{ByToken, BySequence, ByConstant}, aggregate):
		return fmt.Errorf("aggregation %q: want token, sequence or constant", aggregate)
	case (aggregate == ByConstant) != (limit > 0):
		return fmt.Errorf("aggregation %s with the constant %d: want a constant above 0 with constant, and none else", aggregate, limit)
	}
	return nil
}
