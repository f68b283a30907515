package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"agentmill/internal/dataset"
	"agentmill/internal/traj"
)

// A set is the attempts of one policy.
type set struct {
	name       string
	policy     traj.Policy    // of rows that were not named
	rows       []*traj.Scored // in the order read, one an attempt
	byQuestion map[string][]*traj.Scored
	repeated   int

	seen map[string]int // key of an attempt → index in rows
}

// load reads every input into one set a policy, in order of appearance.
func load(ctx context.Context, cfg Config) (sets []*set, bad int, err error) {
	inputs := cfg.Inputs
	if len(inputs) == 0 {
		inputs = []Input{{Path: "-"}}
	}
	c := collector{}
	for _, in := range inputs {
		src := cfg.Source
		src.Paths = []string{in.Path}
		src.MaxErrors = cfg.Source.MaxErrors - bad
		before := c.rows
		st, err := dataset.Read(ctx, src, func(pos dataset.Position, row *traj.Scored) error {
			return c.add(in.Name, row)
		})
		bad += st.Bad
		if err != nil {
			return nil, bad, err
		}
		if c.rows == before {
			return nil, bad, fmt.Errorf("%s: %w", in.Path, ErrNoRows)
		}
	}
	return c.finish(), bad, c.unjudged()
}

// A collector sorts rows into sets.
type collector struct {
	sets []*set
	rows int
}

// add keeps a row, without the tokens: nothing here needs them.
func (c *collector) add(name string, row *traj.Scored) error {
	if row.Question.ID == "" {
		return dataset.Badf("question.id", "missing")
	}
	if (row.Verdict == nil) != (row.Reward == nil) {
		return dataset.Badf("reward", "a row has a verdict and a reward, or neither")
	}
	kept := *row
	kept.TokenIDs, kept.Trained, kept.LogProbs, kept.LogProbsFull, kept.Tools = nil, nil, nil, nil, nil
	c.rows++
	c.set(name, &row.Policy).add(&kept)
	return nil
}

// set finds the set that a row belongs to: the named one, else that of its
// policy. Two policies of one name are told apart by their hashes.
func (c *collector) set(name string, p *traj.Policy) *set {
	taken := false
	for _, s := range c.sets {
		if name != "" && s.name == name || name == "" && s.policy == *p {
			return s
		}
		taken = taken || s.name == p.Name
	}
	s := &set{name: name, seen: map[string]int{}}
	if name == "" {
		s.name, s.policy = p.Name, *p
		if taken {
			s.name += " " + p.Hash[:min(6, len(p.Hash))]
		}
	}
	c.sets = append(c.sets, s)
	return s
}

// add puts the last part of an attempt in the place of earlier ones: parts are
// training samples of one and the same attempt.
func (s *set) add(row *traj.Scored) {
	key := fmt.Sprintf("%s %s %d %d", row.Question.ID, row.Group, row.Attempt, row.Seed)
	i, ok := s.seen[key]
	switch {
	case !ok:
		s.seen[key] = len(s.rows)
		s.rows = append(s.rows, row)
	case row.Part == s.rows[i].Part:
		s.repeated++
	case row.Part > s.rows[i].Part:
		s.rows[i] = row
	}
}

// finish sorts attempts, so that results do not depend on the order of a file.
func (c *collector) finish() []*set {
	for _, s := range c.sets {
		slices.SortStableFunc(s.rows, func(a, b *traj.Scored) int {
			return cmp.Or(cmp.Compare(a.Question.ID, b.Question.ID), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID))
		})
		s.byQuestion = map[string][]*traj.Scored{}
		for _, row := range s.rows {
			s.byQuestion[row.Question.ID] = append(s.byQuestion[row.Question.ID], row)
		}
	}
	return c.sets
}

// unjudged refuses rows that never saw a judge.
func (c *collector) unjudged() error {
	for _, s := range c.sets {
		judged := slices.ContainsFunc(s.rows, func(r *traj.Scored) bool { return r.Verdict != nil || r.Stop == traj.Failed })
		if !judged {
			return fmt.Errorf("policy %s: none of its %d rows has a verdict; run judge on them first", s.name, len(s.rows))
		}
	}
	return nil
}
