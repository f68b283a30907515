package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/cli"
	"agentmill/internal/dataset"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// A server plays as models by name: line writes its calls, native makes
// structured ones; the others are out of order.
type server struct {
	*httptest.Server
	requests atomic.Int64
	faulty   atomic.Bool // every third request goes wrong
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

var played = map[string][3]string{
	"line":   {`"content":"search Larkspur"`, `"content":"read 1"`, `"content":"answer Thursday | 1"`},
	"native": {call("search_emails", `{"keywords":["Larkspur"]}`), call("read_email", `{"message_id":1}`), call("return_final_answer", `{"answer":"Thursday","sources":[1]}`)},
}

func call(name, args string) string {
	return fmt.Sprintf(`"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":%q}}]`, name, args)
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if n := s.requests.Add(1); s.faulty.Load() && n%3 == 0 {
		fmt.Fprint(w, `{"choices":[{"mess`[:n%17])
		return
	}
	var body struct {
		Model    string
		Messages []chat.Message
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	turn := 0
	for _, m := range body.Messages {
		if m.Role == chat.Assistant {
			turn++
		}
	}
	turns, ok := played[body.Model]
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant",%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}`, turns[min(turn, 2)])
}

// bench is a folder with an index, six questions and a price table.
type bench struct {
	dir  string
	args []string
}

func newBench(t *testing.T) bench {
	t.Helper()
	dir := t.TempDir()
	w, err := dataset.Create[question.Question](filepath.Join(dir, "q.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		q := emailtest.Questions()[0]
		q.ID = fmt.Sprint("q", i)
		if err := w.Write(&q); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	b := bench{dir: dir}
	b.write(t, "prices.yaml", "date: 2025-06-30\nmodels:\n  line: {prompt: 100, completion: 1000}\n  native: {prompt: 1}\n")
	b.args = []string{b.path("q.jsonl"), "--index", emailtest.Index(t), "--clock", "fixed", "--progress", "never", "--turn-tokens", "100"}
	return b
}

func (b bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b bench) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run expects an exit code and returns standard error.
func (b bench) run(t *testing.T, code int, args ...string) string {
	t.Helper()
	var talk bytes.Buffer
	got := cli.Execute(t.Context(), command(), append(slices.Clip(b.args), args...), strings.NewReader(""), &bytes.Buffer{}, &talk)
	if got != code {
		t.Fatalf("exit code %d, want %d:\n%s", got, code, talk.String())
	}
	return talk.String()
}

func (b bench) rows(t *testing.T, name string) (rows []traj.Trajectory, raw string) {
	t.Helper()
	rows, _, err := dataset.ReadAll[traj.Trajectory](t.Context(), dataset.Source{Paths: []string{b.path(name)}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return rows, string(data)
}

func at(s *server, model string, more ...string) []string {
	return append([]string{"--base-url", s.URL + "/v1", "--model", model}, more...)
}

func TestServerIsPlayed(t *testing.T) {
	b, s := newBench(t), serve(t)
	for _, model := range []string{"line", "native"} {
		out := model + map[string]string{"line": ".jsonl", "native": ".parquet"}[model]
		b.run(t, 0, at(s, model, "--tool-format", model, "--out", b.path(out), "--prices", b.path("prices.yaml"))...)
		rows, _ := b.rows(t, out)
		for _, r := range rows {
			if r.Stop != traj.Answered || r.Answer.Text != "Thursday" || len(r.Calls) != 3 || r.Policy.Name != model || r.Cost.USD == 0 {
				t.Errorf("%s: stop %s, answer %+v, %d calls, cost %+v", model, r.Stop, r.Answer, len(r.Calls), r.Cost)
			}
		}
		if left, _ := filepath.Glob(b.path(out + ".*")); len(rows) != 6 || len(left) > 0 {
			t.Errorf("%s: %d rows; beside them lie %v", model, len(rows), left)
		}
	}
}

// TestFaultsLeaveNoTrace: rows are those of a server without faults, each once.
func TestFaultsLeaveNoTrace(t *testing.T) {
	b, s := newBench(t), serve(t)
	b.run(t, 0, at(s, "line", "--out", b.path("good.jsonl"), "--attempts", "2")...)
	s.faulty.Store(true)
	talk := b.run(t, 0, at(s, "line", "--out", b.path("bad.jsonl"), "--attempts", "2")...)
	if !strings.Contains(talk, "36 requests sent, 1") || !strings.Contains(talk, "retries;") {
		t.Errorf("a third of 36 requests should have gone wrong:\n%s", talk)
	}
	_, want := b.rows(t, "good.jsonl")
	_, got := b.rows(t, "bad.jsonl")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-good +bad):\n%s", diff)
	}
}

// TestCacheMakesTheSecondRunFree: offline, and with the same bytes.
func TestCacheMakesTheSecondRunFree(t *testing.T) {
	b, s := newBench(t), serve(t)
	cache := []string{"--cache", b.path("cache"), "--prices", b.path("prices.yaml")}
	b.run(t, 0, append(at(s, "line", "--out", b.path("1.jsonl")), cache...)...)
	sent := s.requests.Load()
	s.Close()
	talk := b.run(t, 0, append(cache, "--model", "line", "--cache-only", "--out", b.path("2.jsonl"))...)
	if !strings.Contains(talk, "0 requests sent, 18 found in the cache") || sent != 18 || s.requests.Load() != 18 {
		t.Errorf("%d requests in the first run; the second says:\n%s", sent, talk)
	}
	_, first := b.rows(t, "1.jsonl")
	_, second := b.rows(t, "2.jsonl")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("rows (-first +second):\n%s", diff)
	}
	talk = b.run(t, 1, append(cache, "--model", "line", "--cache-only", "--seed", "9", "--out", b.path("3.jsonl"))...)
	if !strings.Contains(talk, "the cache does not hold the reply") {
		t.Error(talk)
	}
}

// TestBudgetStopsAndGoesOn: a turn costs $.20, an attempt $.60, and nothing that
// was paid is paid again.
func TestBudgetStopsAndGoesOn(t *testing.T) {
	b, s := newBench(t), serve(t)
	b.run(t, 0, at(s, "line", "--out", b.path("whole.jsonl"), "--prices", b.path("prices.yaml"))...)
	s.requests.Store(0)
	budget := at(s, "line", "--out", b.path("out.jsonl"), "--prices", b.path("prices.yaml"), "--budget", "1.3", "--concurrency", "2")
	runs, told := 0, false
	for {
		runs++
		if runs > 9 {
			t.Fatal("the run does not come to an end")
		}
		var talk bytes.Buffer
		code := cli.Execute(t.Context(), command(), append(slices.Clip(b.args), budget...), strings.NewReader(""), &bytes.Buffer{}, &talk)
		if code == 0 {
			break
		}
		if code != 5 || !strings.Contains(talk.String(), "the budget is used up") {
			t.Fatalf("exit code %d, want 5:\n%s", code, talk.String())
		}
		// Two attempts at a time may end a run before one is done.
		told = told || strings.Contains(talk.String(), "more than the budget of $1.3")
	}
	if !told {
		t.Error("no run forecast that the whole costs more than the budget")
	}
	if runs < 3 || s.requests.Load() != 18 {
		t.Errorf("%d runs sent %d requests; want several, and each request paid once", runs, s.requests.Load())
	}
	_, want := b.rows(t, "whole.jsonl")
	_, got := b.rows(t, "out.jsonl")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-unbroken +stopped):\n%s", diff)
	}
}

func TestServerThatIsDown(t *testing.T) {
	b, s := newBench(t), serve(t)
	b.run(t, 75, at(s, "down", "--out", b.path("out.jsonl"), "--deadline", "50ms")...)
	s.Close()
	b.run(t, 75, at(s, "line", "--out", b.path("out.jsonl"), "--deadline", "50ms")...)
}

func TestPromptFiles(t *testing.T) {
	b, s := newBench(t), serve(t)
	b.write(t, "system.txt", "Be brief. {{.Default}}")
	b.write(t, "examples.jsonl", `{"messages":[{"role":"user","content":"Q?"},{"role":"assistant","content":"answer A | 1"}]}`)
	files := []string{"--system-prompt", b.path("system.txt"), "--examples", b.path("examples.jsonl")}
	b.run(t, 0, append(at(s, "line", "--out", b.path("out.jsonl"), "--limit", "1"), files...)...)
	rows, _ := b.rows(t, "out.jsonl")
	if m := rows[0].Messages; !strings.HasPrefix(m[0].Content, "Be brief. You answer") || m[1].Content != "Q?" || m[2].Content != "answer A | 1" {
		t.Errorf("the row begins with %+v", m[:3])
	}
	b.run(t, 0, append([]string{"--policy", "heuristic", "--out", b.path("h.jsonl"), "--limit", "1"}, files...)...)
	if rows, _ := b.rows(t, "h.jsonl"); !strings.HasPrefix(rows[0].Messages[0].Content, "Be brief.") {
		t.Errorf("another policy's row begins with %+v", rows[0].Messages[0])
	}
}

func TestServerUsage(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--model", "m"}, "--model m: --base-url is missing"},
		{[]string{"--model", "m", "--cache-only"}, "--cache-only: --cache is missing"},
		{[]string{"--model", "m", "--base-url", "http://x/v1", "--budget", "1"}, "--budget: --prices is missing"},
		{[]string{"--model", "m", "--base-url", "http://x/v1", "--budget", "0"}, "--budget 0: want more than 0"},
		{[]string{"--model", "m", "--base-url", "http://x/v1", "--prices", b.path("prices.yaml")}, `has no price of model "m"`},
		{[]string{"--model", "m", "--base-url", "http://x/v1", "--timeout", "0s"}, "--timeout 0s: want more than 0"},
		{[]string{"--model", "m", "--base-url", "http://x/v1", "--rpm", "-1"}, "--rpm -1: want 0 or more"},
		{[]string{"--model", "m", "--base-url", "http://x/v1", "--policy", "expert"}, "--policy expert and --base-url: want one of them"},
	} {
		if talk := b.run(t, 2, tt.args...); !strings.Contains(talk, tt.want) {
			t.Errorf("%v says %q, want %q", tt.args, talk, tt.want)
		}
	}
}
