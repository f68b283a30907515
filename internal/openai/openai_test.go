package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/llm"
	"agentmill/internal/traj"
)

const reply = `{"model":"m-1","choices":[{"message":{"role":"assistant","content":"read 1"},"finish_reason":%q}],"usage":{"prompt_tokens":20,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":1}}}`

// serve answers the requests one after the other by handlers; the last answers the rest.
func serve(t *testing.T, handlers ...http.HandlerFunc) (url string, requests *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		handlers[min(i, len(handlers)-1)](w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, &n
}

// client asks model m at the given servers, with time scaled small.
func client(t *testing.T, urls ...string) *Client {
	t.Helper()
	return clientOf(t, Config{BaseURLs: urls})
}

func clientOf(t *testing.T, cfg Config) *Client {
	t.Helper()
	for i := range cfg.BaseURLs {
		cfg.BaseURLs[i] += "/v1/"
	}
	orDefault(&cfg.Model, "m")
	orDefault(&cfg.Timeout, 5*time.Second)
	orDefault(&cfg.Deadline, 10*time.Second)
	cfg.APIKey, cfg.Retry = "sk-secret", Retry{Tries: 3, Wait: time.Millisecond, MaxWait: 20 * time.Millisecond}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// stop is a whole reply.
var stop = says(http.StatusOK, fmt.Sprintf(reply, "stop"))

// hears keeps what was asked and answers by next.
func hears(t *testing.T, got *map[string]any, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-secret" {
			t.Errorf("request to %s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		*got = nil
		if err := json.NewDecoder(r.Body).Decode(got); err != nil {
			t.Error(err)
		}
		next(w, r)
	}
}

func question() llm.Request {
	return llm.Request{Messages: []chat.Message{{Role: chat.System, Content: "s"}, {Role: chat.User, Content: "u"}}, MaxTokens: 48, TopP: .9}
}

func TestCompleteSendsAndReads(t *testing.T) {
	var got map[string]any
	url, _ := serve(t, hears(t, &got, says(http.StatusOK, fmt.Sprintf(reply, "length"))))
	r, err := client(t, url).Complete(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Reply{Text: "read 1", Finish: chat.FinishLength, Served: "m-1", Usage: llm.Usage{PromptTokens: 20, CompletionTokens: 3, CachedTokens: 8, ReasoningTokens: 1}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if t0, ok := got["temperature"].(float64); !ok || t0 > 1e-6 {
		t.Errorf("temperature 0 was sent as %v", got["temperature"])
	}
	for field, want := range map[string]any{"model": "m", "max_tokens": 48.0, "top_p": float64(float32(.9)), "top_k": nil, "response_format": nil} {
		if diff := cmp.Diff(want, got[field]); diff != "" && field != "top_p" || got["seed"] == nil {
			t.Errorf("%s was sent as %v, want %v; seed as %v", field, got[field], want, got["seed"])
		}
	}
	if n := len(got["messages"].([]any)); n != 2 {
		t.Errorf("%d messages were sent, want 2", n)
	}
}

func TestSamplesHaveTheirOwnSeeds(t *testing.T) {
	var got map[string]any
	url, _ := serve(t, hears(t, &got, stop))
	c, seen := client(t, url), map[any]int{}
	for _, r := range []llm.Request{{Seed: 1}, {Seed: 2}, {Seed: 1, Sample: 1}, {Seed: 1, Try: 1}, {Seed: 1}} {
		r.Messages = question().Messages
		if _, err := c.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		seen[got["seed"]]++
	}
	if len(seen) != 4 {
		t.Errorf("seeds were sent so often: %v; want 4, one of them twice", seen)
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
		passing  bool
		requests int64
	}{
		{"bad request", says(http.StatusBadRequest, `{"error":{"message":"no"}}`), llm.KindRefused, false, 1},
		{"bad key", says(http.StatusUnauthorized, `{"error":{"message":"bad key sk-secret"}}`), llm.KindRefused, false, 1},
		{"forbidden", says(http.StatusForbidden, ``), llm.KindRefused, false, 1},
		{"no such model", says(http.StatusNotFound, `{"detail":"no such model"}`), llm.KindRefused, false, 1},
		{"account used up", says(http.StatusTooManyRequests, `{"error":{"message":"pay","code":"insufficient_quota"}}`), llm.KindQuota, false, 1},
		{"request timed out", says(http.StatusRequestTimeout, ``), traj.KindTimeout, true, 3},
		{"conflict", says(http.StatusConflict, ``), traj.KindServer, true, 3},
		{"server broken", says(http.StatusInternalServerError, "x"), traj.KindServer, true, 3},
		{"asked to wait too long", long, traj.KindRateLimit, true, 1},
		{"not JSON", says(http.StatusOK, "<html>sk-secret"), llm.KindProtocol, false, 3},
		{"no choice", says(http.StatusOK, `{"choices":[]}`), llm.KindProtocol, false, 3},
		{"error as a success", says(http.StatusOK, `{"error":{"message":"overloaded","code":502}}`), traj.KindServer, true, 3},
		{"filtered", says(http.StatusOK, fmt.Sprintf(reply, "content_filter")), llm.KindFiltered, false, 1},
		{"nobody there", nil, traj.KindUnreachable, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, n := gone.URL, new(atomic.Int64)
			if tt.handler != nil {
				url, n = serve(t, tt.handler)
			}
			_, err := client(t, url).Complete(t.Context(), question())
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != tt.kind || n.Load() != tt.requests || llm.Passing(err) != tt.passing {
				t.Fatalf("Complete = %v (%+v) after %d requests, want kind %s after %d", err, e, n.Load(), tt.kind, tt.requests)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the key stands in %q", err)
			}
		})
	}
}

func TestRetriesAreCounted(t *testing.T) {
	slow := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0.01")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	url, n := serve(t, slow, slow, slow, says(http.StatusServiceUnavailable, ""), stop)
	r, err := client(t, url).Complete(t.Context(), question())
	if err != nil || r.Retries != 4 || n.Load() != 5 {
		t.Errorf("after three 429 and a 503: %+v, %v, %d requests; want 4 retries", r, err, n.Load())
	}
}
