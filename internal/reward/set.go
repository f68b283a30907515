package reward

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"agentmill/internal/traj"
)

// Default is the name of the reward that is used where none is named.
const Default = "art-e"

//go:embed rewards/*.yaml
var builtin embed.FS

// A Set is one reward: terms and what each weighs.
type Set struct {
	Name  string
	About string
	terms []weighted // in the order of the catalogue, so that sums are reproducible
}

type weighted struct {
	Term
	weight float64
}

// Builtins returns the rewards that come with the program, by name.
func Builtins() []*Set {
	entries, _ := fs.ReadDir(builtin, "rewards")
	var sets []*Set
	for _, e := range entries {
		if s, err := Builtin(strings.TrimSuffix(e.Name(), ".yaml")); err == nil {
			sets = append(sets, s)
		}
	}
	return sets
}

// Builtin returns the reward of that name.
func Builtin(name string) (*Set, error) {
	data, err := builtin.ReadFile("rewards/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("reward %q: want a YAML file or one of %s", name, strings.Join(names(), ", "))
	}
	return Load(name, bytes.NewReader(data))
}

func names() []string {
	entries, _ := fs.ReadDir(builtin, "rewards")
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// Weights returns term names and weights, in the order of the catalogue.
func (s *Set) Weights() (names []string, weights []float64) {
	for _, t := range s.terms {
		names = append(names, t.Name)
		weights = append(weights, t.weight)
	}
	return names, weights
}

// Without returns the set with one of the Extras switched off.
func (s *Set) Without(name string) (*Set, error) {
	i := slices.IndexFunc(extras, func(e Extra) bool { return e.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("term %q: want one of %s", name, strings.Join(extraNames(), ", "))
	}
	out := *s
	out.terms = slices.Clone(s.terms)
	for k := range out.terms {
		if slices.Contains(extras[i].Terms, out.terms[k].Name) {
			out.terms[k].weight = 0
		}
	}
	return &out, nil
}

// Weighs says whether a term counts.
func (s *Set) Weighs(term string) bool {
	return slices.ContainsFunc(s.terms, func(t weighted) bool { return t.Name == term && t.weight != 0 })
}

// Score sets Reward and RewardTerms of a judged row: each term's share of the
// sum, also where it is 0. A row without a verdict, as every failed attempt is, or
// with a term that cannot say, gets neither.
func (s *Set) Score(row *traj.Scored) {
	row.Reward, row.RewardTerms = nil, nil
	if row.Verdict == nil || row.Stop == traj.Failed {
		return
	}
	a := view(row)
	total := 0.0
	row.RewardTerms = make(map[string]float64, len(s.terms))
	for _, t := range s.terms {
		x := 0.0
		if t.weight != 0 {
			x = t.weight * t.value(a)
		}
		if math.IsNaN(x) { // a term that cannot say is no 0
			row.Reward, row.RewardTerms = nil, nil
			return
		}
		if x == 0 {
			x = 0 // not -0
		}
		row.RewardTerms[t.Name] = x
		total += x
	}
	total = math.Round(total*precision) / precision
	row.Reward = &total
}

// precision is how exact rewards are: so much that nothing is lost, and not so
// much that .1+.2 and .3 differ, which would give a group without spread one.
const precision = 1e12
