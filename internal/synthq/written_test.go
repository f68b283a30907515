package synthq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/dataset"
	"agentmill/internal/llm"
	"agentmill/internal/mail"
	"agentmill/internal/openai"
	"agentmill/internal/progress"
	"agentmill/internal/question"
)

// A scribe is a server that speaks the protocol and writes one question about
// every third mail of a prompt.
type scribe struct {
	mu      sync.Mutex
	prompts []string
	spoil   func(n int, good string) (status int, content string) // of the nth request; nil: none
}

var mailRE = regexp.MustCompile(`(?s)<mail number="(\d+)">.*?Subject: Order (\d+).*?(The pump of order \d+[\s>]+costs \$\d+)`)

func (s *scribe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []struct{ Content string } `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) != 2 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	prompt := req.Messages[1].Content
	s.mu.Lock()
	s.prompts = append(s.prompts, prompt)
	n := len(s.prompts)
	s.mu.Unlock()
	var qs []string
	for i, m := range mailRE.FindAllStringSubmatch(prompt, -1) {
		if i%3 == 0 {
			price := m[3][strings.LastIndexByte(m[3], ' ')+1:]
			qs = append(qs, fmt.Sprintf(`{"form":"single","question":"What do I pay for the pump in order %s?","answer":%q,"aliases":[],"mails":[%s],"quotes":[{"mail":%s,"text":%q}],"kind":"amount","how_realistic":0.8}`,
				m[2], price, m[1], m[1], strings.Join(strings.Fields(m[3]), " ")))
		}
	}
	status, content := http.StatusOK, `{"questions":[`+strings.Join(qs, ",")+`]}`
	if s.spoil != nil {
		status, content = s.spoil(n, content)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"model": "m", "choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": content}, "finish_reason": "stop"}},
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10},
	})
}

// orders writes n mails of one mailbox, a day apart.
func orders(t *testing.T, dir string, n int) string {
	t.Helper()
	path := filepath.Join(dir, "emails.jsonl")
	out, err := dataset.Create[mail.Email](path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		e := &mail.Email{
			MessageID: fmt.Sprintf("<%d@x>", i), From: bo, To: []string{ana}, Owner: ana, Subject: fmt.Sprintf("Order %d", i),
			Date: time.Date(2001, 3, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, i), Body: fmt.Sprintf("Ana,\n\n> The pump of order %d\n> costs $%d with freight.\n", i, 100+i),
		}
		if err := out.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

func writerFor(t *testing.T, s *scribe) *Writer {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := openai.New(openai.Config{
		BaseURLs: []string{server.URL + "/v1"}, Model: "m", Timeout: 5 * time.Second, Deadline: 10 * time.Second,
		Retry: openai.Retry{Tries: 2, Wait: time.Millisecond, MaxWait: 5 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := LoadPrompts("")
	if err != nil {
		t.Fatal(err)
	}
	return &Writer{Model: client, Prompts: prompts, Concurrency: 1, Temperature: .5, PerBatch: 8}
}

// write runs the stage with a server and returns its questions.
func write(t *testing.T, s *scribe, dir string, change func(*Config)) ([]question.Question, Stats, error) {
	t.Helper()
	cfg := Config{
		In: dataset.Source{Paths: []string{orders(t, dir, 50)}}, Out: filepath.Join(dir, "q.jsonl"), Stdout: io.Discard, Seed: 1, PerMail: 1,
		Progress: progress.New(io.Discard, nil, progress.Never, false), Writer: writerFor(t, s), Journal: filepath.Join(dir, "q.journal"),
	}
	if change != nil {
		change(&cfg)
	}
	st, err := Run(context.Background(), cfg)
	if err != nil {
		return nil, st, err
	}
	qs, _, err := dataset.ReadAll[question.Question](context.Background(), dataset.Source{Paths: []string{cfg.Out}})
	if err != nil {
		t.Fatal(err)
	}
	return qs, st, nil
}

func TestWriterAsksInBatchesAndLocatesQuotes(t *testing.T) {
	s := &scribe{}
	qs, st, err := write(t, s, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.prompts) != 3 || st.Batches != 3 || strings.Count(s.prompts[0], "<mail ") != 20 || strings.Count(s.prompts[2], "<mail ") != 10 {
		t.Errorf("%d requests, %d batches: want 3, of 20, 20 and 10 mails", len(s.prompts), st.Batches)
	}
	if len(qs) != 18 {
		t.Errorf("%d questions, want 18", len(qs))
	}
	for _, q := range qs {
		sp := q.Spans[0]
		var n int
		if _, err := fmt.Sscanf(q.MessageIDs[0], "<%d@x>", &n); err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf("Ana,\n\n> The pump of order %d\n> costs $%d with freight.\n", n, 100+n)
		if got, want := body[sp.Start:sp.End], fmt.Sprintf("The pump of order %d\n> costs $%d", n, 100+n); got != want {
			t.Errorf("span of %s is %q, want %q", q.ID, got, want)
		}
		if day := time.Date(2001, 3, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly); q.QueryDate <= day || q.Generator != "m" || q.Kind != "amount" {
			t.Errorf("asked on %s of a mail of %s, generator %s, kind %s", q.QueryDate, day, q.Generator, q.Kind)
		}
	}
}

// TestWriterGoesOn stops a run at a refusing server and checks that the next
// one pays for nothing twice and writes what an unbroken run writes.
func TestWriterGoesOn(t *testing.T) {
	whole, _, err := write(t, &scribe{}, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &scribe{spoil: func(n int, good string) (int, string) {
		if n == 3 {
			return http.StatusForbidden, "no"
		}
		return http.StatusOK, good
	}}
	if _, _, err := write(t, s, dir, nil); err == nil {
		t.Fatal("no error, want one of the server's refusal")
	}
	if _, err := os.Stat(filepath.Join(dir, "q.jsonl")); err == nil {
		t.Error("an output is left of the broken run")
	}
	again := &scribe{}
	var ticks []llm.Tally
	got, _, err := write(t, again, dir, func(c *Config) { c.Tick = func(far llm.Tally) { ticks = append(ticks, far) } })
	if err != nil {
		t.Fatal(err)
	}
	if len(again.prompts) != 1 {
		t.Errorf("%d requests after two of three batches were there, want 1", len(again.prompts))
	}
	if last := ticks[len(ticks)-1]; last.Done != 1 || last.Total != 1 {
		t.Errorf("told of %v (done, of all) in the end, want 1 of 1: what was paid before costs nothing", last)
	}
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("questions of a run that went on (-unbroken +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "q.journal")); err == nil {
		t.Error("the journal is left")
	}
}

func TestWriterAsksAgainForReplyThatIsNoJSON(t *testing.T) {
	s := &scribe{spoil: func(n int, good string) (int, string) {
		if n%2 == 1 {
			return http.StatusOK, "Here you are: " + good
		}
		return http.StatusOK, good
	}}
	qs, st, err := write(t, s, t.TempDir(), nil)
	if err != nil || len(qs) != 18 || len(s.prompts) != 6 || st.Unread != 0 {
		t.Errorf("%d questions in %d requests, %d unread, %v: want 18 in 6", len(qs), len(s.prompts), st.Unread, err)
	}
	never := &scribe{spoil: func(int, string) (int, string) { return http.StatusOK, "Sorry." }}
	if _, _, err := write(t, never, t.TempDir(), nil); err == nil || llm.Passing(err) {
		t.Errorf("error %v, want one that tells of batches without a reply", err)
	}
	qs, st, err = write(t, never, t.TempDir(), func(c *Config) { c.MaxFailed = 1 })
	if err != nil || len(qs) != 0 || st.Unread != 3 {
		t.Errorf("%d questions, %d unread, %v: want none of 3 batches", len(qs), st.Unread, err)
	}
}

func TestWriterQuotas(t *testing.T) {
	s := &scribe{}
	qs, _, err := write(t, s, t.TempDir(), func(c *Config) { c.PerInbox = 4 })
	if err != nil || len(qs) != 4 || len(s.prompts) != 1 {
		t.Errorf("%d questions in %d requests, %v: want 4 in 1", len(qs), len(s.prompts), err)
	}
	meter := llm.NewMeter(llm.Price{Prompt: 1, Completion: 1}, 1e-9)
	_, _, err = write(t, &scribe{}, t.TempDir(), func(c *Config) { c.Writer.Model = llm.Metered(c.Writer.Model, meter) })
	if !errors.Is(err, llm.ErrBudget) {
		t.Errorf("error %v, want that of the budget", err)
	}
}

// TestRefused lists what a model may write and no record is made of.
func TestRefused(t *testing.T) {
	w := Writer{Model: writerFor(t, &scribe{}).Model}
	c := &Config{Writer: &w, Seed: 1}
	var mails []*mail.Email
	for i := range 3 {
		mails = append(mails, &mail.Email{MessageID: fmt.Sprintf("<%d@x>", i), Owner: ana, Body: "The pump costs $90.", Date: time.Date(2001, 3, 1+i, 9, 0, 0, 0, time.UTC)})
	}
	good := written{Form: Single, Question: "What is the pump?", Answer: "$90", Mails: []int{2}, Quotes: []quote{{2, "The pump costs $90."}}, Kind: "amount", Realism: .5}
	for _, tt := range []struct {
		name, want string
		change     func(*written)
	}{
		{"as it should be", "", func(*written) {}},
		{"no such mail", "a mail that is not in the batch", func(w *written) { w.Mails = []int{4} }},
		{"no mail", "no mail is named", func(w *written) { w.Mails = nil }},
		{"no quote", "no quote", func(w *written) { w.Quotes = nil }},
		{"invented quote", "a quote that does not stand in the mail", func(w *written) { w.Quotes = []quote{{2, "The pump costs $95."}} }},
		{"quote of another mail", "a quote of a mail that it does not name", func(w *written) { w.Quotes = []quote{{1, "The pump costs $90."}} }},
		{"two mails for one", "another number of mails than its form has", func(w *written) { w.Mails = []int{1, 2} }},
		{"one mail for several", "another number of mails than its form has", func(w *written) { w.Form = Several }},
		{"several", "", func(w *written) { w.Form, w.Mails = Several, []int{1, 2} }},
		{"unanswerable with an answer", "unanswerable, yet with an answer", func(w *written) { w.Form = Unanswerable }},
		{"unanswerable", "", func(w *written) { *w = written{Form: Unanswerable, Question: "Who?", Answer: "I don't know."} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := good
			tt.change(&w)
			q, why := c.record(batch{owner: ana, mails: mails}, &w)
			if why != tt.want {
				t.Errorf("refused for %q, want %q", why, tt.want)
			}
			if why == "" && (q.QueryDate <= "2001-03-02" || q.ID == "") {
				t.Errorf("asked on %s, id %q: want later than its last mail", q.QueryDate, q.ID)
			}
		})
	}
}

func TestPromptsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "batch.v1.txt")
	for text, want := range map[string]string{"{{.Owner}} asks": "", "{{.Owner": "batch.v1.txt", "{{.Nobody}}": "Nobody"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := LoadPrompts(dir)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("LoadPrompts with %q: %v, want an error with %q", text, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.render(batchPrompt{Owner: ana}); err != nil || got != ana+" asks" {
			t.Errorf("prompt %q, %v", got, err)
		}
	}
	if _, err := LoadPrompts(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

func TestLocate(t *testing.T) {
	body := "Hi,\n> The pump\n>  costs $90 now. The pump is blue."
	for _, tt := range []struct {
		words, want string
	}{
		{"The pump costs $90", "The pump\n>  costs $90"}, {`"The pump is blue."`, "The pump is blue"}, {"The pump costs $95", ""}, {"", ""}, {"pumpcosts", ""},
	} {
		r, ok := locate(body, tt.words)
		if got := body[r.Start:r.End]; ok != (tt.want != "") || got != tt.want {
			t.Errorf("locate(%q) = %q, %v, want %q", tt.words, got, ok, tt.want)
		}
	}
}
