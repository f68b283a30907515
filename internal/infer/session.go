package infer

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/device"
	"agentmill/internal/dialog"
	"agentmill/internal/grammar"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// A session is one attempt. While a turn of it is being played, the scheduler
// owns its fields, else the goroutine that uses the session does.
type session struct {
	engine   *Engine
	sampling traj.Sampling
	rng      *rand.Rand
	limit    int // most tokens a turn
	stream   func(string)
	mask     *grammar.Mask // what turns are held to; nil: nothing
	close    sync.Once

	dialog dialog.Dialog
	text   string        // of the last turn
	parts  []agent.Trace // before the template rewrote what was

	prompt  []int32 // the first of tokens; only the scheduler changes it
	tokens  []int32 // all tokens so far, T1 of package traj
	trained []bool
	logp    []float32
	full    []float32
	sampled int // length up to the token sampled last

	// Of the scheduler alone, but that cached may be read between turns.
	cache   device.Cache
	cached  int // tokens whose keys and values cache holds
	playing bool
}

func newSession(e *Engine, task agent.Task) (*session, error) {
	s := &session{
		engine: e, sampling: task.Sampling, limit: task.TurnTokens, stream: task.Stream,
		rng: seed.Stream(task.Seed, "sample"),
	}
	if s.limit <= 0 {
		s.limit = e.cfg.Context
	}
	var err error
	if s.mask, err = e.mask(task.Pattern, s.limit); err != nil {
		return nil, err
	}
	if s.dialog, err = e.cfg.Codec.Begin(task.Prompt, task.Tools); err != nil {
		return nil, err
	}
	s.prompt = s.dialog.Prompt()
	s.observe(s.prompt)
	return s, nil
}

// Next appends what was observed and samples the next turn.
func (s *session) Next(ctx context.Context, observed []chat.Message) (agent.Reply, error) {
	t := &turn{ctx: ctx, session: s, left: s.limit, cut: -1, done: make(chan struct{})}
	if s.sampled > 0 {
		if err := s.goOn(t, observed); err != nil {
			return agent.Reply{}, err
		}
	}
	start := s.engine.cfg.Clock.Now()
	prompt, cached := len(s.tokens), min(s.cached, t.kept(s))
	t.begin = prompt
	if prompt+s.least() > s.engine.cfg.Context {
		t.finish = chat.FinishContext
	} else if err := s.play(t); err != nil {
		return agent.Reply{}, err
	}
	ids := s.tokens[prompt:]
	s.text = t.text()
	return agent.Reply{Text: s.text, Turn: chat.Turn{
		PromptTokens: prompt, CompletionTokens: len(ids), Cached: cached,
		FinishReason: t.finish, Seconds: clock.Since(s.engine.cfg.Clock, start),
	}}, nil
}

// goOn takes in what was observed after the last turn.
func (s *session) goOn(t *turn, observed []chat.Message) error {
	step, err := s.dialog.Next(s.text, observed)
	if err != nil {
		return err
	}
	if step.Rewritten {
		s.rewrite(t, step.IDs)
		return nil
	}
	s.endTurn(s.engine.cfg.Codec.EndOfTurn())
	s.observe(step.IDs)
	return nil
}

// rewrite begins a new part with another prompt.
func (s *session) rewrite(t *turn, prompt []int32) {
	s.parts = append(s.parts, s.Trace())
	for t.same < min(len(prompt), len(s.tokens)) && prompt[t.same] == s.tokens[t.same] {
		t.same++
	}
	t.prompt = prompt
	s.tokens, s.trained, s.logp, s.full, s.sampled = nil, nil, nil, nil, 0
	s.observe(prompt)
}

// play posts t to the scheduler and waits for its end.
func (s *session) play(t *turn) error {
	if err := s.engine.post(t.ctx, job{turn: t}); err != nil {
		return err
	}
	<-t.done
	return t.err
}

// Parts are the token records before the template rewrote what was.
func (s *session) Parts() []agent.Trace { return s.parts }

// Trace is the token record up to the token sampled last, of the last part.
func (s *session) Trace() agent.Trace {
	n := s.sampled
	return agent.Trace{
		TokenIDs: clone(s.tokens, n), Trained: clone(s.trained, n),
		LogProbs: clone(s.logp, n), LogProbsFull: clone(s.full, n),
	}
}

// Close frees the session's keys and values.
func (s *session) Close() error {
	s.close.Do(func() {
		// An engine that is closed has freed the cache.
		_ = s.engine.post(context.Background(), job{end: s})
		<-s.engine.slots
	})
	return nil
}

// observe appends tokens that the policy did not sample.
func (s *session) observe(ids []int32) {
	for _, id := range ids {
		s.push(id, false, 0, 0)
	}
}

// endTurn closes a turn that was cut before it ended by itself.
func (s *session) endTurn(end int32) {
	if s.tokens[len(s.tokens)-1] != end {
		s.push(end, false, 0, 0)
	}
}

// push appends one token.
func (s *session) push(id int32, trained bool, logp, full float32) {
	s.tokens = append(s.tokens, id)
	s.trained = append(s.trained, trained)
	s.logp = append(s.logp, logp)
	s.full = append(s.full, full)
	if trained {
		s.sampled = len(s.tokens)
	}
}

// A turn is one assistant turn being played.
type turn struct {
	ctx     context.Context //nolint:containedctx // a turn lives as long as the call it belongs to
	session *session
	begin   int           // tokens before it
	left    int           // tokens that may still be sampled
	cut     int           // bytes of the text before a stop string; -1: there is none
	told    int           // bytes of the text that were streamed
	guess   []int32       // tokens that are run behind the pending one
	prompt  []int32       // of a part that begins with this turn, else nil
	same    int           // tokens of it that stood there before
	at      grammar.State // how far the turn is in the pattern
	finish  chat.FinishReason
	over    bool
	err     error
	done    chan struct{}
}

// text is what was sampled so far, without the turn's end and what follows a stop
// string.
func (t *turn) text() string {
	s := t.session
	ids := s.tokens[t.begin:]
	if n := len(ids); n > 0 && ids[n-1] == s.engine.cfg.Codec.EndOfTurn() {
		ids = ids[:n-1]
	}
	text := s.engine.cfg.Codec.Decode(ids)
	if t.cut >= 0 {
		text = text[:t.cut]
	}
	return text
}

// stopped reports whether a stop string ends the turn.
func (t *turn) stopped() bool {
	stops := t.session.sampling.Stop
	if len(stops) == 0 {
		return false
	}
	text := t.text()
	for _, stop := range stops {
		if at := strings.Index(text, stop); at >= 0 && (t.cut < 0 || at < t.cut) {
			t.cut = at
		}
	}
	return t.cut >= 0
}

// tell streams what is new of the text, but for what the next token may change:
// half a character, or the beginning of a stop string.
func (t *turn) tell() {
	if t.session.stream == nil {
		return
	}
	text := t.text()
	end := len(text)
	if t.finish == "" {
		end = settled(text, t.session.sampling.Stop)
	}
	if end > t.told {
		t.session.stream(text[t.told:end])
		t.told = end
	}
}

// settled is how much of a text no further token changes.
func settled(text string, stops []string) int {
	end := len(strings.TrimRight(text, "\ufffd"))
	for _, stop := range stops {
		for n := min(len(stop)-1, end); n > 0; n-- {
			if strings.HasSuffix(text[:end], stop[:n]) {
				end -= n
				break
			}
		}
	}
	return end
}

// kept is how many tokens of the session's cache are of use to this turn.
func (t *turn) kept(s *session) int {
	if t.prompt == nil {
		return s.cached
	}
	return min(t.same, len(t.prompt)-1) // one at least is run
}

// pending are the tokens that the model has not seen yet.
func (t *turn) pending() []int32 {
	s := t.session
	return s.tokens[min(s.cached, len(s.tokens)):]
}

// sampled takes in a sampled token and reports whether the turn goes on.
func (t *turn) sampled(id int32, logp, full float32) bool {
	s := t.session
	s.push(id, true, logp, full)
	t.left--
	switch {
	case id == s.engine.cfg.Codec.EndOfTurn(), t.stopped():
		t.finish = chat.FinishStop
	case t.left == 0:
		t.finish = chat.FinishLength
	case len(s.tokens) >= s.engine.cfg.Context:
		t.finish = chat.FinishContext
	}
	t.tell()
	return t.finish == ""
}
