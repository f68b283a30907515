package rl

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Row is what Crediting needs of one training row. Rows of the same group and
// attempt are parts of one attempt: it counts once in the group, and all its
// parts share its advantage.
type Row struct {
	ID      string
	Group   string
	Attempt int
	Part    int
	Reward  *float64           // nil: failed, or without a verdict
	Terms   map[string]float64 // that the reward is the sum of; for PerTerm
	Steps   []Step             // its turns; for step advantages
}

// A Credit is what a row is worth.
type Credit struct {
	OK        bool // false: the row has left the batch
	Advantage float64
	Turns     []float64 // by turn, instead of Advantage; nil: all the same
}

// Of is the advantage of a token of a turn of the row.
func (c *Credit) Of(turn int) float64 {
	if c.Turns == nil {
		return c.Advantage
	}
	return c.Turns[turn]
}

// Crediting says how rewards become advantages.
type Crediting struct {
	Advantage string // an estimator's name
	// PerTerm applies the estimator to each term of the reward by itself, adds up
	// by TermWeights (1 where none is given) and takes a z-score over the batch
	// (GDPO), so that no term drowns in another one's spread.
	PerTerm     bool
	TermWeights map[string]float64
	Steps       Steps // how advantages of attempts become those of turns
}

// Check returns an error that names what is wrong.
func (c Crediting) Check() error {
	if _, err := NewEstimator(c.Advantage); err != nil {
		return err
	}
	switch {
	case c.PerTerm && c.Advantage == ReinforcePP:
		return fmt.Errorf("%s per term: both end in a z-score over the batch; the second undoes the first", c.Advantage)
	case c.PerTerm && c.Advantage == "maxrl":
		return fmt.Errorf("%s per term: it divides by the mean, and a term may be 0 or less", c.Advantage)
	case !c.PerTerm && len(c.TermWeights) > 0:
		return errors.New("weights of terms: the reward is the sum that judge has made; want them with advantages per term")
	}
	return c.Steps.Check()
}

// A Report says what a Crediting left out and merged.
type Report struct {
	Groups     int // groups that have a signal
	Flat       int // groups whose attempts all have the same reward
	Singletons int // groups of one attempt
	NoReward   int // rows without a reward
	NotFinite  []string
	NoTerm     []string // rows that lack a term which others of their group have
	StepsInAll int
	Merged     int // steps that share their advantage with another attempt's
}

// MergeShare is the share of steps that were merged, 0 without any.
func (r *Report) MergeShare() float64 {
	if r.StepsInAll == 0 {
		return 0
	}
	return float64(r.Merged) / float64(r.StepsInAll)
}

// flat is the spread below which rewards count as equal: the rounding of sums
// of terms must not become an advantage.
const flat = 1e-8

// Credit returns what each row is worth. The order of rows does not matter.
func (c Crediting) Credit(rows []Row) ([]Credit, Report) {
	estimate, err := NewEstimator(c.Advantage)
	if err != nil {
		panic(err) // Check was not called
	}
	var report Report
	live := c.live(rows, &report)
	values := make([]float64, 0, len(rows)) // of the attempts of live groups, in turn
	for _, g := range live {
		if c.PerTerm {
			values = append(values, c.perTerm(g, rows, estimate, &report)...)
		} else {
			values = append(values, estimate(g.rewards)...)
		}
	}
	if c.PerTerm || c.Advantage == ReinforcePP {
		standardise(values)
	}
	credits := make([]Credit, len(rows))
	for _, g := range live {
		n := len(g.attempts)
		g.advantages, values = values[:n], values[n:]
		for k, a := range g.advantages {
			for _, i := range g.parts[k] {
				credits[i] = Credit{OK: a != 0, Advantage: a}
			}
		}
		if c.Steps.Kind != "" {
			c.Steps.credit(g, rows, credits, &report)
		}
	}
	return credits, report
}

// live are the groups that have a signal. By terms a group has one also where
// the sum is the same for all (case Z2).
func (c Crediting) live(rows []Row, report *Report) (live []*group) {
	for _, g := range groups(rows, report) {
		switch {
		case len(g.attempts) == 1:
			report.Singletons++
		case deviation(g.rewards, len(g.rewards)) < flat && !(c.PerTerm && g.termsDiffer(rows)):
			report.Flat++
		default:
			report.Groups++
			live = append(live, g)
		}
	}
	return live
}

// perTerm adds up the estimator's advantages of each term. A term that some
// attempt of the group lacks says nothing of that attempt: it is estimated among
// those that have it, and the row is named (case N14).
func (c Crediting) perTerm(g *group, rows []Row, estimate Estimator, report *Report) []float64 {
	sum := make([]float64, len(g.attempts))
	lacking := map[int]bool{}
	for _, term := range g.terms(rows) {
		var have []int
		var values []float64
		for k, parts := range g.parts {
			if v, ok := rows[parts[0]].Terms[term]; ok {
				have, values = append(have, k), append(values, v)
			} else {
				lacking[parts[0]] = true
			}
		}
		if len(have) < 2 || deviation(values, len(values)) < flat {
			continue
		}
		weight, ok := c.TermWeights[term]
		if !ok {
			weight = 1
		}
		for j, a := range estimate(values) {
			sum[have[j]] += weight * a
		}
	}
	for _, i := range slices.Sorted(maps.Keys(lacking)) {
		report.NoTerm = append(report.NoTerm, rows[i].ID)
	}
	return sum
}

// A group is the attempts at one question: rewards and parts go by attempts.
type group struct {
	attempts   []int
	rewards    []float64
	parts      [][]int // indices of rows
	advantages []float64
}

// terms are the names of all terms that the group's attempts have, in order.
func (g *group) terms(rows []Row) []string {
	names := map[string]bool{}
	for _, parts := range g.parts {
		for name := range rows[parts[0]].Terms {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (g *group) termsDiffer(rows []Row) bool {
	for _, term := range g.terms(rows) {
		var values []float64
		for _, parts := range g.parts {
			if v, ok := rows[parts[0]].Terms[term]; ok {
				values = append(values, v)
			}
		}
		if len(values) > 1 && deviation(values, len(values)) >= flat {
			return true
		}
	}
	return false
}

// groups collects rows in the order of their groups' first appearance, attempts
// by number.
func groups(rows []Row, report *Report) []*group {
	byID := map[string]*group{}
	var list []*group
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := rows[a].Attempt - rows[b].Attempt; d != 0 {
			return d
		}
		return rows[a].Part - rows[b].Part
	})
	for _, i := range order {
		r := rows[i]
		switch {
		case r.Reward == nil:
			report.NoReward++
			continue
		case notFinite(r):
			report.NotFinite = append(report.NotFinite, r.ID)
			continue
		}
		g := byID[r.Group]
		if g == nil {
			g = &group{}
			byID[r.Group] = g
			list = append(list, g)
		}
		g.add(i, r)
	}
	return list
}

func notFinite(r Row) bool {
	bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
	for _, v := range r.Terms {
		if bad(v) {
			return true
		}
	}
	return bad(*r.Reward)
}

func (g *group) add(i int, r Row) {
	last := len(g.attempts) - 1
	if last >= 0 && g.attempts[last] == r.Attempt {
		g.parts[last] = append(g.parts[last], i)
		return
	}
	g.attempts = append(g.attempts, r.Attempt)
	g.rewards = append(g.rewards, *r.Reward)
	g.parts = append(g.parts, []int{i})
}

// ParseWeights reads weights of terms as NAME=WEIGHT.
func ParseWeights(list []string) (map[string]float64, error) {
	weights := map[string]float64{}
	for _, item := range list {
		name, value, _ := strings.Cut(item, "=")
		var w float64
		if _, err := fmt.Sscanf(value, "%g", &w); err != nil || name == "" || math.IsNaN(w) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("%q: want NAME=WEIGHT, as correct=2", item)
		}
		if _, twice := weights[name]; twice {
			return nil, fmt.Errorf("%q: %s has a weight already", item, name)
		}
		weights[name] = w
	}
	return weights, nil
}

// Overlong is DAPO's soft punishment of long attempts: 0 up to limit − cache
// tokens, falling to −factor at the limit and staying there.
func Overlong(length, limit, cache int, factor float64) float64 {
	free := limit - cache
	switch {
	case length <= free:
		return 0
	case length > limit:
		return -factor
	}
	return -float64(length-free) / float64(cache) * factor
}
