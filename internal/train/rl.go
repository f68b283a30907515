package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/rl"
)

// RL are the options of the methods with a policy gradient. Each is one choice,
// independent of the others; the zero value of a string and a negative number
// are the default.
type RL struct {
	// Advantage is an estimator of package rl, or salt or gigpo, which spread what
	// the estimator Base says over an attempt's turns.
	Advantage, Base string
	Steps           rl.Steps // of salt and gigpo; Kind is Advantage
	PerTerm         bool
	TermWeights     []string // NAME=WEIGHT

	Loss       rl.Loss
	Aggregate  string
	Limit      int // of the aggregation by constant
	Importance rl.Importance
	Old        string // whose numbers log π_old are: trainer or engine
	Reference  string // folder of the policy that KL is measured to; "": an adapter's base

	Overlong Overlong
	Teacher  string // distill: folder
}

// Overlong is the punishment of long attempts; Limit 0 is none.
type Overlong struct {
	Limit, Cache int // tokens that an attempt samples
	Factor       float64
}

// DefaultRL is REINFORCE with the mean of the others as baseline.
func DefaultRL() RL {
	return RL{
		Advantage: "rloo", Steps: rl.DefaultSteps(""), Overlong: Overlong{Factor: 1},
		Loss: rl.Loss{Low: -1, High: -1, Dual: -1}, Importance: rl.Importance{Low: -1, High: -1},
	}
}

// stepAdvantages are the advantages that are made of another one.
var stepAdvantages = []string{rl.SALT, rl.GiGPO}

// AdvantageNames lists what --advantage knows.
func AdvantageNames() []string { return append(rl.EstimatorNames(), stepAdvantages...) }

func (o RL) crediting() rl.Crediting {
	weights, err := rl.ParseWeights(o.TermWeights)
	if err != nil {
		weights = nil // check has told
	}
	c := rl.Crediting{Advantage: o.Advantage, PerTerm: o.PerTerm, TermWeights: weights}
	if slices.Contains(stepAdvantages, o.Advantage) {
		c.Steps = o.Steps
		c.Advantage, c.Steps.Kind = o.Base, o.Advantage
		if c.Advantage == "" {
			c.Advantage = "rloo"
		}
	}
	return c
}

// withDefaults fills in what depends on other choices.
func (o RL) withDefaults(method string) RL {
	switch {
	case method == "sft":
		o.Loss.Kind = rl.Likelihood
	case o.Loss.Kind == "":
		o.Loss.Kind = rl.Reinforce
	}
	if o.Aggregate == "" {
		o.Aggregate = rl.ByToken
		if o.Loss.Kind == rl.GSPO {
			o.Aggregate = rl.BySequence
		}
	}
	if o.Old == "" {
		o.Old = trainersOld
	}
	o.Loss = o.Loss.WithDefaults()
	if o.Importance.Kind == "" {
		o.Importance.Kind = rl.Uncorrected
		if method == "grpo" && o.Old != enginesOld {
			o.Importance.Kind = rl.Truncate
		}
	}
	if o.Importance.On() {
		o.Importance = o.Importance.WithDefaults()
	}
	return o
}

// Whose numbers log π_old are.
const (
	trainersOld = "trainer"
	enginesOld  = "engine"
)

// needsSampled says that the engine's log-probabilities enter the loss.
func (o RL) needsSampled() bool { return o.Importance.On() || o.Old == enginesOld }

// check returns an error that names the first option that makes no sense, or
// that undoes another one.
func (o RL) check(c Config) error {
	if c.Method == "sft" {
		return o.checkSFT()
	}
	if !slices.Contains(AdvantageNames(), o.Advantage) {
		return fmt.Errorf("--advantage %q: want one of %s", o.Advantage, strings.Join(AdvantageNames(), ", "))
	}
	if _, err := rl.ParseWeights(o.TermWeights); err != nil {
		return fmt.Errorf("--term-weight %w", err)
	}
	loss := o.Loss
	if loss.Kind == "" {
		loss.Kind = rl.Reinforce
	}
	d := o.withDefaults(c.Method)
	for _, err := range []error{
		named("--loss", loss.Check()), named("--advantage", o.crediting().Check()), named("--importance", d.Importance.Check()),
		named("--aggregate", rl.CheckAggregate(d.Aggregate, o.Limit)), o.checkTogether(c), o.Overlong.check(c), o.checkDistill(c),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// checkSFT refuses what imitation has no use for.
func (o RL) checkSFT() error {
	d := DefaultRL()
	for _, f := range []struct {
		flag string
		set  bool
	}{
		{"advantage", o.Advantage != "" && o.Advantage != d.Advantage},
		{"loss", o.Loss.Kind != "" && o.Loss.Kind != rl.Likelihood},
		{"per-term", o.PerTerm},
		{"kl", o.Loss.KL != ""},
		{"importance", o.Importance.On()},
		{"overlong-limit", o.Overlong.Limit > 0},
		{"teacher", o.Teacher != ""},
	} {
		if f.set {
			return fmt.Errorf("--%s: imitation has no such thing; want --method grpo or distill with it", f.flag)
		}
	}
	return named("--aggregate", rl.CheckAggregate(o.withDefaults("sft").Aggregate, o.Limit))
}

// checkTogether refuses options that undo each other.
func (o RL) checkTogether(c Config) error {
	switch stepwise := slices.Contains(stepAdvantages, o.Advantage); {
	case o.Base != "" && !stepwise:
		return fmt.Errorf("--advantage-base %s: %s is of whole attempts; want --advantage salt or gigpo with it", o.Base, o.Advantage)
	case stepwise && o.Steps.Renorm && o.Base == "grpo":
		return errors.New("--salt-renorm with --advantage-base grpo: both divide by a deviation; the second undoes the first")
	case o.Old != "" && o.Old != trainersOld && o.Old != enginesOld:
		return fmt.Errorf("--old %q: want trainer or engine", o.Old)
	case o.Old == enginesOld && o.Importance.On():
		return errors.New("--importance with --old engine: with the engine's own log-probabilities as π_old its weights are all 1")
	case o.Old == enginesOld && (o.Loss.Kind == "" || o.Loss.Kind == rl.Reinforce):
		return errors.New("--old engine with --loss reinforce: that loss has no ratio; want clip, dual-clip, cispo or gspo")
	case o.Reference != "" && o.Loss.KL == "":
		return fmt.Errorf("--reference %s: nothing is measured to it; want --kl and --kl-coef", o.Reference)
	case o.Loss.KL != "" && o.Reference == "" && c.LoRARank == 0:
		return errors.New("--kl: without adapters there is no base to measure to; name a policy by --reference")
	}
	return nil
}

func (o Overlong) check(c Config) error {
	switch {
	case o.Limit < 0 || o.Cache < 0 || !(o.Factor >= 0):
		return fmt.Errorf("--overlong-limit %d, --overlong-cache %d, --overlong-factor %v: want 0 or more", o.Limit, o.Cache, o.Factor)
	case o.Limit == 0 && o.Cache > 0:
		return fmt.Errorf("--overlong-cache %d: there is no limit that it ends at; want --overlong-limit", o.Cache)
	case o.Cache > o.Limit:
		return fmt.Errorf("--overlong-cache %d: is longer than --overlong-limit %d", o.Cache, o.Limit)
	case o.Limit > 0 && c.Cut == "mask":
		return errors.New("--overlong-limit with --cut mask: the rows that it punishes most are not trained on; want --cut train")
	}
	return nil
}

func (o RL) checkDistill(c Config) error {
	switch distill := c.Method == "distill"; {
	case !distill && o.Teacher != "":
		return fmt.Errorf("--teacher %s: want it with --method distill", o.Teacher)
	case !distill:
		return nil
	case o.Teacher == "":
		return errors.New("--teacher is needed: the folder of the policy to learn from")
	case o.Advantage != "rloo" || o.PerTerm || o.Overlong.Limit > 0:
		return errors.New("--method distill has no rewards: its advantages are what the teacher says of each token; leave out --advantage, --per-term and --overlong-limit")
	case o.Loss.KL != "":
		return errors.New("--kl with --method distill: the method is the KL divergence from the teacher already")
	}
	return nil
}

// warnRL says which options of a policy gradient are likely to be a mistake.
func (s *stage) warnRL() {
	o, c := s.cfg.RL, &s.stats.Credit
	several := s.cfg.Epochs > 1 || s.cfg.Batch > 0 && s.cfg.Batch < s.stats.Rows
	switch {
	case s.cfg.Method == "sft":
	case several && o.Loss.Kind == rl.Reinforce && s.cfg.Method == "grpo":
		s.cfg.Log.Warn("several updates on the same attempts, and --loss reinforce does not know that the policy moves between them; clip, cispo and gspo do")
	case !several && o.Loss.Kind != rl.Reinforce && o.Old == trainersOld:
		s.cfg.Log.Info("one update a batch: the ratio is 1 and no bound is met; the update is that of --loss reinforce")
	}
	if o.Loss.KL == rl.K1 {
		s.cfg.Log.Warn("the gradient of --kl k1 is 0 in the mean: it holds the policy to nothing; k2, k3 and shift do")
	}
	if o.crediting().Steps.Kind == rl.SALT && c.StepsInAll > 0 && c.Merged == 0 {
		s.cfg.Log.Warn("--advantage salt merged no turn: advantages are those of whole attempts", "turns", c.StepsInAll)
	}
	if len(c.NoTerm) > 0 {
		s.cfg.Log.Warn("rows lack a term of the reward that others of their group have; it is not counted as 0", "rows", c.NoTerm)
	}
}

// flags are the options in force, as a policy folder records them.
func (o RL) flags() map[string]string {
	f := map[string]string{
		"advantage": o.Advantage, "loss": o.Loss.Kind, "aggregate": o.Aggregate, "old": o.Old,
	}
	add := func(when bool, name string, value any) {
		if when {
			f[name] = fmt.Sprint(value)
		}
	}
	c := o.crediting()
	add(c.Steps.Kind != "", "advantage-base", c.Advantage)
	add(c.Steps.Kind == rl.SALT, "salt-history", o.Steps.History)
	add(c.Steps.Kind == rl.SALT && o.Steps.PerVisit, "salt-votes", "visit")
	add(c.Steps.Kind == rl.SALT && o.Steps.Renorm, "salt-renorm", true)
	add(c.Steps.Kind != "", "similarity", o.Steps.Similarity)
	add(c.Steps.Kind == rl.GiGPO, "gigpo-omega", o.Steps.Omega)
	add(c.Steps.Kind == rl.GiGPO, "gigpo-gamma", o.Steps.Gamma)
	add(c.Steps.Kind == rl.GiGPO && o.Steps.Std, "gigpo-std", true)
	add(o.PerTerm, "per-term", true)
	add(len(o.TermWeights) > 0, "term-weight", strings.Join(o.TermWeights, " "))
	clips := o.Loss.Kind != rl.Reinforce
	add(clips, "clip-low", o.Loss.Low)
	add(clips, "clip-high", o.Loss.High)
	add(o.Loss.Kind == rl.DualClip, "dual-clip", o.Loss.Dual)
	add(clips, "ratio", o.Loss.Ratio)
	add(o.Limit > 0, "aggregate-limit", o.Limit)
	add(o.Loss.KL != "", "kl", o.Loss.KL)
	add(o.Loss.KL != "", "kl-coef", o.Loss.KLCoef)
	add(o.Reference != "", "reference", o.Reference)
	add(true, "importance", o.Importance.Kind)
	add(o.Importance.On(), "importance-level", o.Importance.Level)
	add(o.Importance.Kind == rl.Mask, "importance-low", o.Importance.Low)
	add(o.Importance.On(), "importance-high", o.Importance.High)
	add(o.Overlong.Limit > 0, "overlong-limit", o.Overlong.Limit)
	add(o.Overlong.Limit > 0, "overlong-cache", o.Overlong.Cache)
	add(o.Overlong.Limit > 0, "overlong-factor", o.Overlong.Factor)
	add(o.Teacher != "", "teacher", o.Teacher)
	return f
}
