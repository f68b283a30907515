package train

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func lines(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, MetricsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWatch: the steps of all folders in one curve, late ones in their place, a
// zero loss explained.
func TestWatch(t *testing.T) {
	run := t.TempDir()
	lines(t, filepath.Join(run, "policy-01"), `{"step":9,"method":"grpo","loss":0.5,"grad_norm":1,"compared":{"reward_mean":0.1,"groups":1,"flat_groups":3}}`+"\n")
	lines(t, filepath.Join(run, "policy-00"), `{"step":8,"method":"sft","loss":2,"grad_norm":3}`+"\n")
	lines(t, filepath.Join(run, "policy-02.partial"), `{"step":10,"method":"grpo","loss":0,"grad_norm":2,"note":"it is so","compared":{"reward_mean":0.4,"groups":4,"flat_groups":0}}`+"\n")
	var b bytes.Buffer
	w := Watch{Run: run, Width: 20, Height: 3, Out: &b}
	if err := w.Draw(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		": step 10, grpo, loss 0.0000, gradient norm 2.000", "\nit is so\n", "loss: 2 at step 8 … 0 at step 10",
		"reward (mean of the rows of a step): 0.1 at step 9 … 0.4 at step 10", "share of groups without spread: 0.75 at step 9", "┤",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}

	// Live: drawn again until told to stop; a new step shows.
	b.Reset()
	draws := 0
	w.Live, w.Wait = true, func(context.Context, time.Duration) error {
		if draws++; draws > 1 {
			return errors.New("stop")
		}
		lines(t, filepath.Join(run, "policy-03"), `{"step":11,"method":"grpo","loss":7}`+"\n")
		return nil
	}
	if err := w.Draw(t.Context()); err != nil || strings.Count(b.String(), "\x1b[2J") != 2 || !strings.Contains(b.String(), "step 11, grpo, loss 7") {
		t.Errorf("%v, %q", err, b.String())
	}
	if _, err := ReadMetrics(t.TempDir()); err == nil || !strings.Contains(err.Error(), "want the folder of a run") {
		t.Errorf("an empty folder: %v", err)
	}
	lines(t, filepath.Join(run, "broken"), "{}\nnope\n")
	if _, err := ReadMetrics(run); err == nil || !strings.Contains(err.Error(), "metrics.jsonl:2: ") {
		t.Errorf("a broken line: %v", err)
	}
}

// TestLiveMetrics: while a run goes on its lines can be read, and events are
// written.
func TestLiveMetrics(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "child", b.played(2, 1, 0))
	cfg.Batch, cfg.SaveSteps, cfg.TensorBoard = 2, 1, filepath.Join(b.dir, "events")
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Log = stopAfter(cfg, cancel, 1)
	if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	steps, err := ReadMetrics(cfg.partial())
	if err != nil || len(steps) != 1 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	again := b.config(t, "grpo", "child", b.played(2, 1, 0))
	again.Batch, again.SaveSteps, again.TensorBoard = 2, 1, cfg.TensorBoard
	run(t, again)
	names, _ := filepath.Glob(filepath.Join(cfg.TensorBoard, "*"))
	if len(names) != 1 || filepath.Base(names[0]) != "events.out.tfevents.0000000001.agentmill" {
		t.Errorf("event files: %v", names)
	}
	data, err := os.ReadFile(names[0])
	if err != nil || bytes.Count(data, []byte("train/loss")) != 2 || bytes.Count(data, []byte("reward/mean")) != 2 {
		t.Errorf("%d losses in the event file, %v", bytes.Count(data, []byte("train/loss")), err)
	}
}
