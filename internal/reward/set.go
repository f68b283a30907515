package reward

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

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

// file is a Set as it stands in YAML.
type file struct {
	Name  string             `yaml:"name"`
	About string             `yaml:"about"`
	Terms map[string]float64 `yaml:"terms"`
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

// maxWeight keeps sums of terms where other rewards still count beside them.
const maxWeight = 10_000

// Load reads a reward from YAML. source names it in errors.
func Load(source string, r io.Reader) (*Set, error) {
	dec := yaml.NewDecoder(r)
	dec.KnownFields(true)
	var f file
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return nil, fmt.Errorf("reward %s: %w", source, err)
	}
	s := &Set{Name: f.Name, About: f.About}
	if len(f.Terms) == 0 {
		return nil, fmt.Errorf("reward %s: terms: want at least one of %s", source, strings.Join(termNames(), ", "))
	}
	for _, t := range catalogue {
		if w, ok := f.Terms[t.Name]; ok {
			s.terms = append(s.terms, weighted{t, w})
			delete(f.Terms, t.Name)
			if !(math.Abs(w) <= maxWeight) {
				return nil, fmt.Errorf("reward %s: terms: %s: %v: want a number, at most %d above or below 0", source, t.Name, w, maxWeight)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Terms)) {
		return nil, fmt.Errorf("reward %s: terms: %q: want one of %s", source, name, strings.Join(termNames(), ", "))
	}
	return s, nil
}

// Weights returns term names and weights, in the order of the catalogue.
func (s *Set) Weights() (names []string, weights []float64) {
	for _, t := range s.terms {
		names = append(names, t.Name)
		weights = append(weights, t.weight)
	}
	return names, weights
}

// Score sets Reward and RewardTerms of a judged row: each term's share of the
// sum, also where it is 0. A row without a verdict, as every failed attempt is,
// gets neither.
func (s *Set) Score(row *traj.Scored) {
	row.Reward, row.RewardTerms = nil, nil
	if row.Verdict == nil || row.Stop == traj.Failed {
		return
	}
	a := view(row)
	total := 0.0
	row.RewardTerms = make(map[string]float64, len(s.terms))
	for _, t := range s.terms {
		x := t.weight * t.value(a)
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
