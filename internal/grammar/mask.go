package grammar

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
)

// A Mask is a pattern over the tokens of a vocabulary. One goroutine uses it.
type Mask struct {
	text    *automaton
	pieces  []string // by id: the bytes of a token; "" for those that are never allowed
	sorted  []int32  // ids by bytes
	common  []int    // how many first bytes each has in common with the one before
	ids     map[string]bool
	longest int
	choices map[State][]Choice
	cost    map[State]int
	least   int
}

// A Choice is a token that may come next. Left is how many tokens the text takes
// after it at the least.
type Choice struct {
	ID   int32
	Left int
}

// keptStates bounds the memory of choices; those of a state can be a whole vocabulary.
const keptStates = 128

// never is the cost of a text that the vocabulary cannot write.
const never = math.MaxInt32

// New returns the mask of a pattern, in the syntax of package regexp but for
// anchors. It is matched as a whole.
func New(pattern string, pieces []string) (*Mask, error) {
	a, err := compile(pattern)
	if err != nil {
		return nil, err
	}
	m := &Mask{text: a, pieces: pieces, ids: make(map[string]bool, len(pieces)), choices: map[State][]Choice{}, cost: map[State]int{}}
	for id, piece := range pieces {
		if piece != "" {
			m.sorted = append(m.sorted, int32(id))
			m.ids[piece] = true
			m.longest = max(m.longest, len(piece))
		}
	}
	slices.SortFunc(m.sorted, func(a, b int32) int { return cmp.Or(strings.Compare(pieces[a], pieces[b]), cmp.Compare(a, b)) })
	m.common = make([]int, len(m.sorted))
	for i := 1; i < len(m.sorted); i++ {
		m.common[i] = common(pieces[m.sorted[i-1]], pieces[m.sorted[i]])
	}
	if m.least = m.tokens(0); m.least == never {
		return nil, errors.New("grammar: the vocabulary cannot write a text that matches")
	}
	return m, nil
}

func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Least is how many tokens a whole text takes at the least.
func (m *Mask) Least() int { return m.least }

// End says whether a text may end at s.
func (m *Mask) End(s State) bool { return m.text.states[s].done }

// Next is the state after one of the tokens allowed at s.
func (m *Mask) Next(s State, id int32) State {
	for _, b := range []byte(m.pieces[id]) {
		if s = m.text.step(s, b); s == dead {
			return dead
		}
	}
	return s
}

// Allowed are the tokens that may follow s, by their bytes. The caller keeps to
// those whose Left fits.
func (m *Mask) Allowed(s State) []Choice {
	if c, ok := m.choices[s]; ok {
		return c
	}
	if len(m.choices) >= keptStates {
		clear(m.choices)
	}
	c := m.find(s)
	m.choices[s] = c
	return c
}

// find walks through the sorted tokens. path holds the states after the first
// bytes of the token at hand; from the byte bad on it is dead.
func (m *Mask) find(s State) []Choice {
	var out []Choice
	path := make([]State, m.longest+1)
	path[0] = s
	bad := never
	for i, id := range m.sorted {
		if m.common[i] >= bad {
			continue
		}
		piece := m.pieces[id]
		bad = never
		for n := m.common[i]; n < len(piece) && bad == never; n++ {
			if path[n+1] = m.text.step(path[n], piece[n]); path[n+1] == dead {
				bad = n + 1
			}
		}
		if bad != never {
			continue
		}
		if left := m.tokens(path[len(piece)]); left < never {
			out = append(out, Choice{id, left})
		}
	}
	return out
}

// tokens is how many tokens the shortest rest of s takes, written with the longest
// tokens that fit: each of them leads to a state that takes one less.
func (m *Mask) tokens(s State) int {
	if n, ok := m.cost[s]; ok {
		return n
	}
	n := 0
	for rest := m.text.rest(s); rest != ""; n++ {
		size := min(m.longest, len(rest))
		for size > 0 && !m.ids[rest[:size]] {
			size--
		}
		if size == 0 {
			n = never
			break
		}
		rest = rest[size:]
	}
	m.cost[s] = n
	return n
}
