package infer

import (
	"fmt"
	"slices"
	"sync/atomic"

	"agentmill/internal/device"
	"agentmill/internal/model"
)

// Speculation runs a few guessed tokens behind the one that is due (Leviathan et
// al. 2023). Every row of logits is what a step of its own would have computed,
// bit for bit (D2), so each token is drawn as always, by the session's next
// number, and the guesses are kept as long as they are what is drawn. What a
// session samples, its log-probabilities and its random numbers do not depend on
// the guesses; only the number of steps does.

// A Drafter guesses how sequences go on. It is used by the scheduler alone.
type drafter interface {
	// draft appends at most most tokens to each turn's guess.
	draft(turns []*turn, most int)
	// forget drops what is held of a session.
	forget(s *session)
	close()
}

// guesses counts, for the report.
type guesses struct{ made, kept, steps, drawn atomic.Int64 }

// String says how good the guesses were, "" without any.
func (g *guesses) String() string {
	made, steps := g.made.Load(), g.steps.Load()
	if made == 0 {
		return ""
	}
	return fmt.Sprintf("speculation: %d of %d guessed tokens kept, %.2f tokens a step of a sequence", g.kept.Load(), made, float64(g.drawn.Load())/float64(steps))
}

// An ngrams drafter looks up where the last tokens stood before, in the session
// itself: an agent quotes what it has read.
type ngrams struct{}

// How many tokens must have stood together before: rather many than few.
const longestGram, shortestGram = 4, 2

func (ngrams) draft(turns []*turn, most int) {
	for _, t := range turns {
		t.guess = append(t.guess, followers(t.session.tokens, t.room(most))...)
	}
}

func (ngrams) forget(*session) {}

func (ngrams) close() {}

// followers are the at most most tokens that followed the last ones where those
// stood together before, the latest time.
func followers(tokens []int32, most int) []int32 {
	for n := longestGram; n >= shortestGram; n-- {
		if len(tokens) <= n {
			continue
		}
		last := tokens[len(tokens)-n:]
		for at := len(tokens) - n - 1; at >= 0; at-- {
			if slices.Equal(tokens[at:at+n], last) {
				return tokens[at+n : min(at+n+most, len(tokens))]
			}
		}
	}
	return nil
}

// A small drafter is a model of the same vocabulary that is quicker; its guess is
// its likeliest token.
type small struct {
	model    model.Model
	capacity int
	caches   map[*session]device.Cache
	host     []float32
	batch    model.Batch
}

func newSmall(m model.Model, capacity int) *small {
	return &small{model: m, capacity: min(capacity, m.Config().MaxPositionEmbeddings), caches: map[*session]device.Cache{}}
}

func (d *small) draft(turns []*turn, most int) {
	for n := range most {
		var ready []*turn
		for _, t := range turns {
			if n < t.room(most) && len(t.session.tokens)+n < d.capacity {
				ready = append(ready, t)
			}
		}
		if len(ready) == 0 {
			return
		}
		d.step(ready)
	}
}

// step guesses one more token for each turn.
func (d *small) step(turns []*turn) {
	b := &d.batch
	b.IDs, b.Positions, b.Seqs, b.Rows = b.IDs[:0], b.Positions[:0], b.Seqs[:0], b.Rows[:0]
	for _, t := range turns {
		c := d.caches[t.session]
		if c == nil {
			c = d.model.NewCache(d.capacity)
			d.caches[t.session] = c
		}
		own := len(t.session.tokens)
		if len(t.guess) == 0 {
			c.Truncate(own - 1) // guesses that were not kept
		}
		start, at := len(b.IDs), c.Len()
		for i := at; i < own+len(t.guess); i++ {
			if i < own {
				b.IDs = append(b.IDs, t.session.tokens[i])
			} else {
				b.IDs = append(b.IDs, t.guess[i-own])
			}
			b.Positions = append(b.Positions, int32(i))
		}
		b.Seqs = append(b.Seqs, device.Seq{Start: start, Len: len(b.IDs) - start, Cache: c})
		b.Rows = append(b.Rows, int32(len(b.IDs)-1))
	}
	logits := d.model.Logits(b)
	vocab := d.model.Config().VocabSize
	d.host = resize(d.host, len(turns)*vocab)
	d.model.Weights().Backend.Download(d.host, logits.Buf)
	for i, t := range turns {
		t.guess = append(t.guess, argmax(d.host[i*vocab:(i+1)*vocab]))
	}
}

func (d *small) forget(s *session) {
	if c := d.caches[s]; c != nil {
		c.Free()
		delete(d.caches, s)
	}
}

func (d *small) close() {
	for _, c := range d.caches {
		c.Free()
	}
	d.model.Close()
}

// room is how many guesses a turn can use: the token that is due is sampled in
// any case, and stop strings may end a turn at any of them.
func (t *turn) room(most int) int {
	s := t.session
	if len(s.sampling.Stop) > 0 {
		return 0
	}
	return max(0, min(most, t.left-1, s.engine.cfg.Context-len(s.tokens)-1))
}

// guess fills in the guesses of the turns that decode.
func (s *scheduler) guess() {
	if s.drafter == nil {
		return
	}
	var due []*turn
	for _, t := range s.active {
		if t.guess = t.guess[:0]; len(t.pending()) == 1 {
			due = append(due, t)
		}
	}
	s.drafter.draft(due, s.engine.cfg.Guesses)
	end := s.engine.cfg.Codec.EndOfTurn()
	for _, t := range due {
		if at := slices.Index(t.guess, end); at >= 0 {
			t.guess = t.guess[:at] // a turn ends with what is drawn, not behind it
		}
	}
}

// count books the guesses of a step. Of the rows that were drawn from, the last
// is behind the guesses that were kept.
func (s *scheduler) count() {
	g := &s.engine.guesses
	for i, t := range s.ready {
		first := i == 0 || s.ready[i-1] != t
		if first {
			g.made.Add(int64(len(t.guess)))
			g.steps.Add(1)
		}
		if s.sampler.drawn[i].id < 0 {
			continue
		}
		g.drawn.Add(1)
		if !first {
			g.kept.Add(1)
		}
	}
}

// settle takes back the keys and values of guesses that were not kept.
func (s *scheduler) settle() {
	if s.drafter == nil {
		return
	}
	s.count()
	for _, t := range s.ready {
		if own := t.session; len(t.guess) > 0 && own.cached >= len(own.tokens) {
			own.cached = len(own.tokens) - 1
			own.cache.Truncate(own.cached)
		}
	}
}
