package llm

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// A Meter counts what requests cost and keeps them within a budget. It is safe
// for concurrent use.
type Meter struct {
	price  Price
	budget float64 // 0: none

	mu         sync.Mutex
	changed    chan struct{} // closed when reserved falls
	spent      float64       // in this run
	reserved   float64       // most that the requests under way can cost
	stopped    bool
	forecasted bool
	stats      Stats
}

// Stats is what requests did.
type Stats struct {
	Requests, Failed, Retries int // sent to the server
	FromCache                 int // answered without it
	Usage                     Usage
	USD                       float64
}

// NewMeter makes a Meter. A budget of 0 is none.
func NewMeter(p Price, budget float64) *Meter {
	return &Meter{price: p, budget: budget, changed: make(chan struct{})}
}

// Metered counts the requests to c. A request is sent only if it cannot cost
// more than is left; while others are under way it waits for what they leave.
func Metered(c Client, m *Meter) Client { return &metered{c, m} }

type metered struct {
	Client
	meter *Meter
}

// Complete implements Client.
func (c *metered) Complete(ctx context.Context, r Request) (Reply, error) {
	most := c.meter.price.most(&r)
	if err := c.meter.reserve(ctx, most); err != nil {
		return Reply{}, err
	}
	reply, err := c.Client.Complete(ctx, r)
	reply.USD = c.meter.price.Of(reply.Usage)
	c.meter.settle(most, reply, err)
	if err == nil {
		charge(ctx, &reply)
	}
	return reply, err
}

// reserve sets most aside.
func (m *Meter) reserve(ctx context.Context, most float64) error {
	for {
		m.mu.Lock()
		if m.budget == 0 || !m.stopped && m.spent+m.reserved+most <= m.budget {
			m.reserved += most
			m.mu.Unlock()
			return nil
		}
		if m.stopped || m.reserved == 0 {
			m.stopped = true
			err := fmt.Errorf("%w: $%.4f of $%g are spent, and the next request may cost $%.4f", ErrBudget, m.spent, m.budget, most)
			m.mu.Unlock()
			return err
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Ended(ctx)
		}
	}
}

// settle books what a request came to.
func (m *Meter) settle(most float64, reply Reply, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reserved -= most; m.reserved < 1e-12 {
		m.reserved = 0
	}
	close(m.changed)
	m.changed = make(chan struct{})
	m.stats.Requests++
	m.stats.Retries += reply.Retries
	if err != nil {
		m.stats.Failed++
		return
	}
	m.spent += reply.USD
	m.stats.USD = m.spent
	m.stats.Usage.Add(reply.Usage)
}

// found counts a reply from a cache and returns what it cost when it was paid.
func (m *Meter) found(u Usage) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.FromCache++
	return m.price.Of(u)
}

// Stats is what was counted so far.
func (m *Meter) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// Forecast tells, once, when a hundredth of the work is done, what the whole
// will cost; "" before, after, and where nothing has a price. It goes by what is
// done: what is under way is paid in part, and would be counted as dear.
func (m *Meter) Forecast(t Tally) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forecasted || t.Done == 0 || t.Done*100 < t.Total || t.USD == 0 || m.spent == 0 {
		return ""
	}
	m.forecasted = true
	whole := t.USD / float64(t.Done) * float64(t.Total)
	text := fmt.Sprintf("%d of %d done for $%.4f: the whole will cost about $%.2f", t.Done, t.Total, t.USD, whole)
	if m.budget > 0 && whole > m.budget {
		text += fmt.Sprintf(", more than the budget of $%g", m.budget)
	}
	return text
}

// String is a summary in one line.
func (s Stats) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d requests sent", s.Requests)
	for _, c := range []struct {
		n    int
		what string
	}{{s.FromCache, "found in the cache"}, {s.Retries, "retries"}, {s.Failed, "failed"}} {
		if c.n > 0 {
			fmt.Fprintf(&text, ", %d %s", c.n, c.what)
		}
	}
	u := s.Usage
	fmt.Fprintf(&text, "; %d prompt tokens (%d cached), %d completion tokens", u.PromptTokens, u.CachedTokens, u.CompletionTokens)
	if s.USD > 0 {
		fmt.Fprintf(&text, "; $%.4f", s.USD)
	}
	return text.String()
}
