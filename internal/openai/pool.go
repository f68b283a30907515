package openai

import (
	"context"
	"fmt"
	"sync"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/llm"
	"agentmill/internal/traj"
)

// A pool spreads requests over servers.
type pool struct {
	clock clock.Clock
	slots int           // requests at a time, over all
	pause time.Duration // for a server that fails

	mu        sync.Mutex
	endpoints []*endpoint
	busy      int
	changed   chan struct{} // closed when a place becomes free
}

func newPool(slots int, pause time.Duration, clk clock.Clock) *pool {
	return &pool{clock: clk, slots: slots, pause: pause, changed: make(chan struct{})}
}

func (p *pool) add(ep *endpoint) {
	ep.window = float64(p.slots)
	p.endpoints = append(p.endpoints, ep)
	for _, ep := range p.endpoints {
		ep.others = len(p.endpoints) > 1
	}
}

// acquire waits for a place at the server that has the fewest requests under
// way. Where every server asks to wait for longer than ctx lasts, it fails at once.
func (p *pool) acquire(ctx context.Context) (*endpoint, *fault, error) {
	for {
		ep, until, changed := p.choose()
		if ep != nil {
			return ep, nil, nil
		}
		var timer <-chan time.Time
		if !until.IsZero() {
			if end, ok := ctx.Deadline(); ok && until.After(end) {
				err := fmt.Errorf("the server asks to wait until %s, which is too long", until.UTC().Format(time.RFC3339))
				return nil, &fault{kind: traj.KindRateLimit, err: err}, nil
			}
			timer = time.After(until.Sub(p.clock.Now()))
		}
		select {
		case <-changed:
		case <-timer:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// choose takes a place, or says until when all servers rest (zero: they do not,
// but are full) and what is closed when that may have changed.
func (p *pool) choose() (best *endpoint, until time.Time, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy >= p.slots {
		return nil, time.Time{}, p.changed
	}
	now, resting := p.clock.Now(), 0
	for _, ep := range p.endpoints {
		switch {
		case ep.rest.After(now):
			resting++
			if until.IsZero() || ep.rest.Before(until) {
				until = ep.rest
			}
		case ep.busy < max(1, int(ep.window)) && (best == nil || ep.busy < best.busy || ep.busy == best.busy && ep.served < best.served):
			best = ep
		}
	}
	if best == nil {
		if resting < len(p.endpoints) {
			until = time.Time{}
		}
		return nil, until, p.changed
	}
	best.busy++
	best.served++
	p.busy++
	return best, time.Time{}, nil
}

// release gives the place back and learns from what became of the request.
func (p *pool) release(ep *endpoint, f *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ep.busy--
	p.busy--
	ep.learn(f, p.clock.Now(), float64(p.slots), p.pause)
	close(p.changed)
	p.changed = make(chan struct{})
}

// inARow is after how many failures a server rests for a moment: one that fails
// fast would be the idlest for ever, and draw all load.
const inARow = 3

// learn widens the window of requests at a time slowly while all is well, and
// halves it, at most once a second, where the server says that it is too much.
func (ep *endpoint) learn(f *fault, now time.Time, most float64, moment time.Duration) {
	if f == nil || !f.passing && f.kind == llm.KindRefused {
		ep.window, ep.failed = min(ep.window+1/ep.window, most), 0
		return
	}
	pause := f.rest
	if ep.failed++; ep.failed >= inARow && ep.others {
		pause = max(pause, moment)
	}
	if rest := now.Add(pause); rest.After(ep.rest) && pause > 0 {
		ep.rest = rest
	}
	if f.kind == traj.KindRateLimit && now.Sub(ep.narrowed) > time.Second {
		ep.window, ep.narrowed = max(1, ep.window/2), now
	}
}

// A bucket lets so many units a minute pass, a twelfth of them at once. A nil
// bucket lets all pass.
type bucket struct {
	clock clock.Clock
	rate  float64 // a second

	mu    sync.Mutex
	level float64 // below 0 in debt
	last  time.Time
}

func newBucket(perMinute int, clk clock.Clock) *bucket {
	if perMinute <= 0 {
		return nil
	}
	b := &bucket{clock: clk, rate: float64(perMinute) / 60, last: clk.Now()}
	b.level = b.most()
	return b
}

func (b *bucket) most() float64 { return max(1, b.rate*5) }

// take waits until the bucket is out of debt and then takes n, which may bring
// it into debt: a large request must pass as well.
func (b *bucket) take(ctx context.Context, n float64) error {
	if b == nil {
		return ctx.Err()
	}
	return sleep(ctx, b.reserve(n))
}

// reserve takes n and says after how long it may be used.
func (b *bucket) reserve(n float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	b.level = min(b.most(), b.level+now.Sub(b.last).Seconds()*b.rate)
	b.last = now
	debt := max(0, min(n, b.most())-b.level)
	b.level -= n
	return time.Duration(debt / b.rate * float64(time.Second))
}

// give puts back what was taken too much; less than 0 takes more.
func (b *bucket) give(n float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level += n
}
