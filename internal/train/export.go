package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
	"agentmill/internal/seed"
)

// Exports lists what Export writes.
func Exports() []string { return []string{"merged", "gguf"} }

// ggufFile is the name of a GGUF policy's file.
const ggufFile = "model.gguf"

// An Exported says how far what was written is from the policy.
type Exported struct {
	Mean, Max float64 // |Δ log p| on rows of random tokens
	Hash      string
}

// ErrExport is returned where what was written does not compute what the policy
// does.
var ErrExport = errors.New("the export differs from the policy")

// Export writes the policy of cfg as a folder without an adapter (merged) or with
// a GGUF file, and compares what it computes with the policy itself, adapter on
// the fly.
func Export(ctx context.Context, cfg Config, what string) (e Exported, err error) {
	p, err := checkpoint.Open(cfg.Policy, checkpoint.Options{Base: cfg.Base})
	if err != nil {
		return e, err
	}
	defer func() { _ = p.Close() }()
	if err := checkpoint.Prepare(cfg.Out); err != nil {
		return e, err
	}
	probe := probes(p)
	want, err := scoresOf(ctx, cfg, p, p, probe)
	if err != nil {
		return e, err
	}
	tmp := cfg.partial() // takes its place when it is found to be right
	if e.Hash, err = write(tmp, p, what); err != nil {
		return e, err
	}
	if err := e.measure(ctx, cfg, tmp, p, probe, want); err != nil {
		return e, errors.Join(err, os.RemoveAll(tmp))
	}
	return e, errors.Join(os.RemoveAll(cfg.Out), os.Rename(tmp, cfg.Out))
}

// measure compares what was written to dir with p.
func (e *Exported) measure(ctx context.Context, cfg Config, dir string, p *checkpoint.Policy, probe []*row, want []float32) error {
	q, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	got, err := scoresOf(ctx, cfg, q, q, probe)
	if err != nil {
		return err
	}
	e.compare(want, got)
	if p.Adapter == nil {
		return e.check(math.Inf(1))
	}
	base, err := scoresOf(ctx, cfg, p.Base, p.Base, probe)
	if err != nil {
		return err
	}
	var effect Exported
	effect.compare(want, base)
	return e.check(effect.Mean)
}

// write makes the folder and returns its hash.
func write(dir string, p *checkpoint.Policy, what string) (string, error) {
	m := p.Manifest
	m.Method, m.Base = "export "+what, nil
	if what == "gguf" {
		m, err := checkpoint.SaveGGUF(dir, p, m)
		return m.Hash, err
	}
	src, ok := p.Merged().(model.Filler)
	if !ok {
		return "", fmt.Errorf("policy %s: its tensors have no shapes", p.Dir)
	}
	entries, err := checkpoint.Entries(src, safetensors.BF16)
	if err != nil {
		return "", err
	}
	m, err = checkpoint.Save(dir, checkpoint.Contents{Parent: p, Tensors: entries, Manifest: m})
	return m.Hash, err
}

// probes are rows of random tokens.
func probes(p *checkpoint.Policy) (rows []*row) {
	const n, length = 4, 48
	for i := range n {
		rng := seed.Stream(1, "export probe", i)
		r := &row{invTemp: 1}
		for k := range length {
			r.IDs = append(r.IDs, int32(rng.IntN(p.Config.VocabSize)))
			r.Trained = append(r.Trained, k > 0)
		}
		rows = append(rows, r)
	}
	return rows
}

// scoresOf are the log-probabilities of rows under a policy, its adapter on the
// fly.
func scoresOf(ctx context.Context, cfg Config, p *checkpoint.Policy, src model.Source, rows []*row) ([]float32, error) {
	o := model.Options{DType: device.F32}
	if p.Adapter != nil {
		o.Train, o.LoRA, o.Adapter = model.TrainLoRA, p.Adapter.LoRA, p.Adapter.Source()
	}
	m, err := cfg.NewModel(p.Config, cfg.Backend, src, o)
	if err != nil {
		return nil, fmt.Errorf("load policy %s: %w", p.Dir, err)
	}
	defer m.Close()
	scores, err := scoreRows(ctx, m, rows, 256)
	if err != nil {
		return nil, err
	}
	var all []float32
	for _, r := range rows {
		all = append(all, scores[r]...)
	}
	return all, nil
}

func (e *Exported) compare(want, got []float32) {
	sum := 0.0
	for i := range want {
		d := math.Abs(float64(want[i]) - float64(got[i]))
		sum += d
		e.Max = max(e.Max, d)
	}
	e.Mean = sum / float64(max(1, len(want)))
}

// maxExportDrift is how far rounding to bf16 may bring log-probabilities.
const maxExportDrift = 0.1

// check refuses an export that is not the policy, or in which rounding has lost
// more than half of what the adapter does.
func (e *Exported) check(effect float64) error {
	switch {
	case e.Mean > maxExportDrift:
		return fmt.Errorf("%w: log-probabilities by %.3g in the mean, want %g at most", ErrExport, e.Mean, maxExportDrift)
	case effect > 0 && e.Mean > effect/2:
		return fmt.Errorf("%w: by %.3g in the mean, while the adapter's whole effect is %.3g: rounding to bf16 drowns it; train on, or keep the adapter", ErrExport, e.Mean, effect)
	}
	return nil
}

// ExportPath is where the file of an export lies.
func ExportPath(out, what string) string {
	if what == "gguf" {
		return filepath.Join(out, ggufFile)
	}
	return strings.TrimRight(out, "/")
}
