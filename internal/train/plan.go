package train

import (
	"maps"
	"slices"

	"agentmill/internal/rl"
	"agentmill/internal/seed"
)

// A sample is a row that is trained on.
type sample struct {
	*row
	credit rl.Credit
	scale  float64 // of each of its tokens in the loss of an update
}

// choose decides which rows are trained on, and with which advantage.
func (s *stage) choose() []sample {
	for i := range s.rows {
		if s.rows[i].failed {
			s.stats.Failed++
		}
	}
	switch s.cfg.Method {
	case "sft":
		return s.imitated()
	case "distill":
		return s.taught()
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

// taught are the rows whose tokens the teacher is asked about.
func (s *stage) taught() (samples []sample) {
	for i := range s.rows {
		switch r := &s.rows[i]; {
		case r.failed:
		case r.cut && s.cfg.Cut == "mask":
			s.stats.Cut++
		case r.Targets() == 0:
			s.stats.Filtered++
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
func (s *stage) compared() (samples []sample) {
	rows, credits, report := s.credits(s.cfg.RL.crediting())
	s.stats.Credit = report
	for i, r := range rows {
		switch {
		case r.cut && s.cfg.Cut == "mask":
			s.stats.Cut++
		case !credits[i].OK || r.Targets() == 0:
			s.stats.Filtered++
		default:
			samples = append(samples, sample{row: r, credit: credits[i]})
		}
	}
	s.stats.Rows = len(samples)
	return samples
}

// credits are what a crediting makes of all rows that did not fail.
func (s *stage) credits(c rl.Crediting) (rows []*row, credits []rl.Credit, report rl.Report) {
	var of []rl.Row
	lengths := s.lengths()
	for i := range s.rows {
		if r := &s.rows[i]; !r.failed {
			rows, of = append(rows, r), append(of, s.shaped(r, lengths))
		}
	}
	credits, report = c.Credit(of)
	return rows, credits, report
}

// lengths are how many tokens the policy sampled in each attempt, in all parts.
func (s *stage) lengths() map[string]int {
	sum := map[string]int{}
	for i := range s.rows {
		sum[s.rows[i].attempt()] += s.rows[i].Targets()
	}
	return sum
}

// shaped is the row's credit with the punishment of overlong attempts, which is
// one more term of its reward.
func (s *stage) shaped(r *row, lengths map[string]int) rl.Row {
	o, c := s.cfg.RL.Overlong, r.credit
	if o.Limit == 0 || c.Reward == nil {
		return c
	}
	x := rl.Overlong(lengths[r.attempt()], o.Limit, o.Cache, o.Factor)
	sum := *c.Reward + x
	c.Reward = &sum
	if c.Terms != nil {
		c.Terms = maps.Clone(c.Terms)
		c.Terms["overlong"] = x
	}
	return c
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
