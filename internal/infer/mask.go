package infer

import (
	"fmt"
	"math"
	"sync"

	"agentmill/internal/device"
	"agentmill/internal/grammar"
)

// Turns that are held to a pattern: tokens with which a turn could not become a
// text that matches, within its limit of tokens and the context, are masked before
// one is drawn. Log-probabilities are those of what is left, renormalised;
// temperature is applied first, top-k, top-p and min-p after it. A turn that is
// held to nothing is drawn as ever.

// masks are the patterns that an engine has met.
type masks struct {
	mu    sync.Mutex
	known map[string]*grammar.Mask
}

// mask returns what holds turns of at most limit tokens to a pattern, nil without.
func (e *Engine) mask(pattern string, limit int) (*grammar.Mask, error) {
	if pattern == "" {
		return nil, nil //nolint:nilnil // no mask is none
	}
	e.masks.mu.Lock()
	defer e.masks.mu.Unlock()
	m := e.masks.known[pattern]
	if m == nil {
		var err error
		if m, err = grammar.New(pattern, e.cfg.Pieces[:min(len(e.cfg.Pieces), e.cfg.Model.Config().VocabSize)]); err != nil {
			return nil, fmt.Errorf("hold turns to calls: %w", err)
		}
		if e.masks.known == nil {
			e.masks.known = map[string]*grammar.Mask{}
		}
		e.masks.known[pattern] = m
	}
	if least := m.Least() + 1; limit < least {
		return nil, fmt.Errorf("hold turns to calls: a turn has %d tokens at most, a call takes %d", limit, least)
	}
	return m, nil
}

// least is how many tokens the shortest turn has, its end included.
func (s *session) least() int {
	if s.mask == nil {
		return 1
	}
	return s.mask.Least() + 1
}

// allowed calls each for the tokens that may be drawn after nth more than the
// record has.
func (t *turn) allowed(nth int, each func(id int32)) {
	s := t.session
	left := min(t.left, s.engine.cfg.Context-len(s.tokens)) - nth
	for _, c := range s.mask.Allowed(t.at) {
		if c.Left+2 <= left { // the token itself and the turn's end
			each(c.ID)
		}
	}
	if s.mask.End(t.at) {
		each(s.engine.cfg.Codec.EndOfTurn())
	}
}

// advance takes in what was drawn.
func (t *turn) advance(id int32) {
	if id != t.session.engine.cfg.Codec.EndOfTurn() {
		t.at = t.session.mask.Next(t.at, id)
	}
}

// restrict makes row what may be drawn from: logits when greedy, else the
// probabilities of the allowed tokens.
func (s *sampler) restrict(row []float32, logits device.Mat, t *turn, nth int) {
	s.logits = resize(s.logits, s.vocab)
	s.backend.Download(s.logits, logits.Buf)
	temp := t.session.sampling.Temperature
	if temp == 0 {
		for i := range row {
			row[i] = float32(math.Inf(-1))
		}
		t.allowed(nth, func(id int32) { row[id] = s.logits[id] })
		return
	}
	clear(row)
	most := math.Inf(-1)
	t.allowed(nth, func(id int32) { most = max(most, float64(s.logits[id])) })
	sum := 0.0
	t.allowed(nth, func(id int32) { sum += math.Exp((float64(s.logits[id]) - most) / temp) })
	t.allowed(nth, func(id int32) { row[id] = float32(math.Exp((float64(s.logits[id])-most)/temp) / sum) })
}
