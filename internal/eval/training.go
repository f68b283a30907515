package eval

import (
	"context"

	"agentmill/internal/dataset"
	"agentmill/internal/traj"
)

// A Step is what one training step's own attempts came to.
type Step struct {
	Name     string   `json:"name"`
	Accuracy Estimate `json:"accuracy"`
	Reward   Estimate `json:"reward"`
	Wrong    Estimate `json:"hallucinated"`
}

// training measures the attempts that a policy was trained on, step after step.
// They are other questions each time: a curve to look at, not a result.
func training(ctx context.Context, cfg Config) ([]Step, error) {
	var steps []Step
	for _, in := range cfg.Training {
		src := cfg.Source
		src.Paths, src.MaxErrors = []string{in.Path}, cfg.Source.MaxErrors
		c := collector{}
		if _, err := dataset.Read(ctx, src, func(_ dataset.Position, row *traj.Scored) error { return c.add(in.Name, row) }); err != nil {
			return nil, err
		}
		for _, s := range c.finish() {
			judged := filter(s.rows, func(r *traj.Scored) bool { return r.Verdict != nil })
			if len(judged) == 0 {
				continue
			}
			steps = append(steps, Step{
				Name: in.Name, Accuracy: share(judged, correct),
				Reward: mean(judged, func(r *traj.Scored) float64 { return *r.Reward }),
				Wrong:  share(judged, func(r *traj.Scored) bool { return r.Verdict.Hallucinated }),
			})
		}
	}
	return steps, nil
}
