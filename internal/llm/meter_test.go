package llm

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

func read(t *testing.T, text string) Price {
	t.Helper()
	p, err := ReadPrices("p.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p.Models["m"]
}

func TestPrices(t *testing.T) {
	p := read(t, "date: 2025-06-30\nmodels:\n  m: {prompt: 2, cached: 0.5, completion: 8}\n")
	if got, want := p.Of(Usage{PromptTokens: 1_000_000, CachedTokens: 400_000, CompletionTokens: 500_000}), 1.2+.2+4; got != want {
		t.Errorf("cost %g, want %g", got, want)
	}
	if got := read(t, "date: 2025-06-30\nmodels:\n  m: {prompt: 2}\n").Of(Usage{PromptTokens: 100, CachedTokens: 100}); got != 200e-6 {
		t.Errorf("cached tokens without a price of their own cost %g, want the prompt's", got)
	}
	for _, tt := range []struct{ text, want string }{
		{"models: {}", `p.yaml: date: is ""`},
		{"date: 30.6.2025", `p.yaml: date: is "30.6.2025": want the day`},
		{"date: 2025-06-30\nmodels:\n  m: {prompt: -1}", "models: m: price -1"},
		{"date: 2025-06-30\nmodels:\n  m: {input: 1}", "field input not found"},
		{"", "date"},
	} {
		if _, err := ReadPrices("p.yaml", strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ReadPrices(%q) = %v, want an error with %q", tt.text, err, tt.want)
		}
	}
}

// dollar has requests that cost up to $1 and replies that cost half of it.
var (
	dollar = Price{Completion: 10_000}
	asking = Request{MaxTokens: 100}
	half   = Reply{Text: "x", Finish: chat.FinishStop, Usage: Usage{CompletionTokens: 50}}
)

func TestBudgetIsNeverExceeded(t *testing.T) {
	m := NewMeter(dollar, 5)
	c := Metered(&fake{replies: []Reply{half}}, m)
	var wg sync.WaitGroup
	var mu sync.Mutex
	paid, refused := 0, 0
	for range 40 {
		wg.Go(func() {
			reply, err := c.Complete(t.Context(), asking)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && reply.USD == .5:
				paid++
			case errors.Is(err, ErrBudget):
				refused++
			}
		})
	}
	wg.Wait()
	if st := m.Stats(); paid != 9 || refused != 31 || st.USD != 4.5 || st.Requests != 9 {
		t.Errorf("%d paid, %d refused, %+v; want 9 requests of $.5, since a tenth could have cost $1", paid, refused, st)
	}
}

// TestBudgetWaitsForWhatIsUnderWay: who is refused may stop the run, so nothing
// may be on its way by then.
func TestBudgetWaitsForWhatIsUnderWay(t *testing.T) {
	f := &fake{replies: []Reply{{Usage: Usage{CompletionTokens: 100}}}, hold: make(chan struct{})}
	m := NewMeter(dollar, 1)
	c := Metered(f, m)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.Complete(t.Context(), asking)
		first <- err
	}()
	for m.reservedNow() == 0 {
		runtime.Gosched()
	}
	go func() {
		_, err := c.Complete(t.Context(), asking)
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("the second request ended with %v while the first was under way", err)
	default:
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Complete(ctx, asking); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request that waits ends with %v", err)
	}
	close(f.hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-second; !errors.Is(err, ErrBudget) {
		t.Errorf("the second request ended with %v, want %v", err, ErrBudget)
	}
}

func (m *Meter) reservedNow() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reserved
}

func TestMeterCounts(t *testing.T) {
	f := &fake{replies: []Reply{half}}
	m := NewMeter(dollar, 0)
	c := Metered(f, m)
	for range 2 {
		if _, err := c.Complete(t.Context(), asking); err != nil {
			t.Fatal(err)
		}
	}
	f.err = &Error{Kind: traj.KindServer, Err: errors.New("down")}
	if _, err := c.Complete(t.Context(), asking); !errors.Is(err, f.err) {
		t.Errorf("Complete = %v", err)
	}
	m.found(half.Usage)
	want := "3 requests sent, 1 found in the cache, 1 failed; 0 prompt tokens (0 cached), 100 completion tokens; $1.0000"
	if got := m.Stats().String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestForecastIsToldOnce(t *testing.T) {
	m := NewMeter(dollar, 20)
	c := Metered(&fake{replies: []Reply{half}}, m)
	ctx, bill := Billed(t.Context())
	if _, err := c.Complete(ctx, asking); err != nil {
		t.Fatal(err)
	}
	for range 3 { // of others that are under way
		if _, err := c.Complete(t.Context(), asking); err != nil {
			t.Fatal(err)
		}
	}
	if want := (Cost{CompletionTokens: 50, USD: .5}); bill.Cost() != want {
		t.Errorf("on the bill stands %+v, want %+v", bill.Cost(), want)
	}
	for _, tt := range []struct {
		done int
		want string
	}{
		{9, ""}, {10, "10 of 1000 done for $0.5000: the whole will cost about $50.00, more than the budget of $20"}, {11, ""},
	} {
		if got := m.Forecast(Tally{tt.done, 1000, bill.Cost().USD}); got != tt.want {
			t.Errorf("after %d of 1000: %q, want %q", tt.done, got, tt.want)
		}
	}
}
