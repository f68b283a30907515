package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/checkpoint"
)

// TestKeeps: the newest and the best checkpoints, the same after an interruption;
// what is no checkpoint is left alone (case N5).
func TestKeeps(t *testing.T) {
	b := newBench(t)
	config := func() Config {
		cfg := b.config(t, "sft", "child", expert(3))
		cfg.Epochs, cfg.Batch, cfg.LR, cfg.SaveSteps, cfg.KeepCheckpoints, cfg.KeepBest = 6, 1, 5e-2, 3, 2, "loss"
		cfg.Schedule = "constant"
		return cfg
	}
	steps := config().steps()
	foreign := filepath.Join(steps, "notes")
	if err := os.MkdirAll(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	st := run(t, config())
	want := files(t, steps)
	var folders []string
	for name := range want {
		if folder, file := filepath.Split(name); file == checkpoint.ManifestFile {
			folders = append(folders, folder)
		}
	}
	if len(folders) < 2 || len(folders) > 3 || st.Best == "" {
		t.Fatalf("kept %v, best %q", folders, st.Best)
	}
	p, err := checkpoint.Open(st.Best, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a folder that is no checkpoint is gone")
	}

	for _, dir := range []string{steps, config().Out} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cfg := config()
	cfg.Log = stopAfter(cfg, cancel, 7)
	if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if again := run(t, config()); again.Best != st.Best {
		t.Errorf("best is %s, unbroken %s", again.Best, st.Best)
	}
	if diff := cmp.Diff(want, files(t, steps)); diff != "" {
		t.Errorf("after an interruption (-unbroken +got):\n%.1000s", diff)
	}
}

func TestKeepRefusals(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.KeepBest, c.SaveSteps = "los", 1 }, `--keep-best "los": want one of [drift_mean grad_norm kl loss reward_mean]`},
		{func(c *Config) { c.KeepCheckpoints = 2 }, "--keep-checkpoints, --keep-best: want --save-steps"},
		{func(c *Config) { c.Method, c.KeepBest, c.SaveSteps = "sft", "reward_mean", 1 }, "--keep-best reward_mean: imitation does not measure it"},
		{func(c *Config) { c.KeepCheckpoints = -1 }, "--keep-checkpoints -1: want 0 or more"},
	} {
		cfg := b.config(t, "grpo", "child", nil)
		tt.change(&cfg)
		if err := cfg.Check(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
