// Package grammar owns which tokens may follow where a text must match a regular
// expression: constrained decoding.
//
// Most callers want New, once for a pattern and a vocabulary, and then Allowed and
// Next, token by token.
//
// G1: whoever draws allowed tokens only, and ends where End allows it, has written
// a text that matches, in no more tokens than were left at the start.
// G2: patterns see characters beyond ASCII as one kind: all of them match or none.
package grammar

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// A State is how far a text has come. The zero State is the beginning.
type State int32

// dead is the state from which no text matches.
const dead State = -1

// anyRune stands for all characters beyond ASCII.
const anyRune = 'é'

// An automaton reads bytes. States are made when they are first reached.
type automaton struct {
	prog   *syntax.Prog
	least  []string // by instruction: the shortest text from there, the first of equals
	finite []bool   // whether there is one
	states []point
	known  map[string]State
}

// A point is one state: the instructions that may come next, after bytes that are
// missing of a character.
type point struct {
	at      []uint32
	missing int
	next    [256]State // 0: not known; no state leads back to the beginning
	done    bool
}

func compile(pattern string) (*automaton, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("grammar: %w", err)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, fmt.Errorf("grammar: %w", err)
	}
	for _, in := range prog.Inst {
		if in.Op == syntax.InstEmptyWidth {
			return nil, fmt.Errorf("grammar %q: anchors and word boundaries cannot be generated", pattern)
		}
	}
	a := &automaton{prog: prog, known: map[string]State{}}
	a.shortest()
	a.states = append(a.states, point{}) // the beginning, to which nothing leads back
	start := a.point(a.closure(nil, uint32(prog.Start)), 0)
	a.states[0] = a.states[start]
	if !slices.ContainsFunc(a.states[0].at, func(pc uint32) bool { return a.finite[pc] }) {
		return nil, fmt.Errorf("grammar %q: no text matches", pattern)
	}
	return a, nil
}

// shortest finds the shortest text from each instruction.
func (a *automaton) shortest() {
	n := len(a.prog.Inst)
	a.least, a.finite = make([]string, n), make([]bool, n)
	for changed := true; changed; {
		changed = false
		for pc := n - 1; pc >= 0; pc-- {
			text, ok := a.from(&a.prog.Inst[pc])
			if ok && (!a.finite[pc] || before(text, a.least[pc])) {
				a.least[pc], a.finite[pc], changed = text, true, true
			}
		}
	}
}

// from is the shortest text from an instruction by what is known of the next ones.
func (a *automaton) from(in *syntax.Inst) (string, bool) {
	text, ok := a.least[in.Out], a.finite[in.Out]
	switch in.Op {
	case syntax.InstMatch:
		return "", true
	case syntax.InstFail:
		return "", false
	case syntax.InstAlt, syntax.InstAltMatch:
		if other := a.least[in.Arg]; a.finite[in.Arg] && (!ok || before(other, text)) {
			return other, true
		}
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		for r := rune(0); ok && r <= utf8.RuneSelf; r++ {
			if r == utf8.RuneSelf {
				r = anyRune
			}
			if in.MatchRune(r) {
				return string(r) + text, true
			}
		}
		return "", false
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
	}
	return text, ok
}

// before orders texts: shorter ones first.
func before(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// closure adds to dst what pc leads to without reading.
func (a *automaton) closure(dst []uint32, pc uint32) []uint32 {
	if slices.Contains(dst, pc) {
		return dst
	}
	in := &a.prog.Inst[pc]
	switch in.Op {
	case syntax.InstFail:
		return dst
	case syntax.InstAlt, syntax.InstAltMatch:
		dst = append(dst, pc)
		return a.closure(a.closure(dst, in.Out), in.Arg)
	case syntax.InstCapture, syntax.InstNop:
		return a.closure(append(dst, pc), in.Out)
	default:
		return append(dst, pc)
	}
}

// point is the state of instructions.
func (a *automaton) point(at []uint32, missing int) State {
	at = slices.DeleteFunc(at, func(pc uint32) bool {
		op := a.prog.Inst[pc].Op
		return op == syntax.InstAlt || op == syntax.InstAltMatch || op == syntax.InstCapture || op == syntax.InstNop
	})
	slices.Sort(at)
	key := []byte{byte(missing)}
	for _, pc := range at {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if s, ok := a.known[string(key)]; ok {
		return s
	}
	s := State(len(a.states))
	done := missing == 0 && slices.ContainsFunc(at, func(pc uint32) bool { return a.prog.Inst[pc].Op == syntax.InstMatch })
	a.states = append(a.states, point{at: at, missing: missing, done: done})
	a.known[string(key)] = s
	return s
}

// step reads one byte.
func (a *automaton) step(s State, b byte) State {
	if next := a.states[s].next[b]; next != 0 {
		return next
	}
	next := a.read(s, b)
	a.states[s].next[b] = next
	return next
}

func (a *automaton) read(s State, b byte) State {
	p := a.states[s]
	continues := b >= 0x80 && b < 0xC0
	switch {
	case p.missing > 0 && continues:
		return a.point(slices.Clone(p.at), p.missing-1)
	case p.missing > 0 || continues || b == 0xC0 || b == 0xC1 || b > 0xF4:
		return dead
	}
	r, missing := rune(b), 0
	if b >= utf8.RuneSelf {
		r, missing = anyRune, 1
		if b >= 0xE0 {
			missing++
		}
		if b >= 0xF0 {
			missing++
		}
	}
	var at []uint32
	for _, pc := range p.at {
		if in := &a.prog.Inst[pc]; in.Op != syntax.InstMatch && in.MatchRune(r) {
			at = a.closure(at, in.Out)
		}
	}
	if !slices.ContainsFunc(at, func(pc uint32) bool { return a.finite[pc] }) {
		return dead
	}
	return a.point(at, missing)
}

// rest is the shortest text that ends s. What follows its first bytes is the rest
// of the state that they lead to.
func (a *automaton) rest(s State) string {
	p := &a.states[s]
	best, found := "", false
	for _, pc := range p.at {
		if a.finite[pc] && (!found || before(a.least[pc], best)) {
			best, found = a.least[pc], true
		}
	}
	for range p.missing {
		best = "\x80" + best
	}
	return best
}
