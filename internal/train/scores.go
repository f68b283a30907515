package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/rl"
	"agentmill/internal/safetensors"
)

// known are log-probabilities that do not change while the policy does: of the
// policy before its first update, and of the reference or the teacher. They are
// kept with an unfinished run, whose weights have moved.
type known struct {
	old, reference map[*row][]float32
}

// Names of the tensors that keep them.
const (
	oldName       = "known.old"
	referenceName = "known.reference"
)

// unique are the rows of a plan, each once, in order.
func unique(updates [][]sample) (rows []*row) {
	seen := map[*row]bool{}
	for _, u := range updates {
		for _, s := range u {
			if !seen[s.row] {
				seen[s.row] = true
				rows = append(rows, s.row)
			}
		}
	}
	return rows
}

// needsOld says that log π_old is not just what the first forward pass gives: the
// policy moves between updates, dropout is at work, or what is masked must be known
// before.
func (t *trainer) needsOld() bool {
	o := t.cfg.RL
	if o.Old == enginesOld || t.cfg.Method == "sft" {
		return false
	}
	hasRatio := o.Loss.Kind != rl.Reinforce && o.Loss.Kind != rl.Likelihood
	several := len(t.updates) > 1
	return o.Importance.Kind == rl.Mask || o.Importance.On() && (several || t.cfg.LoRADropout > 0) || hasRatio && several
}

func (t *trainer) needsReference() bool { return t.cfg.RL.Loss.KL != "" || t.cfg.Method == "distill" }

// know fills in what is known before training: from an unfinished run, or by
// asking the models.
func (t *trainer) know(ctx context.Context, from *saved) error {
	rows := unique(t.updates)
	if from != nil && t.state.Done > 0 {
		return errors.Join(recall(from, oldName, t.needsOld(), rows, &t.known.old), recall(from, referenceName, t.needsReference(), rows, &t.known.reference))
	}
	var err error
	if t.needsOld() && len(rows) > 0 {
		if t.known.old, err = scoreRows(ctx, t.model, rows, t.cfg.TokensPerBatch); err != nil {
			return err
		}
	}
	if t.needsReference() && len(rows) > 0 {
		t.known.reference, err = t.askReference(ctx, rows)
	}
	return err
}

// recall reads what an unfinished run kept.
func recall(from *saved, name string, wanted bool, rows []*row, to *map[*row][]float32) error {
	if !wanted {
		return nil
	}
	values, _, err := from.file.Tensor(name)
	if err != nil {
		return err
	}
	*to = map[*row][]float32{}
	for _, r := range rows {
		n := r.Targets()
		if n > len(values) {
			return fmt.Errorf("read %s: tensor %q is too short", from.file.Path(), name)
		}
		(*to)[r], values = values[:n:n], values[n:]
	}
	return nil
}

// entries are what is known, as tensors.
func (t *trainer) knownEntries() (entries []safetensors.Entry) {
	rows := unique(t.updates)
	for _, k := range []struct {
		name   string
		values map[*row][]float32
	}{{oldName, t.known.old}, {referenceName, t.known.reference}} {
		if k.values == nil {
			continue
		}
		var all []float32
		for _, r := range rows {
			all = append(all, k.values[r]...)
		}
		entries = append(entries, safetensors.Of(k.name, safetensors.F32, []int{len(all)}, all))
	}
	return entries
}

// askReference scores rows by the reference policy, or the teacher.
func (t *trainer) askReference(ctx context.Context, rows []*row) (map[*row][]float32, error) {
	p, src := t.reference, t.reference.Merged()
	if t.referenceIsBase() {
		src = p
	}
	m, err := t.cfg.NewModel(p.Config, t.cfg.Backend, src, model.Options{DType: device.F32})
	if err != nil {
		return nil, fmt.Errorf("load policy %s: %w", p.Dir, err)
	}
	defer m.Close()
	t.cfg.Log.Info("log-probabilities of the "+t.referenceRole(), "policy", p.Dir, "rows", len(rows))
	return scoreRows(ctx, m, rows, t.cfg.TokensPerBatch)
}

func (t *trainer) referenceRole() string {
	if t.cfg.Method == "distill" {
		return "teacher"
	}
	return "reference"
}

// referenceIsBase says that KL is measured to the base without the adapter.
func (s *stage) referenceIsBase() bool { return s.cfg.Method != "distill" && s.cfg.RL.Reference == "" }

// openReference opens the teacher, the reference, or the base under the
// adapters.
func (t *trainer) openReference() (err error) {
	if !t.needsReference() {
		return nil
	}
	dir := t.cfg.RL.Reference
	if t.cfg.Method == "distill" {
		dir = t.cfg.RL.Teacher
	}
	if t.referenceIsBase() {
		t.reference, err = checkpoint.Open(t.cfg.Policy, checkpoint.Options{Base: t.cfg.Base})
	} else {
		t.reference, err = checkpoint.Open(dir, checkpoint.Options{})
	}
	if err != nil {
		return err
	}
	if err := checkpoint.SameVocabulary(t.parent, t.reference); err != nil {
		return errors.Join(fmt.Errorf("the %s %s: %w", t.referenceRole(), dir, err), t.closeReference())
	}
	t.referenceHash = t.reference.Hash
	return nil
}

func (t *trainer) closeReference() error {
	if t.reference == nil {
		return nil
	}
	err := t.reference.Close()
	t.reference = nil
	return err
}

// scoreRows are the log-probabilities of the trained tokens of rows under m.
func scoreRows(ctx context.Context, m model.Model, rows []*row, maxTokens int) (map[*row][]float32, error) {
	samples := make([]sample, len(rows))
	for i, r := range rows {
		samples[i].row = r
	}
	scores := map[*row][]float32{}
	for _, micro := range pack(samples, maxTokens) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := packed(micro)
		if err != nil {
			return nil, err
		}
		logp := make([]float32, len(b.Targets))
		m.Forward(b, logp, false)
		for _, s := range micro {
			n := s.Targets()
			scores[s.row], logp = slices.Clone(logp[:n]), logp[n:]
		}
	}
	return scores, nil
}
