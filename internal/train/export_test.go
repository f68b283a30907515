package train

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"agentmill/internal/checkpoint"
	"agentmill/internal/numtest"
)

// TestExport (case L5): what is written computes what base and adapter do.
func TestExport(t *testing.T) {
	b := newBench(t)
	rows := b.asPlayed(t, 2)
	live := b.adapted(t, "live", rows)
	for _, what := range Exports() {
		cfg := b.config(t, "sft", what, nil)
		cfg.Policy = live.Out
		e, err := Export(t.Context(), cfg, what)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		p, err := checkpoint.Open(cfg.Out, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Adapter != nil || p.Hash != e.Hash || p.Manifest.Method != "export "+what {
			t.Errorf("%s: manifest %+v", what, p.Manifest)
		}
		p.Close()
		if !(e.Mean < 0.05) {
			t.Errorf("%s: differs by %v", what, e.Mean)
		}
		numtest.Close(t, what, b.likelihoods(t, cfg.Out, rows), b.likelihoods(t, live.Out, rows), numtest.Tol{Abs: .5, Rel: .02})
	}
}

// TestExportThatLosesTheUpdate: an adapter so small that bf16 has no room for it.
func TestExportThatLosesTheUpdate(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "faint", b.asPlayed(t, 2))
	cfg.LoRARank, cfg.LR = 2, 1e-6
	run(t, cfg)
	out := b.config(t, "sft", "merged", nil)
	out.Policy, out.Out = cfg.Out, filepath.Join(b.dir, "merged")
	if _, err := Export(t.Context(), out, "merged"); !errors.Is(err, ErrExport) || !strings.Contains(err.Error(), "rounding to bf16 drowns it") {
		t.Errorf("got %v, want a refusal", err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "merged*")); len(left) > 0 {
		t.Errorf("a refused export left %v", left)
	}
}
