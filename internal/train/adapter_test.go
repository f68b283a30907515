package train

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/checkpoint"
)

// TestShapeOfAdapters: targets and scale go from the flags into the folder, are
// played as they were trained, and are gone on with.
func TestShapeOfAdapters(t *testing.T) {
	b := newBench(t)
	rows := b.played(1, 1, 0)
	config := func(policy, out string) Config {
		cfg := b.config(t, "grpo", out, rows)
		cfg.Policy, cfg.LoRARank, cfg.LoRAAlpha, cfg.LoRATargets, cfg.RSLoRA, cfg.LR = policy, 4, 4, []string{"v_proj", "q_proj"}, true, 5e-2
		return cfg
	}
	cfg := config(b.parent, "child")
	st := run(t, cfg)
	p, err := checkpoint.Open(cfg.Out, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if l := p.Adapter.LoRA; l.Scale() != 2 || !l.RSLoRA || cmp.Diff([]string{"q_proj", "v_proj"}, l.Targets) != "" || len(p.Adapter.Source().Names()) != 8 {
		t.Errorf("adapter %+v with tensors %v", l, p.Adapter.Source().Names())
	}
	for i := range rows {
		rows[i].Policy.Hash = st.Hash
	}
	run(t, config(cfg.Out, "grandchild"))
	other := config(cfg.Out, "other")
	other.LoRATargets = []string{"o_proj"}
	if _, err := Run(t.Context(), other); err == nil || !strings.Contains(err.Error(), "--lora-target [o_proj]: the parent") {
		t.Errorf("other targets: %v", err)
	}
	other = config(cfg.Out, "other")
	other.RSLoRA = false
	if _, err := Run(t.Context(), other); err == nil || !strings.Contains(err.Error(), "rslora true, and goes on as such") {
		t.Errorf("another scale: %v", err)
	}
}
