package train

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentmill/internal/atomicfile"
	"agentmill/internal/jsonl"
	"agentmill/internal/tensorboard"
)

// EventPrefix begins the names of event files; the step follows, so that
// TensorBoard reads those of a run one after the other.
const EventPrefix = "events.out.tfevents."

// A live shows the metrics of a run while it goes on: metrics.jsonl beside the
// unfinished run's state, and an event file. Each is written whole and replaced,
// at most twice a second.
type live struct {
	cfg    Config
	first  int // step
	events []event
	shown  time.Time
}

type event struct {
	at time.Time
	m  Metrics
}

// add takes in one more update; done says that it is the last.
func (l *live) add(m Metrics, done bool) error {
	now := l.cfg.Clock.Now()
	l.events = append(l.events, event{now, m})
	const often = 500 * time.Millisecond
	if !done && now.Sub(l.shown) < often && !l.shown.IsZero() {
		return nil
	}
	l.shown = now
	return errors.Join(l.writeLines(), l.writeEvents())
}

// resume takes in the updates of earlier processes.
func (l *live) resume(metrics []Metrics) {
	for _, m := range metrics {
		l.events = append(l.events, event{l.cfg.Clock.Now(), m})
	}
}

func (l *live) writeLines() error {
	var b bytes.Buffer
	for _, e := range l.events {
		line, err := jsonl.Marshal(e.m)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	dir := l.cfg.partial()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return atomicfile.WriteFile(filepath.Join(dir, MetricsFile), b.Bytes())
}

func (l *live) writeEvents() error {
	if l.cfg.TensorBoard == "" {
		return nil
	}
	var b bytes.Buffer
	w, err := tensorboard.NewWriter(&b, l.events[0].at)
	if err != nil {
		return err
	}
	for _, e := range l.events {
		if err := w.Write(e.m.Step, e.at, e.m.scalars()); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(l.cfg.TensorBoard, 0o755); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	name := fmt.Sprintf("%s%010d.agentmill", EventPrefix, l.first)
	return atomicfile.WriteFile(filepath.Join(l.cfg.TensorBoard, name), b.Bytes())
}

// scalars are a step's numbers by name.
func (m *Metrics) scalars() []tensorboard.Scalar {
	all := []tensorboard.Scalar{
		{Tag: "train/loss", Value: m.Loss},
		{Tag: "train/grad_norm", Value: m.GradNorm},
		{Tag: "train/lr", Value: m.LR},
		{Tag: "train/rows", Value: float64(m.Rows)},
		{Tag: "train/trained_tokens", Value: float64(m.Trained)},
		{Tag: "train/tokens_per_second", Value: m.TokensPerSec},
	}
	if c := m.Compared; c != nil {
		all = append(all, []tensorboard.Scalar{
			{Tag: "reward/mean", Value: c.RewardMean},
			{Tag: "reward/std", Value: c.RewardStd},
			{Tag: "groups/with_signal", Value: float64(c.Groups)},
			{Tag: "groups/flat", Value: float64(c.Flat)},
			{Tag: "groups/single", Value: float64(c.Singletons)},
			{Tag: "policy/mean_neg_logp", Value: c.Entropy},
			{Tag: "policy/reference_kl", Value: c.KL},
			{Tag: "engine/drift_mean", Value: c.DriftMean},
			{Tag: "engine/drift_max", Value: c.DriftMax},
			{Tag: "engine/effective_share", Value: c.Effective},
		}...)
	}
	return all
}
