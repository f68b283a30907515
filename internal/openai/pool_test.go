package openai

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"agentmill/internal/traj"
)

// A handClock is moved by hand.
type handClock struct{ now time.Time }

func (c *handClock) Now() time.Time { return c.now }
func (*handClock) Fixed() bool      { return false }

func pooled(slots, servers int) (*pool, *handClock) {
	clk := &handClock{time.Unix(1000, 0)}
	p := newPool(slots, time.Second, clk)
	for range servers {
		p.add(&endpoint{})
	}
	return p, clk
}

func TestLoadGoesToTheIdlest(t *testing.T) {
	p, _ := pooled(5, 2)
	var taken []*endpoint
	for range 5 {
		ep, _, _ := p.choose()
		taken = append(taken, ep)
	}
	a, b := p.endpoints[0], p.endpoints[1]
	if a.busy+b.busy != 5 || a.busy < 2 || b.busy < 2 {
		t.Errorf("5 requests went as %d and %d", a.busy, b.busy)
	}
	if ep, _, _ := p.choose(); ep != nil {
		t.Error("a sixth request is let in")
	}
	for _, ep := range taken {
		if ep == a {
			p.release(ep, nil)
		}
	}
	if ep, _, _ := p.choose(); ep != a {
		t.Error("the next request does not go to the server that is idle")
	}
}

func TestRestAndWindow(t *testing.T) {
	p, clk := pooled(8, 2)
	a, b := p.endpoints[0], p.endpoints[1]
	ep, _, _ := p.choose()
	p.release(ep, &fault{kind: traj.KindRateLimit, rest: 3 * time.Second})
	if ep != a || a.window != 4 {
		t.Fatalf("after a rate limit the window is %g, want 4", a.window)
	}
	for range 3 {
		if ep, _, _ := p.choose(); ep != b {
			t.Error("a request goes to the server that asked to be left alone")
		}
	}
	b.rest = clk.now.Add(time.Minute)
	if ep, until, _ := p.choose(); ep != nil || !until.Equal(a.rest) {
		t.Errorf("all rest: %v until %v, want until %v", ep, until, a.rest)
	}
	clk.now = clk.now.Add(4 * time.Second)
	for range 40 {
		ep, _, _ := p.choose()
		if ep != a {
			t.Fatal("after its rest the server gets no request")
		}
		p.release(ep, nil)
	}
	if a.window < 7 || a.window > 8 {
		t.Errorf("after 40 good replies the window is %g, want nearly 8", a.window)
	}
}

func TestFailingServerRests(t *testing.T) {
	p, clk := pooled(8, 2)
	bad := &fault{kind: traj.KindUnreachable, err: errors.New("reset")}
	for range 3 {
		a := p.endpoints[0]
		a.busy++
		p.busy++
		p.release(a, bad)
	}
	if !p.endpoints[0].rest.After(clk.now) {
		t.Error("after three failures in a row the server is asked on: failing fast would draw all load")
	}
	if ep, _, _ := p.choose(); ep != p.endpoints[1] {
		t.Error("the next request does not go to the other server")
	}
}

func TestBucket(t *testing.T) {
	clk := &handClock{time.Unix(1000, 0)}
	b := newBucket(120, clk) // 2 a second, 10 at once
	var waits []time.Duration
	for range 12 {
		waits = append(waits, b.reserve(1))
	}
	if !slices.Equal(waits[9:], []time.Duration{0, 500 * time.Millisecond, time.Second}) || waits[0] != 0 {
		t.Errorf("waits %v, want the first ten to pass at once and each further one half a second later", waits)
	}
	clk.now = clk.now.Add(6 * time.Second)
	if w := b.reserve(100); w != 0 {
		t.Errorf("a request larger than the bucket waits %s with the bucket full", w)
	}
	b.give(95)
	if w := b.reserve(1); w > 0 {
		t.Errorf("what was given back is not there: %s", w)
	}
	if newBucket(0, clk) != nil {
		t.Error("0 is a limit")
	}
}

func TestLoadIsSpread(t *testing.T) {
	var mu sync.Mutex
	served := map[string]int{}
	var urls []string
	for range 3 {
		url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			served[r.Host]++
			mu.Unlock()
			stop(w, r)
		})
		urls = append(urls, url)
	}
	c := client(t, urls...)
	for range 9 {
		if _, err := c.Complete(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
	}
	for host, n := range served {
		if n != 3 || len(served) != 3 {
			t.Errorf("%s got %d of 9 requests", host, n)
		}
	}
}
