package infer

import (
	"context"
	"math/rand/v2"
	"sync"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/device"
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
	close    sync.Once

	prompt  []int32 // the first of tokens; never changed
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

func newSession(e *Engine, task agent.Task) *session {
	s := &session{
		engine: e, sampling: task.Sampling, limit: task.TurnTokens,
		rng: seed.Stream(task.Seed, "sample"),
	}
	if s.limit <= 0 {
		s.limit = e.cfg.Context
	}
	s.prompt = e.cfg.Codec.EncodePrompt(task.Prompt, task.Tools)
	s.observe(s.prompt)
	return s
}

// Next appends what was observed and samples the next turn.
func (s *session) Next(ctx context.Context, observed []chat.Message) (agent.Reply, error) {
	codec := s.engine.cfg.Codec
	if s.sampled > 0 {
		s.endTurn(codec.EndOfTurn())
		s.observe(codec.EncodeObserved(observed))
	}
	start := s.engine.cfg.Clock.Now()
	prompt, cached := len(s.tokens), s.cached
	t := &turn{ctx: ctx, session: s, left: s.limit, done: make(chan struct{})}
	if prompt >= s.engine.cfg.Context {
		t.finish = chat.FinishContext
	} else if err := s.play(t); err != nil {
		return agent.Reply{}, err
	}
	ids := s.tokens[prompt:]
	reply := agent.Reply{Turn: chat.Turn{
		PromptTokens: prompt, CompletionTokens: len(ids), Cached: cached,
		FinishReason: t.finish, Seconds: clock.Since(s.engine.cfg.Clock, start),
	}}
	if t.finish == chat.FinishStop {
		ids = ids[:len(ids)-1]
	}
	reply.Text = codec.Decode(ids)
	return reply, nil
}

// play posts t to the scheduler and waits for its end.
func (s *session) play(t *turn) error {
	if err := s.engine.post(t.ctx, job{turn: t}); err != nil {
		return err
	}
	<-t.done
	return t.err
}

// Trace is the token record up to the token sampled last.
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
	left    int // tokens that may still be sampled
	finish  chat.FinishReason
	over    bool
	err     error
	done    chan struct{}
}

// pending are the tokens that the model has not seen yet.
func (t *turn) pending() []int32 { return t.session.tokens[t.session.cached:] }

// sampled takes in a sampled token and reports whether the turn goes on.
func (t *turn) sampled(id int32, logp, full float32) bool {
	s := t.session
	s.push(id, true, logp, full)
	t.left--
	switch {
	case id == s.engine.cfg.Codec.EndOfTurn():
		t.finish = chat.FinishStop
	case t.left == 0:
		t.finish = chat.FinishLength
	case len(s.tokens) >= s.engine.cfg.Context:
		t.finish = chat.FinishContext
	default:
		return true
	}
	return false
}
