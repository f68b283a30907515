package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentmill/internal/chat"
	"agentmill/internal/llm"
	"agentmill/internal/seed"
)

// A faulty server answers question "n" by "answer n" with a tool call, and
// treats a share of the calls badly, each kind of fault in its turn.
type faulty struct {
	share float64
	stall time.Duration // longer than the client waits

	calls  atomic.Int64
	faults atomic.Int64
	mu     sync.Mutex
	hurt   map[string]int // by kind of fault
}

// badly are the faults by name. whole is the answer that should have come.
var badly = []struct {
	name string
	do   func(f *faulty, w http.ResponseWriter, r *http.Request, whole string)
}{
	{"429", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Retry-After", "0.005")
		w.WriteHeader(http.StatusTooManyRequests)
	}},
	{"500", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusInternalServerError)
	}},
	{"408", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusRequestTimeout)
	}},
	{"409", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusConflict) }},
	{"stall", func(f *faulty, _ http.ResponseWriter, r *http.Request, _ string) {
		select {
		case <-time.After(f.stall):
		case <-r.Context().Done():
		}
	}},
	{"slow first byte", func(f *faulty, w http.ResponseWriter, _ *http.Request, whole string) {
		time.Sleep(f.stall / 200)
		io.WriteString(w, whole)
	}},
	{"cut body", func(_ *faulty, w http.ResponseWriter, _ *http.Request, whole string) {
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		io.WriteString(w, whole[:len(whole)/2])
		panic(http.ErrAbortHandler)
	}},
	{"half a stream", func(_ *faulty, w http.ResponseWriter, _ *http.Request, whole string) {
		io.WriteString(w, whole[:len(whole)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}},
	{"half, and a clean end", func(_ *faulty, w http.ResponseWriter, _ *http.Request, whole string) {
		io.WriteString(w, whole[:len(whole)/2])
	}},
	{"wrong JSON", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) {
		io.WriteString(w, `{"choices":[{]}`)
	}},
	{"JSON of another kind", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) {
		io.WriteString(w, `{"choices":"none"}`)
	}},
	{"no choice", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) { io.WriteString(w, `{"choices":[]}`) }},
	{"reset", func(_ *faulty, w http.ResponseWriter, _ *http.Request, _ string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}},
	{"duplicate tool calls", func(_ *faulty, w http.ResponseWriter, _ *http.Request, whole string) {
		io.WriteString(w, whole) // every whole answer has its call twice
	}},
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := f.calls.Add(1)
	var body struct{ Messages []chat.Message }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	question := body.Messages[0].Content
	whole := fmt.Sprintf(`{"choices":[{"message":{"content":"answer %[1]s","tool_calls":[
		{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"n\":%[1]s}"}},
		{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"n\":%[1]s}"}}]},"finish_reason":"tool_calls"}],
		"usage":{"prompt_tokens":10,"completion_tokens":2}}`, question)
	if seed.Stream(7, "fault", n).Float64() < f.share {
		bad := badly[int(f.faults.Add(1)-1)%len(badly)]
		f.note(bad.name)
		bad.do(f, w, r, whole)
		return
	}
	io.WriteString(w, whole)
}

func (f *faulty) note(fault string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hurt[fault]++
}

// TestFaultyServer: 30 % of calls go wrong in every way we know. Each question
// gets its own answer, and is counted once.
func TestFaultyServer(t *testing.T) {
	const questions = 400
	f := &faulty{share: .3, stall: 5 * time.Second, hurt: map[string]int{}}
	servers := make([]string, 2)
	for i := range servers {
		s := httptest.NewServer(f)
		s.Config.ErrorLog = nil
		defer s.Close()
		servers[i] = s.URL
	}
	c := clientOf(t, Config{BaseURLs: servers, Concurrency: 16, Timeout: 500 * time.Millisecond, Deadline: time.Minute})
	c.cfg.Retry.Tries = 12
	m := llm.NewMeter(llm.Price{}, 0)
	asked := llm.Metered(c, m)
	var wg sync.WaitGroup
	limit := make(chan struct{}, 32)
	for i := range questions {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			ask(t, asked, strconv.Itoa(i))
		})
	}
	wg.Wait()
	st := m.Stats()
	if st.Usage.PromptTokens != 10*questions || st.Failed != 0 || int64(st.Requests+st.Retries) < f.calls.Load() {
		t.Errorf("%+v for %d questions; the server saw %d calls", st, questions, f.calls.Load())
	}
	for _, bad := range badly {
		if f.hurt[bad.name] == 0 {
			t.Errorf("no call met the fault %q: this test has lost its purpose", bad.name)
		}
	}
}

// ask checks that question n gets answer n.
func ask(t *testing.T, c llm.Client, n string) {
	reply, err := c.Complete(t.Context(), llm.Request{Messages: []chat.Message{{Role: chat.User, Content: n}}, MaxTokens: 9})
	if err != nil {
		t.Errorf("question %s: %v", n, err)
		return
	}
	if want := fmt.Sprintf(`{"n":%s}`, n); reply.Text != "answer "+n || len(reply.ToolCalls) != 1 || string(reply.ToolCalls[0].Arguments) != want {
		t.Errorf("question %s got %+v", n, reply)
	}
}

// TestDeadServerIsGivenUpQuickly: once a request has used up its tries and nobody
// was there, the others try once each.
func TestDeadServerIsGivenUpQuickly(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c := client(t, gone.URL)
	for i := range 5 {
		reply, err := c.Complete(t.Context(), question())
		if want := map[bool]int{true: 2}[i == 0]; !llm.Passing(err) || reply.Retries != want {
			t.Errorf("request %d: %v after %d retries, want %d", i, err, reply.Retries, want)
		}
	}
}

// TestDeadlineTellsTheReason: where the caller's time is up between tries, it hears
// what went wrong, not just that it is late; a caller who gives up hears that.
func TestDeadlineTellsTheReason(t *testing.T) {
	url, _ := serve(t, says(http.StatusServiceUnavailable, "loading the model"))
	c := client(t, url)
	c.cfg.Retry = Retry{Tries: 9, Wait: time.Hour, MaxWait: time.Hour}
	late, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := c.Complete(late, question()); !llm.Passing(err) || !strings.Contains(err.Error(), "loading the model") {
		t.Errorf("past the caller's deadline: %v", err)
	}
	gone, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := c.Complete(gone, question()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the caller gave up: %v", err)
	}
}

// TestDeadlineEndsARequest: a server that never answers costs a request its
// deadline and no more.
func TestDeadlineEndsARequest(t *testing.T) {
	hold := make(chan struct{})
	url, n := serve(t, func(http.ResponseWriter, *http.Request) { <-hold })
	defer close(hold)
	c := clientOf(t, Config{BaseURLs: []string{url}, Timeout: 20 * time.Millisecond, Deadline: 50 * time.Millisecond})
	if _, err := c.Complete(t.Context(), question()); !llm.Passing(err) || n.Load() < 1 {
		t.Errorf("Complete = %v after %d requests; want a timeout", err, n.Load())
	}
}
