package train

import (
	"slices"

	"agentmill/internal/rl"
	"agentmill/internal/seed"
)

// A sample is a row that is trained on.
type sample struct {
	*row
	advantage float64
}

// choose decides which rows are trained on, and with which advantage.
func (s *stage) choose() ([]sample, error) {
	for i := range s.rows {
		if s.rows[i].failed {
			s.stats.Failed++
		}
	}
	if s.cfg.Method == "sft" {
		return s.imitated(), nil
	}
	return s.compared()
}

// imitated are the rows worth copying.
func (s *stage) imitated() (samples []sample) {
	for i := range s.rows {
		switch r := &s.rows[i]; {
		case r.failed:
		case r.choice == unjudged:
			s.stats.Unjudged++
		case r.choice == passedOver:
			s.stats.Filtered++
		case r.cut && s.cfg.Cut == "mask":
			s.stats.Cut++
		case r.unseen:
			s.stats.Unseen++
		default:
			samples = append(samples, sample{row: r})
		}
	}
	s.stats.Rows = len(samples)
	return samples
}

// compared are the rows that differ from their group. Rows that were cut count
// in their group's mean, but their tokens are not trained on: what would have
// come after the cut is not known.
func (s *stage) compared() (samples []sample, err error) {
	estimate, err := rl.NewEstimator(s.cfg.Advantage)
	if err != nil {
		return nil, err
	}
	credits := make([]rl.Row, 0, len(s.rows))
	rows := make([]*row, 0, len(s.rows))
	for i := range s.rows {
		if r := &s.rows[i]; !r.failed {
			rows, credits = append(rows, r), append(credits, r.credit)
		}
	}
	advantage, ok, report := rl.Credit(credits, estimate)
	s.stats.Credit = report
	for i, r := range rows {
		switch {
		case r.cut && s.cfg.Cut == "mask":
			s.stats.Cut++
		case !ok[i] || r.Targets() == 0:
			s.stats.Filtered++
		default:
			samples = append(samples, sample{r, advantage[i]})
		}
	}
	s.stats.Rows = len(samples)
	return samples, nil
}

// plan lists the updates: the rows of each.
func plan(cfg Config, samples []sample) (updates [][]sample) {
	if len(samples) == 0 {
		return nil
	}
	size := cfg.Batch
	if size == 0 {
		size = len(samples)
	}
	for epoch := range cfg.Epochs {
		order := slices.Clone(samples)
		rng := seed.Stream(cfg.Seed, "train order", epoch)
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		updates = slices.AppendSeq(updates, slices.Chunk(order, size))
	}
	if cfg.MaxSteps > 0 && len(updates) > cfg.MaxSteps {
		updates = updates[:cfg.MaxSteps]
	}
	return updates
}
