package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

const reply = `{"choices":[{"message":{"role":"assistant","content":"read 1"},"finish_reason":%q}],"usage":{"prompt_tokens":20,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}`

// serve answers the requests one after the other by handlers; the last answers the rest.
func serve(t *testing.T, handlers ...http.HandlerFunc) (*Policy, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		handlers[min(i, len(handlers)-1)](w, r)
	}))
	t.Cleanup(server.Close)
	return policy(t, server.URL), &n
}

func policy(t *testing.T, url string) *Policy {
	t.Helper()
	p, err := New(Config{BaseURL: url + "/v1", Model: "m", APIKey: "k", Retry: Retry{Tries: 3, Wait: time.Millisecond, MaxWait: 20 * time.Millisecond, Timeout: 5 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func next(t *testing.T, p *Policy) (agent.Reply, error) {
	t.Helper()
	s, err := p.Begin(t.Context(), agent.Task{
		Prompt: []chat.Message{{Role: chat.System, Content: "s"}, {Role: chat.User, Content: "u"}}, TurnTokens: 48, Seed: 5 << 33, Sampling: traj.Sampling{TopP: .9},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Next(t.Context(), nil)
}

func TestNextSendsAndReads(t *testing.T) {
	var got map[string]any
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("request to %s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, reply, "length")
	})
	r, err := next(t, p)
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Reply{Text: "read 1", Turn: chat.Turn{PromptTokens: 20, CompletionTokens: 3, Cached: 8, FinishReason: chat.FinishLength}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if t0, ok := got["temperature"].(float64); !ok || t0 > 1e-6 {
		t.Errorf("temperature 0 was sent as %v", got["temperature"])
	}
	for field, want := range map[string]any{"model": "m", "max_tokens": 48.0, "seed": 5.0} {
		if got[field] != want {
			t.Errorf("%s was sent as %v, want %v", field, got[field], want)
		}
	}
	if n := len(got["messages"].([]any)); n != 2 {
		t.Errorf("%d messages were sent, want 2", n)
	}
}

func TestRetries(t *testing.T) {
	slow := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0.01")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	p, n := serve(t, slow, says(http.StatusServiceUnavailable, ""), says(http.StatusOK, fmt.Sprintf(reply, "stop")))
	r, err := next(t, p)
	if err != nil || r.Turn.Retries != 2 || n.Load() != 3 {
		t.Errorf("after 429 and 503: %+v, %v, %d requests; want 2 retries", r.Turn, err, n.Load())
	}
}

func TestFailures(t *testing.T) {
	long := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, tt := range []struct {
		name     string
		handler  http.HandlerFunc
		kind     string
		requests int64
	}{
		{"refused at once", says(http.StatusBadRequest, `{"error":{"message":"no"}}`), "refused", 1},
		{"server broken", says(http.StatusInternalServerError, "x"), traj.KindServer, 3},
		{"asked to wait too long", long, traj.KindRateLimit, 1},
		{"not JSON", says(http.StatusOK, "<html>"), "protocol", 1},
		{"no choice", says(http.StatusOK, `{"choices":[]}`), "empty", 1},
		{"nobody there", nil, traj.KindUnreachable, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, n := policy(t, gone.URL), new(atomic.Int64)
			if tt.handler != nil {
				p, n = serve(t, tt.handler)
			}
			_, err := next(t, p)
			var e *agent.Error
			if !errors.As(err, &e) || e.Boundary != "provider" || e.Kind != tt.kind || n.Load() != tt.requests {
				t.Errorf("Next = %v (%+v) after %d requests, want kind %s after %d", err, e, n.Load(), tt.kind, tt.requests)
			}
		})
	}
}

func TestTooLongIsTheEndOfTheContext(t *testing.T) {
	p, _ := serve(t, says(http.StatusBadRequest, `{"error":{"message":"too long","code":"context_length_exceeded"}}`))
	r, err := next(t, p)
	if err != nil || r.Turn.FinishReason != chat.FinishContext {
		t.Errorf("Next = %+v, %v; want finish %s", r, err, chat.FinishContext)
	}
}

func TestNewNeedsAServerAndAModel(t *testing.T) {
	for _, cfg := range []Config{{Model: "m"}, {BaseURL: "http://localhost"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v) succeeded", cfg)
		}
	}
}
