package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/rl"
)

// ErrDrift is returned by CheckRows where rows or numbers are not what they
// should be.
var ErrDrift = errors.New("drift")

// CheckRows says on w whether each row is what its tokenizer and template say,
// and how near the engine's log-probabilities are to the trainer's. It returns
// ErrDrift where a row drifts, where the mean difference is above maxDrift, or
// where the parent's adapter has no effect or too much.
func CheckRows(ctx context.Context, cfg Config, maxDrift float64, w io.Writer) (Stats, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return Stats{}, err
	}
	cfg.replays = true
	s, err := open(ctx, cfg)
	if err != nil {
		return Stats{}, err
	}
	defer func() { _ = s.parent.Close() }()
	var b strings.Builder
	faults := s.tellReplays(&b)
	of, err := s.checkAdapter(&b)
	if err != nil {
		return s.stats, err
	}
	faults = append(faults, of...)
	of, err = s.compareEngines(ctx, &b, maxDrift)
	if err != nil {
		return s.stats, err
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return s.stats, err
	}
	if faults = append(faults, of...); len(faults) > 0 {
		return s.stats, fmt.Errorf("%w: %s", ErrDrift, strings.Join(faults, "; "))
	}
	return s.stats, nil
}

// tellReplays writes a line a row.
func (s *stage) tellReplays(b *strings.Builder) (faults []string) {
	exact, drifting, rendered, own, turns := 0, 0, 0, 0, 0
	for i := range s.rows {
		r := &s.rows[i]
		switch {
		case r.failed:
		case r.replay == nil:
			rendered++
		default:
			fmt.Fprintf(b, "%s  %s\n", r.id, r.replay)
			own, turns = own+r.replay.own, turns+r.replay.turns
			if r.replay.exact {
				exact++
			} else {
				drifting++
			}
		}
	}
	fmt.Fprintf(b, "\nrows     %d exact, %d drift, %d have no tokens of this policy and are rendered by its template\n", exact, drifting, rendered)
	fmt.Fprintf(b, "turns    %d, of which the tokenizer would have split %d in another way than they were sampled\n", turns, own)
	if drifting > 0 {
		faults = append(faults, fmt.Sprintf("%d of %d rows are not what tokenizer and template say", drifting, drifting+exact))
	}
	return faults
}

// checkAdapter looks for matrices of the parent's adapter that change nothing.
func (s *stage) checkAdapter(b *strings.Builder) (faults []string, err error) {
	if s.parent.Adapter == nil {
		return nil, nil
	}
	src := s.parent.Adapter.Source()
	var dead []string
	pairs := 0
	for _, name := range src.Names() {
		if !strings.Contains(name, ".lora_B.") {
			continue
		}
		pairs++
		values, _, err := src.Tensor(name)
		if err != nil {
			return nil, err
		}
		if zero(values) {
			dead = append(dead, name)
		}
	}
	fmt.Fprintf(b, "adapter  %d of %d products change something\n", pairs-len(dead), pairs)
	if len(dead) == 0 {
		return nil, nil
	}
	if len(dead) == pairs {
		return []string{"the adapter has no effect: " + listed(dead) + " are 0"}, nil
	}
	fmt.Fprintf(b, "         %s are 0\n", listed(dead))
	return nil, nil
}

func zero(values []float32) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}

// listed names the first of many.
func listed(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// compareEngines compares log-probabilities; of an adapter, also those of the
// base alone.
func (s *stage) compareEngines(ctx context.Context, b *strings.Builder, maxDrift float64) (faults []string, err error) {
	var rows []*row
	for i := range s.rows {
		if r := &s.rows[i]; r.sampled != nil {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		b.WriteString("numbers  no row has log-probabilities to compare\n")
		return nil, nil
	}
	whole, err := s.driftUnder(ctx, s.parent.Merged(), rows)
	if err != nil {
		return nil, err
	}
	tellDrift(b, "numbers ", whole)
	if s.parent.Adapter != nil {
		base, err := s.driftUnder(ctx, s.parent, rows)
		if err != nil {
			return nil, err
		}
		tellDrift(b, "base    ", base)
		if base.Mean() < whole.Mean()/2 {
			return []string{fmt.Sprintf("the rows fit the base without the adapter (mean difference %.3g) and not with it (%.3g): the base has the adapter in it already, or the rows were played without it; tensors %s",
				base.Mean(), whole.Mean(), listed(s.parent.Adapter.Source().Names()))}, nil
		}
	}
	if whole.Mean() > maxDrift {
		faults = append(faults, fmt.Sprintf("engine and trainer differ by %.3g in the mean, want %g at most", whole.Mean(), maxDrift))
	}
	return faults, nil
}

func tellDrift(b *strings.Builder, name string, d *rl.Drift) {
	fmt.Fprintf(b, "%s |log π_trainer − log μ_engine|: mean %.3g, largest %.3g; correlation of probabilities %.6f, KL %.3g, effective share %.4f; %d tokens\n",
		name, d.Mean(), d.Max, d.Correlation(), d.KL(), d.EffectiveShare(), d.Count)
}

// driftUnder compares rows with what a model of these weights says.
func (s *stage) driftUnder(ctx context.Context, src model.Source, rows []*row) (*rl.Drift, error) {
	m, err := s.cfg.NewModel(s.parent.Config, s.cfg.Backend, src, model.Options{DType: device.F32})
	if err != nil {
		return nil, fmt.Errorf("load policy %s: %w", s.parent.Dir, err)
	}
	defer m.Close()
	scores, err := scoreRows(ctx, m, rows, s.cfg.TokensPerBatch)
	if err != nil {
		return nil, err
	}
	var d rl.Drift
	for _, r := range rows {
		for k, x := range scores[r] {
			d.Add(float64(x), float64(r.sampled[k]))
		}
	}
	return &d, nil
}
