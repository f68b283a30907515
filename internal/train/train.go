// Package train makes the next policy from scored rows: by imitation of good
// attempts (sft), by policy gradients on compared ones (grpo), or by a teacher's
// opinion of the student's own tokens (distill).
//
// Most callers want Run. It reads rows, decides which tokens count and how much,
// updates the parent's weights and writes the child's folder.
//
// N1: sampled tokens are trained on as they were sampled; only rows without
// tokens (an expert's) are rendered, with the student's own template.
// N2: only rows of the training split are trained on, and none that an oracle
// helped; a row that may not be used is named by file, line and field.
// N3: a run that was killed anywhere and run again ends with the same bits.
// N4: log-probabilities before an update are the trainer's own; those of the
// engine that sampled are compared with them, and correct for the difference
// where importance sampling is asked for.
package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentmill/internal/checkpoint"
	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/optim"
	"agentmill/internal/rl"
)

// A Config says what to train on what. Zero values of those fields that say so
// are replaced by the method's defaults.
type Config struct {
	Source dataset.Source
	Policy string // folder of the parent
	Base   string // replaces the base that an adapter names
	Out    string // folder of the child

	Method string // grpo, sft or distill
	Filter string // sft: a condition on rows, or All; "": correct
	Cut    string // rows that ran into a limit: mask or train
	RL     RL     // grpo and distill

	LR             float64 // 0: by method
	Schedule       string  // constant, linear or cosine; "": by method
	Warmup         int     // steps; negative: by method
	Epochs         int     // passes over the rows
	Batch          int     // rows of one update; 0: by method (grpo: all)
	TokensPerBatch int     // of one forward and backward pass
	MaxSteps       int     // 0: no limit
	Seed           uint64
	Optimizer      optim.Config

	LoRARank  int     // 0: all weights
	LoRAAlpha float64 // 0: twice the rank
	// LoRATargets are the matrices that get adapters, as q_proj; none: all seven.
	LoRATargets []string
	RSLoRA      bool
	LoRADropout float64 // share of the adapters' inputs

	MaxStaleness  int // so many steps older may the policy of a row be
	RequireSignal bool

	SaveEvery time.Duration // of an unfinished run's state
	SaveSteps int           // the same by steps; 0: by time alone
	// KeepCheckpoints policies are kept beside Out, one each SaveSteps updates, and
	// the best by KeepBest.
	KeepCheckpoints int
	KeepBest        string
	Version         string // of the program

	Backend  device.Backend
	NewModel func(model.Config, device.Backend, model.Source, model.Options) (model.Model, error)
	Clock    clock.Clock
	Log      *slog.Logger

	TensorBoard string // folder of event files; "": none

	Look    bool // nothing is trained: Out is not needed
	replays bool // compare rows with their messages
}

// Stats says what a run did.
type Stats struct {
	dataset.Stats
	Rows     int // trained on
	Filtered int // passed over by the filter (sft), or at their group's mean (grpo)
	Unseen   int // sft: read a mail that no search of theirs had shown
	Unjudged int // without the verdict that the filter asks for
	Failed   int // attempts that failed
	Cut      int // masked because a limit cut them
	Credit   rl.Report

	Updates     int
	First, Last float64 // loss
	Tokens      int     // of all passes
	Rate        float64 // tokens a second
	Updated     bool
	Hash        string // of the child
	Best        string // folder of the best checkpoint
}

// ErrNoSignal is returned under RequireSignal when nothing can be learnt.
var ErrNoSignal = errors.New("no signal")

// A stage is one run.
type stage struct {
	cfg    Config
	parent *checkpoint.Policy
	filter filter
	stats  Stats
	rows   []row
	data   []checkpoint.DataFile

	referenceHash string // of the reference or the teacher
}

// Run trains and writes the child's folder.
func Run(ctx context.Context, cfg Config) (Stats, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return Stats{}, err
	}
	s, err := open(ctx, cfg)
	if err != nil {
		return Stats{}, err
	}
	defer func() { _ = s.parent.Close() }()
	if err := checkpoint.Prepare(cfg.Out); err != nil { // not after hours of training
		return s.stats, err
	}
	samples := s.choose()
	s.warn()
	if len(samples) == 0 && cfg.RequireSignal {
		return s.stats, fmt.Errorf("%w: %s", ErrNoSignal, s.whyNothing())
	}
	t, err := s.start(ctx, plan(cfg, samples))
	if err != nil {
		return s.stats, err
	}
	defer t.close()
	if err := t.run(ctx); err != nil {
		return s.stats, err
	}
	return s.stats, s.finish(t)
}

// open reads what a run of cfg reads. The caller closes the parent.
func open(ctx context.Context, cfg Config) (s *stage, err error) {
	s = &stage{cfg: cfg}
	if s.filter, err = parseFilter(cfg.Filter); err != nil {
		return nil, err
	}
	if s.parent, err = checkpoint.Open(cfg.Policy, checkpoint.Options{Base: cfg.Base}); err != nil {
		return nil, err
	}
	if width := s.parent.Config.HiddenSize; cfg.LoRARank > width {
		return nil, errors.Join(fmt.Errorf("--lora-rank %d: want at most %d, the width of %s", cfg.LoRARank, width, cfg.Policy), s.parent.Close())
	}
	if err = s.read(ctx); err == nil && len(s.rows) == 0 {
		err = fmt.Errorf("no rows to train on in %s", from(cfg.Source.Paths))
	}
	if err != nil {
		_ = s.parent.Close()
		return nil, err
	}
	return s, nil
}

// from names the inputs for people.
func from(paths []string) string {
	if len(paths) == 0 {
		return "standard input"
	}
	return strings.Join(paths, ", ")
}

// withDefaults fills in what depends on the method.
func (c Config) withDefaults() Config {
	sft := c.Method == "sft"
	pick := func(forSFT, forRL float64) float64 {
		if sft {
			return forSFT
		}
		return forRL
	}
	if c.LR == 0 {
		c.LR = pick(2e-4, 2e-5)
		if c.LoRARank > 0 {
			c.LR = 2e-4
		}
	}
	if c.Filter == "" && sft {
		c.Filter = "correct"
	}
	if c.Schedule == "" {
		c.Schedule = "constant"
		if sft {
			c.Schedule = "linear"
		}
	}
	if c.Warmup < 0 {
		c.Warmup = int(pick(5, 0))
	}
	if c.Batch == 0 {
		c.Batch = int(pick(8, 0))
	}
	c.RL = c.RL.withDefaults(c.Method)
	if c.LoRARank > 0 && c.LoRAAlpha == 0 {
		c.LoRAAlpha = 2 * float64(c.LoRARank)
	}
	return c
}

// maxEpochs bounds the plan of a run, which is held in memory.
const maxEpochs = 10_000

// Check returns an error that names the first setting that makes no sense.
func (c Config) Check() error {
	for _, f := range []struct {
		flag, value string
		allowed     []string
	}{
		{"method", c.Method, []string{"grpo", "sft", "distill"}},
		{"cut", c.Cut, []string{"mask", "train"}},
	} {
		if !slices.Contains(f.allowed, f.value) {
			return fmt.Errorf("--%s %q: want one of %v", f.flag, f.value, f.allowed)
		}
	}
	if err := c.checkNumbers(); err != nil {
		return err
	}
	if err := errors.Join(c.checkLoRA(), c.checkKeep()); err != nil {
		return err
	}
	if c.Epochs > maxEpochs {
		return fmt.Errorf("--epochs %d: want at most %d", c.Epochs, maxEpochs)
	}
	if _, err := parseFilter(c.Filter); err != nil {
		return err
	}
	if c.Filter != "" && c.Method != "sft" {
		return fmt.Errorf("--filter %q: want it with --method sft alone; a group that lost rows by their reward has another mean", c.Filter)
	}
	if err := c.RL.check(c); err != nil {
		return err
	}
	if c.Policy == "" || c.Out == "" && !c.Look {
		return errors.New("--policy and --out are needed: the parent's folder and the child's")
	}
	if !c.Look && filepath.Clean(c.Policy) == filepath.Clean(c.Out) {
		return fmt.Errorf("--out %s: is the parent's folder; the child needs one of its own", c.Out)
	}
	return c.withDefaults().schedule(1).Check()
}

// checkNumbers refuses numbers that are too small.
func (c Config) checkNumbers() error {
	for _, f := range []struct {
		flag       string
		value, min int
	}{
		{"epochs", c.Epochs, 1},
		{"batch", c.Batch, 0},
		{"tokens-per-batch", c.TokensPerBatch, 1},
		{"max-steps", c.MaxSteps, 0},
		{"warmup", c.Warmup, -1},
		{"lora-rank", c.LoRARank, 0},
		{"max-staleness", c.MaxStaleness, 0},
		{"save-steps", c.SaveSteps, 0},
		{"keep-checkpoints", c.KeepCheckpoints, 0},
	} {
		if f.value < f.min {
			return fmt.Errorf("--%s %d: want %d or more", f.flag, f.value, f.min)
		}
	}
	for _, f := range []struct {
		flag  string
		value float64
	}{
		{"weight-decay", c.Optimizer.WeightDecay},
		{"clip-norm", c.Optimizer.ClipNorm},
		{"lora-alpha", c.LoRAAlpha},
		{"save-every", c.SaveEvery.Seconds()},
	} {
		if !(f.value >= 0) {
			return fmt.Errorf("--%s %g: want 0 or more", f.flag, f.value)
		}
	}
	return nil
}

func (c Config) checkLoRA() error {
	if c.LoRARank == 0 && (len(c.LoRATargets) > 0 || c.RSLoRA || c.LoRAAlpha > 0 || c.LoRADropout > 0) {
		return errors.New("--lora-alpha, --lora-target, --rslora, --lora-dropout: there are no adapters; want --lora-rank with them")
	}
	if !(c.LoRADropout >= 0 && c.LoRADropout < 1) {
		return fmt.Errorf("--lora-dropout %g: want 0 or more, below 1", c.LoRADropout)
	}
	for i, name := range c.LoRATargets {
		if !slices.Contains(model.AllProjections(), name) || slices.Contains(c.LoRATargets[:i], name) {
			return fmt.Errorf("--lora-target %q: want one of %v, each once", name, model.AllProjections())
		}
	}
	return nil
}

func (c Config) schedule(total int) optim.Schedule {
	return optim.Schedule{Kind: c.Schedule, LR: c.LR, Warmup: c.Warmup, Total: total}
}

// warn says what is likely to be a mistake.
func (s *stage) warn() {
	if s.cfg.LoRARank > 0 && s.cfg.LR < 5e-6 {
		s.cfg.Log.Warn("the learning rate is one for all weights; adapters learn next to nothing with it", "lr", s.cfg.LR)
	}
	if s.stats.Cut > 0 && 2*s.stats.Cut >= len(s.rows) {
		s.cfg.Log.Warn("half of the rows or more ran into a limit", "cut", s.stats.Cut, "rows", len(s.rows))
	}
	s.warnRL()
	if names := s.stats.Credit.NotFinite; len(names) > 0 {
		s.cfg.Log.Warn("rewards that are no numbers; their rows are left out", "rows", names)
	}
}

// whyNothing says where all rows have gone.
func (s *stage) whyNothing() string {
	c := s.stats.Credit
	return fmt.Sprintf("%d rows: %d failed, %d without a reward, %d cut, %d without the verdict that --filter asks for, %d read what no search had shown, %d filtered; groups: %d with equal rewards, %d of one attempt",
		len(s.rows), s.stats.Failed, c.NoReward, s.stats.Cut, s.stats.Unjudged, s.stats.Unseen, s.stats.Filtered, c.Flat, c.Singletons)
}
