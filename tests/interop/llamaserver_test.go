package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/llm"
	"agentmill/internal/openai"
	"agentmill/internal/prompted"
	"agentmill/internal/traj"
)

// llamaServer starts llama.cpp's server with the demo model and returns its address.
func llamaServer(t *testing.T) string {
	t.Helper()
	exe, dir := os.Getenv("AGENTMILL_LLAMA_SERVER"), os.Getenv("AGENTMILL_SMOLLM2")
	if exe == "" || dir == "" {
		t.Skip("AGENTMILL_LLAMA_SERVER is not set to llama.cpp's server, or AGENTMILL_SMOLLM2 to a policy folder: make test-server sets both")
	}
	port := freePort(t)
	cmd := exec.Command(exe, "-m", filepath.Join(dir, "model.gguf"), "--host", "127.0.0.1", "--port", strconv.Itoa(port), "-c", "4096", "-np", "2", "--jinja")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(exe))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, ended := context.WithCancelCause(t.Context())
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		ended(fmt.Errorf("it ended: %s", cmd.ProcessState))
		close(gone)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-gone
		if t.Failed() {
			t.Log(log.String())
		}
	})
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	waitFor(ctx, t, url+"/health")
	return url + "/v1"
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// waitFor gives a server two minutes, or until ctx says that it is gone.
func waitFor(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("llama-server does not come up: %v", context.Cause(ctx))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func TestLlamaServer(t *testing.T) {
	c, err := openai.New(openai.Config{BaseURLs: []string{llamaServer(t)}, Model: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("text", func(t *testing.T) { serverTalks(t, c) })
	t.Run("schema", func(t *testing.T) { serverKeepsToASchema(t, c) })
	t.Run("too long", func(t *testing.T) { serverIsTooSmall(t, c) })
	t.Run("cache", func(t *testing.T) { serverIsAskedOnce(t, c) })
	t.Run("rollout", func(t *testing.T) { serverPlays(t, c) })
}

func user(text string) llm.Request {
	return llm.Request{Messages: []chat.Message{{Role: chat.User, Content: text}}, MaxTokens: 12}
}

// serverTalks: greedy, so the same twice, and the second time from the server's
// own cache of the prompt.
func serverTalks(t *testing.T, c llm.Client) {
	r := user("Name a colour.")
	r.LogProbs = true
	first, err := c.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Complete(t.Context(), r)
	if err != nil || again.Text != first.Text || again.Usage.CachedTokens == 0 {
		t.Errorf("again: %+v, %v; first: %+v", again, err, first)
	}
	if n := len(first.LogProbs); n == 0 || n > 12 || len(first.TokenIDs) != n || first.Usage.PromptTokens == 0 || first.LogProbs[0] >= 0 {
		t.Errorf("reply %+v", first)
	}
}

// serverKeepsToASchema: a model this small writes no JSON by itself.
func serverKeepsToASchema(t *testing.T, c llm.Client) {
	r := user("Is the sky blue?")
	r.MaxTokens = 100
	r.Schema = &llm.Schema{Name: "v", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["verdict"],"properties":{"verdict":{"enum":["yes","no"]}}}`)}
	var v struct{ Verdict string }
	if _, err := llm.Ask(t.Context(), c, r, 2, &v, nil); err != nil || v.Verdict == "" {
		t.Errorf("Ask = %v, %+v", err, v)
	}
}

func serverIsTooSmall(t *testing.T, c llm.Client) {
	reply, err := c.Complete(t.Context(), user(strings.Repeat("word ", 4000)))
	if err != nil || reply.Finish != chat.FinishContext {
		t.Errorf("Complete = %+v, %v; want finish %s", reply, err, chat.FinishContext)
	}
}

func serverIsAskedOnce(t *testing.T, c llm.Client) {
	k, err := llm.OpenCache(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	m := llm.NewMeter(llm.Price{}, 0)
	cached := llm.Cached(llm.Metered(c, m), k, m, "")
	r := user("Name an animal.")
	r.Temperature = 1
	for range 3 {
		if _, err := cached.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if st := m.Stats(); st.Requests != 1 || st.FromCache != 2 {
		t.Errorf("three equal requests: %s", st)
	}
}

// serverPlays: the rows are whole, whatever so small a model makes of the game.
func serverPlays(t *testing.T, c llm.Client) {
	for _, format := range []string{"line", "native"} {
		opts := emailtest.Options()
		opts.ToolFormat, opts.MaxTurns = format, 3
		g := &agent.Game{
			Policy: prompted.New(prompted.Config{Client: c, Native: format == "native"}), Env: emailtest.Open(t, opts), Clock: clock.Real(),
			Sampling: traj.Sampling{TopP: 1},
		}
		rows, err := agent.Run(t.Context(), g, &emailtest.Questions()[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		row := rows[0]
		if diff := cmp.Diff((*traj.Failure)(nil), row.Failure); diff != "" || row.Usage.CompletionTokens == 0 || len(row.Calls) != len(row.Turns) {
			t.Errorf("%s: stop %s, usage %+v, %d calls, failure:\n%s", format, row.Stop, row.Usage, len(row.Calls), diff)
		}
		t.Logf("%s: stop %s after %d turns", format, row.Stop, len(row.Turns))
	}
}
