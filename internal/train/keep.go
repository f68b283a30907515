package train

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/checkpoint"
)

// A bestMetric is what the best checkpoint is chosen by: the mean over the
// updates since the checkpoint before.
type bestMetric struct {
	of    func(m *Metrics) float64
	least bool // the smaller, the better
}

var bestMetrics = map[string]bestMetric{
	"loss":        {func(m *Metrics) float64 { return m.Loss }, true},
	"grad_norm":   {func(m *Metrics) float64 { return m.GradNorm }, true},
	"reward_mean": {func(m *Metrics) float64 { return comparedOr0(m).RewardMean }, false},
	"drift_mean":  {func(m *Metrics) float64 { return comparedOr0(m).DriftMean }, true},
	"kl":          {func(m *Metrics) float64 { return comparedOr0(m).KL }, true},
}

func comparedOr0(m *Metrics) Compared {
	if m.Compared == nil {
		return Compared{}
	}
	return *m.Compared
}

// BestMetrics lists what --keep-best knows.
func BestMetrics() []string { return slices.Sorted(maps.Keys(bestMetrics)) }

func (c Config) checkKeep() error {
	switch {
	case c.KeepBest != "" && bestMetrics[c.KeepBest].of == nil:
		return fmt.Errorf("--keep-best %q: want one of %v", c.KeepBest, BestMetrics())
	case (c.KeepCheckpoints > 0 || c.KeepBest != "") && c.SaveSteps == 0:
		return errors.New("--keep-checkpoints, --keep-best: want --save-steps with them, which says when there is one")
	case c.KeepBest != "" && c.Method == "sft" && c.KeepBest != "loss" && c.KeepBest != "grad_norm":
		return fmt.Errorf("--keep-best %s: imitation does not measure it; want loss or grad_norm", c.KeepBest)
	}
	return nil
}

// steps is the folder of the checkpoints of a run.
func (c Config) steps() string { return strings.TrimRight(c.Out, "/") + ".steps" }

// keep writes the policy as it is now as a checkpoint, and removes those that
// are neither among the newest nor the best.
func (t *trainer) keep() error {
	if t.cfg.KeepCheckpoints == 0 && t.cfg.KeepBest == "" || t.state.Done%t.cfg.SaveSteps != 0 {
		return nil
	}
	dir := filepath.Join(t.cfg.steps(), fmt.Sprintf("%06d", t.state.Done))
	m := t.manifest(t.state.Done)
	m.Data = t.data
	if _, err := checkpoint.Save(dir, checkpoint.Contents{Parent: t.parent, Tensors: t.weights(), LoRA: t.lora, Manifest: m}); err != nil {
		return err
	}
	return t.prune()
}

// prune removes checkpoints. What is no checkpoint of ours is left alone.
func (t *trainer) prune() error {
	have, err := t.checkpoints()
	if err != nil {
		return err
	}
	keep := map[int]bool{t.best(have): true}
	for _, done := range have[max(0, len(have)-max(1, t.cfg.KeepCheckpoints)):] {
		keep[done] = true
	}
	for _, done := range have {
		if !keep[done] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(t.cfg.steps(), fmt.Sprintf("%06d", done))))
		}
	}
	return err
}

// checkpoints are the updates after which there is one, in order.
func (t *trainer) checkpoints() (have []int, err error) {
	entries, err := os.ReadDir(t.cfg.steps())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	for _, e := range entries {
		done, err := strconv.Atoi(e.Name())
		if _, missing := os.Stat(filepath.Join(t.cfg.steps(), e.Name(), checkpoint.ManifestFile)); err == nil && missing == nil && done <= t.state.Done {
			have = append(have, done)
		}
	}
	slices.Sort(have)
	return have, nil
}

// best is the best of the checkpoints, 0 where none is asked for.
func (t *trainer) best(have []int) int {
	metric, ok := bestMetrics[t.cfg.KeepBest]
	if !ok {
		return 0
	}
	best, value := 0, 0.0
	for _, done := range have {
		since := t.state.Metrics[max(0, done-t.cfg.SaveSteps):done]
		sum := 0.0
		for i := range since {
			sum += metric.of(&since[i])
		}
		mean := sum / float64(len(since))
		if best == 0 || (metric.least && mean < value) || (!metric.least && mean > value) {
			best, value = done, mean
		}
	}
	return best
}
