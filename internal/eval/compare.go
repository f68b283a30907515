package eval

import (
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/cli"
	"agentmill/internal/stats"
	"agentmill/internal/traj"
)

// testSeed draws the permutations of the paired tests: one number for ever, so
// that the same rows give the same p-values.
const testSeed = 1

// A Gain is the paired difference of a policy from a baseline on the same
// questions, a question's attempts averaged first.
type Gain struct {
	Policy    string   `json:"policy"`
	Baseline  string   `json:"baseline"`
	Questions int      `json:"questions"`
	Accuracy  Estimate `json:"accuracy"`
	Won       int      `json:"won"` // questions on which the policy is better
	Lost      int      `json:"lost"`
	P         float64  `json:"p"`
	Test      string   `json:"test"`
	// Errors is how many of the baseline's errors are gone, as a share; nil
	// where it made none.
	Errors *float64 `json:"errors_removed,omitempty"`

	Reward          *Estimate `json:"reward,omitempty"` // on questions where both have one
	RewardP         float64   `json:"reward_p"`
	RewardQuestions int       `json:"reward_questions"`
}

// compare sets every policy against each baseline.
func (r *Result) compare(sets []*set, common map[string]bool, baselines []string) error {
	for k, name := range baselines {
		i := slices.IndexFunc(sets, func(s *set) bool { return s.name == name })
		if i < 0 {
			return cli.Usagef("--baseline %q: want one of %s", name, strings.Join(setNames(sets), ", "))
		}
		if len(common) == 0 {
			continue
		}
		for j, s := range sets {
			if j != i && !slices.Contains(baselines[:k], s.name) { // that pair is there already
				r.Gains = append(r.Gains, gain(s, sets[i], common))
			}
		}
	}
	return nil
}

func setNames(sets []*set) []string {
	var out []string
	for _, s := range sets {
		out = append(out, s.name)
	}
	return out
}

// pairs are one difference a question, in the order of question ids.
type pairs struct {
	diff  []float64
	inbox []string
	once  bool // one attempt at each question on both sides
}

// pair averages value over a question's attempts on either side. A question
// without any value on one side is left out.
func pair(policy, baseline *set, common map[string]bool, value func(*traj.Scored) (float64, bool)) pairs {
	out := pairs{once: true}
	var ids []string
	for id := range common {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		a, n, okA := averageOf(policy.byQuestion[id], value)
		b, m, okB := averageOf(baseline.byQuestion[id], value)
		if !okA || !okB {
			continue
		}
		out.once = out.once && n == 1 && m == 1
		out.diff = append(out.diff, a-b)
		out.inbox = append(out.inbox, policy.byQuestion[id][0].Question.InboxAddress)
	}
	return out
}

func averageOf(rows []*traj.Scored, value func(*traj.Scored) (float64, bool)) (avg float64, n int, ok bool) {
	for _, r := range rows {
		if x, has := value(r); has {
			avg += x
			n++
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	return avg / float64(n), n, true
}

func gain(policy, baseline *set, common map[string]bool) Gain {
	g := Gain{Policy: policy.name, Baseline: baseline.name}
	right := pair(policy, baseline, common, func(r *traj.Scored) (float64, bool) {
		if correct(r) {
			return 1, true
		}
		return 0, true
	})
	g.Questions, g.Accuracy = len(right.diff), within(right.estimate(), 1)
	for _, d := range right.diff {
		if d > 0 {
			g.Won++
		} else if d < 0 {
			g.Lost++
		}
	}
	g.P, g.Test = right.test(g.Won, g.Lost)
	if wrong := 1 - share(baseline.at(common), correct).Value; wrong > 0 {
		removed := g.Accuracy.Value / wrong
		g.Errors = &removed
	}
	paid := pair(policy, baseline, common, func(r *traj.Scored) (float64, bool) {
		if r.Reward == nil {
			return 0, false
		}
		return *r.Reward, true
	})
	if g.RewardQuestions = len(paid.diff); g.RewardQuestions > 0 {
		e := paid.estimate()
		g.Reward = &e
		g.RewardP = paid.flip()
	}
	return g
}

// test is exact McNemar's where each question was played once, else a paired
// permutation test of the questions' means.
func (p pairs) test(won, lost int) (float64, string) {
	if !p.once {
		return p.flip(), "paired permutation"
	}
	test, name := stats.McNemar(won, lost), "McNemar, exact"
	if p.manyInboxes() {
		return max(test, p.flipInboxes()), name + ", and permutation by inbox"
	}
	return test, name
}

// flip is the permutation test by question and, from ten inboxes on, the larger
// of that and the one by inbox.
func (p pairs) flip() float64 {
	test := stats.SignFlip(p.diff, testSeed)
	if p.manyInboxes() {
		return max(test, p.flipInboxes())
	}
	return test
}

func (p pairs) manyInboxes() bool { return distinct(p.inbox) >= manyInboxes }

// flipInboxes flips the signs of whole inboxes.
func (p pairs) flipInboxes() float64 {
	sums, at := []float64{}, map[string]int{}
	for i, d := range p.diff {
		j, ok := at[p.inbox[i]]
		if !ok {
			j = len(sums)
			at[p.inbox[i]] = j
			sums = append(sums, 0)
		}
		sums[j] += d
	}
	return stats.SignFlip(sums, testSeed)
}

func (p pairs) estimate() Estimate {
	m := stats.MeanOf(stats.Sample{Values: p.diff})
	if p.manyInboxes() {
		m.Interval = stats.Wider(m.Interval, stats.MeanOf(stats.Sample{Values: p.diff, Cluster: p.inbox}).Interval)
	}
	return asEstimate(m)
}

// within cuts an interval to what can be: a share gains at most 1.
func within(e Estimate, most float64) Estimate {
	if e.Interval != nil {
		e.Interval = &stats.Interval{Lo: max(-most, e.Interval.Lo), Hi: min(most, e.Interval.Hi)}
	}
	return e
}

// cluster says in words what intervals cluster by.
func (r *Result) cluster() string {
	s := fmt.Sprintf("clustered by question (%d)", r.clusters())
	if r.Inboxes >= manyInboxes {
		s += fmt.Sprintf(" and by inbox (%d), the wider one shown", r.Inboxes)
	}
	return s
}

func (r *Result) clusters() int {
	if r.Questions > 0 {
		return r.Questions
	}
	return r.Asked
}
