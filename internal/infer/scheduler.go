package infer

import (
	"slices"

	"agentmill/internal/device"
	"agentmill/internal/model"
)

// A job is what the scheduler is asked for: a turn to play, a session to end, or
// something to run between two steps.
type job struct {
	turn *turn
	end  *session
	run  func()
}

// A scheduler plays turns. Only its own goroutine uses it.
type scheduler struct {
	engine  *Engine
	model   model.Model
	sampler *sampler
	live    []*session // those with a cache, in the order of their first turns
	active  []*turn
	ready   []*turn // those of this step that are up to date
	batch   model.Batch
	drafter drafter // nil without speculation
}

// schedule is the goroutine that owns the model.
func (e *Engine) schedule() {
	defer close(e.stopped)
	s := &scheduler{engine: e, model: e.cfg.Model, sampler: newSampler(e.cfg.Model), drafter: newDrafter(&e.cfg)}
	defer s.close()
	for s.collect() {
		s.dropCancelled()
		if len(s.active) > 0 {
			s.step()
		}
	}
}

func newDrafter(cfg *Config) drafter {
	switch {
	case cfg.Draft != nil:
		return newSmall(cfg.Draft, cfg.Context)
	case cfg.NGrams:
		return ngrams{}
	}
	return nil
}

// collect takes in new jobs. It waits for one only when there is nothing to
// play. It returns false when the engine is closed.
func (s *scheduler) collect() bool {
	for {
		if len(s.active) == 0 {
			select {
			case j := <-s.engine.jobs:
				s.accept(j)
			case <-s.engine.quit:
				return false
			}
			continue
		}
		select {
		case j := <-s.engine.jobs:
			s.accept(j)
		case <-s.engine.quit:
			return false
		default:
			return true
		}
	}
}

func (s *scheduler) accept(j job) {
	switch {
	case j.run != nil:
		j.run()
	case j.end != nil:
		s.end(j.end)
	default:
		own := j.turn.session
		if own.cache == nil {
			own.cache = s.model.NewCache(s.engine.cfg.Context)
			s.live = append(s.live, own)
		}
		if j.turn.prompt != nil {
			own.cached = min(own.cached, j.turn.kept(own))
			own.cache.Truncate(own.cached)
			own.prompt = j.turn.prompt
			if s.drafter != nil {
				s.drafter.forget(own)
			}
		}
		own.playing = true
		s.active = append(s.active, j.turn)
	}
}

// end frees what a session holds.
func (s *scheduler) end(own *session) {
	if i := slices.Index(s.live, own); i >= 0 {
		s.live = slices.Delete(s.live, i, i+1)
		own.cache.Free()
		if s.drafter != nil {
			s.drafter.forget(own)
		}
	}
}

// dropCancelled ends the turns nobody waits for.
func (s *scheduler) dropCancelled() {
	s.keep(func(t *turn) bool {
		t.err = t.ctx.Err()
		return t.err == nil
	})
}

// step runs the next tokens of all turns and samples for those up to date.
func (s *scheduler) step() {
	s.guess()
	s.assemble()
	logits := s.model.Logits(&s.batch)
	s.sampler.sample(logits, s.ready)
	for i, t := range s.ready {
		switch d := &s.sampler.drawn[i]; {
		case d.id < 0: // behind a guess that was wrong
		case d.err != nil:
			t.err = d.err
		default:
			t.over = !t.sampled(d.id, d.logp, d.full)
		}
	}
	s.settle()
	s.keep(func(t *turn) bool { return t.err == nil && !t.over })
}

// minShared is the shortest beginning worth waiting for: copying it costs a
// hundredth of running it, waiting costs a step.
const minShared = 16

// share lets a session that has not run yet begin with the keys and values of
// another one whose prompt begins in the same way. It reports whether to wait
// for those: for one step, as sessions wait only for older ones.
func (s *scheduler) share(own *session) (wait bool) {
	dst, ok := own.cache.(device.PrefixCache)
	if !ok || own.cached > 0 {
		return false
	}
	donor, n := s.donor(own)
	switch {
	case n < minShared:
		return false
	case donor.cache.Len() >= n: // cached counts what this step will run, too
		dst.CopyPrefix(donor.cache, n)
		own.cached = n
		return false
	}
	return donor.playing
}

// donor is the session before own with the longest common beginning. At least
// one token of own's prompt is left to be run.
func (s *scheduler) donor(own *session) (best *session, n int) {
	for _, d := range s.live {
		if d == own {
			break
		}
		limit := min(len(d.prompt), len(own.prompt)-1)
		common := 0
		for common < limit && d.prompt[common] == own.prompt[common] {
			common++
		}
		if common > n {
			best, n = d, common
		}
	}
	return best, n
}

// assemble fills the batch: first the turns that decode, one token each, then
// chunks of prompts, as far as the step has room.
func (s *scheduler) assemble() {
	b := &s.batch
	b.IDs, b.Positions, b.Seqs, b.Rows = b.IDs[:0], b.Positions[:0], b.Seqs[:0], b.Rows[:0]
	s.ready = s.ready[:0]
	for _, t := range s.active {
		if len(t.pending()) == 1 {
			s.add(t)
		}
	}
	for _, t := range s.active {
		if len(t.pending()) > 1 && !s.share(t.session) {
			s.add(t)
		}
	}
}

// add puts as many of t's pending tokens into the batch as there is room for.
func (s *scheduler) add(t *turn) {
	b := &s.batch
	pending := t.pending()
	room := s.engine.cfg.BatchTokens - len(b.IDs)
	n := min(len(pending), room)
	if n <= 0 {
		return
	}
	start := len(b.IDs)
	b.IDs = append(b.IDs, pending[:n]...)
	if len(pending) > 1 {
		t.guess = t.guess[:0]
	}
	t.guess = t.guess[:min(len(t.guess), room-n)]
	b.IDs = append(b.IDs, t.guess...)
	whole := n == len(pending)
	n += len(t.guess)
	for i := range n {
		b.Positions = append(b.Positions, int32(t.session.cached+i))
	}
	b.Seqs = append(b.Seqs, device.Seq{Start: start, Len: n, Cache: t.session.cache})
	for i := n - 1 - len(t.guess); whole && i < n; i++ {
		b.Rows = append(b.Rows, int32(start+i))
		s.ready = append(s.ready, t)
	}
	t.session.cached += n
}

// keep ends the turns for which on is false.
func (s *scheduler) keep(on func(*turn) bool) {
	kept := s.active[:0]
	for _, t := range s.active {
		if on(t) {
			kept = append(kept, t)
		} else {
			t.session.playing = false
			close(t.done)
		}
	}
	clear(s.active[len(kept):])
	s.active = kept
}

// close ends all turns and frees the model.
func (s *scheduler) close() {
	s.keep(func(t *turn) bool {
		t.err = errClosed
		return false
	})
	s.sampler.close()
	if s.drafter != nil {
		s.drafter.close()
	}
	s.model.Close()
}
