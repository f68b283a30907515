package rl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Step is one turn of an attempt: what was seen before it, and what was done.
// Both are canonical texts; equal ones mean the same.
type Step struct {
	State, Action string
}

// Kinds of step advantages.
const (
	SALT  = "salt"  // actions that good and bad attempts share are neutral
	GiGPO = "gigpo" // returns of steps taken from the same state are compared
)

// Steps says how the advantages of attempts become those of their turns.
type Steps struct {
	Kind string // "": every turn has its attempt's
	// Similarity is the share of common words from which two texts are the same;
	// 1 (or 0): they must be equal.
	Similarity float64

	// Of SALT.
	History  int  // how many turns before belong to a state; negative: all
	PerVisit bool // an attempt that makes a step twice has two votes
	Renorm   bool // z-score over the turns of the group

	// Of GiGPO.
	Omega, Gamma float64 // weight of the step's share; discount a turn
	Std          bool    // divide by the deviation among the steps of a state
}

// DefaultSteps are the published choices, where they are known.
func DefaultSteps(kind string) Steps {
	return Steps{Kind: kind, Similarity: 1, History: 1, Omega: 1, Gamma: 0.95}
}

// Check returns an error that names what is wrong.
func (s Steps) Check() error {
	switch {
	case s.Kind != "" && s.Kind != SALT && s.Kind != GiGPO:
		return fmt.Errorf("step advantages %q: want %s or %s", s.Kind, SALT, GiGPO)
	case !(s.Similarity >= 0 && s.Similarity <= 1):
		return fmt.Errorf("similarity %v: want 0 to 1", s.Similarity)
	case !(s.Gamma >= 0 && s.Gamma <= 1):
		return fmt.Errorf("discount %v: want 0 to 1", s.Gamma)
	case math.IsNaN(s.Omega) || math.IsInf(s.Omega, 0):
		return fmt.Errorf("weight of the step's share is %v: want a number", s.Omega)
	}
	return nil
}

// A visit is one step of one attempt of a group.
type visit struct {
	attempt int // index in the group
	row     int
	turn    int // of the row
	edge    string
	state   string
	left    int // steps after it
}

// credit writes the advantages of the turns of g's rows.
func (s Steps) credit(g *group, rows []Row, credits []Credit, report *Report) {
	visits := s.visits(g, rows)
	report.StepsInAll += len(visits)
	values := make([]float64, len(visits))
	if s.Kind == SALT {
		report.Merged += s.salt(g, visits, values)
	} else {
		report.Merged += s.gigpo(g, visits, values)
	}
	for i, v := range visits {
		c := &credits[v.row]
		if c.Turns == nil {
			c.Turns, c.OK = make([]float64, len(rows[v.row].Steps)), false
		}
		c.Turns[v.turn] = values[i]
		c.OK = c.OK || values[i] != 0
	}
}

// visits lists the steps of g with the keys of their states and edges.
func (s Steps) visits(g *group, rows []Row) (all []visit) {
	same := newSameness(s.Similarity)
	for k, parts := range g.parts {
		var steps []Step
		first := len(all)
		for _, i := range parts {
			for turn, step := range rows[i].Steps {
				steps = append(steps, Step{same.key("s", step.State), same.key("a", step.Action)})
				all = append(all, visit{attempt: k, row: i, turn: turn})
			}
		}
		mine := all[first:]
		for t := range mine {
			mine[t].state, mine[t].left = s.node(steps, t), len(mine)-1-t
		}
		for t := range mine {
			next := "end"
			if t+1 < len(mine) {
				next = mine[t+1].state
			}
			mine[t].edge = strings.Join([]string{mine[t].state, steps[t].Action, next}, "|")
		}
	}
	return all
}

// node is the key of the state before step t: what is seen, and the History
// steps before.
func (s Steps) node(steps []Step, t int) string {
	from := 0
	if s.Kind == GiGPO {
		from = t
	} else if s.History >= 0 {
		from = max(0, t-s.History)
	}
	var b strings.Builder
	for _, step := range steps[from:t] {
		b.WriteString(step.State + ">" + step.Action + ">")
	}
	return b.String() + steps[t].State
}

// salt gives each step the mean advantage of the attempts that make it, and
// returns how many steps are shared.
func (s Steps) salt(g *group, visits []visit, values []float64) (merged int) {
	type tally struct {
		sum, votes float64
		attempts   map[int]bool
	}
	edges := map[string]*tally{}
	for _, v := range visits {
		e := edges[v.edge]
		if e == nil {
			e = &tally{attempts: map[int]bool{}}
			edges[v.edge] = e
		}
		if !s.PerVisit && e.attempts[v.attempt] {
			continue
		}
		e.attempts[v.attempt] = true
		e.sum, e.votes = e.sum+g.advantages[v.attempt], e.votes+1
	}
	for i, v := range visits {
		e := edges[v.edge]
		values[i] = e.sum / e.votes
		if len(e.attempts) > 1 {
			merged++
		} else {
			values[i] = g.advantages[v.attempt] // exactly, without rounding
		}
	}
	if s.Renorm && len(values) > 0 {
		standardise(values)
	}
	return merged
}

// gigpo adds to each attempt's advantage how the discounted return of a step
// compares with those of other steps from the same state.
func (s Steps) gigpo(g *group, visits []visit, values []float64) (merged int) {
	byState := map[string][]int{}
	var order []string
	for i, v := range visits {
		values[i] = g.advantages[v.attempt]
		if byState[v.state] == nil {
			order = append(order, v.state)
		}
		byState[v.state] = append(byState[v.state], i)
	}
	for _, state := range order {
		members := byState[state]
		if len(members) < 2 {
			continue
		}
		merged += len(members)
		returns := make([]float64, len(members))
		for j, i := range members {
			returns[j] = math.Pow(s.Gamma, float64(visits[i].left)) * g.rewards[visits[i].attempt]
		}
		share := DrGRPO(returns)
		if s.Std {
			share = GRPO(returns)
		}
		for j, i := range members {
			values[i] += s.Omega * share[j]
		}
	}
	return merged
}

// A sameness gives texts that are alike the same key.
type sameness struct {
	threshold float64
	keys      map[string]string // by kind and text
	leaders   map[string][]leader
}

type leader struct {
	words map[string]bool
	key   string
}

func newSameness(threshold float64) *sameness {
	return &sameness{threshold, map[string]string{}, map[string][]leader{}}
}

// key is that of the first text seen before that this one is like, else a new one.
func (s *sameness) key(kind, text string) string {
	name := kind + "\x00" + text
	if k, ok := s.keys[name]; ok {
		return k
	}
	words := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		words[w] = true
	}
	if s.threshold > 0 && s.threshold < 1 {
		if i := slices.IndexFunc(s.leaders[kind], func(l leader) bool { return jaccard(l.words, words) >= s.threshold }); i >= 0 {
			s.keys[name] = s.leaders[kind][i].key
			return s.keys[name]
		}
	}
	k := kind + strconv.Itoa(len(s.leaders[kind]))
	s.leaders[kind] = append(s.leaders[kind], leader{words, k})
	s.keys[name] = k
	return k
}

// jaccard is the share of common words among all words of both.
func jaccard(a, b map[string]bool) float64 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	all := len(a) + len(b) - common
	if all == 0 {
		return 1
	}
	return float64(common) / float64(all)
}
