package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentmill/internal/cli"
)

// bench is a folder with three attempts, three labels and a price table.
func newBench(t *testing.T) (path func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	path = func(name string) string { return filepath.Join(dir, name) }
	var rows, labels strings.Builder
	for i := range 3 {
		fmt.Fprintf(&rows, `{"schema":1,"id":"r%d","question":{"id":"q%d","question":"Who is %d?","answer":"Ana","answerable":true},"group":"g%d","attempt":0,"answer":{"text":"Ana","sources":[]},"stop":"answered"}`+"\n", i, i, i, i)
		fmt.Fprintf(&labels, `{"id":"l%d","question":"Who is %d?","gold_answers":["Ana"],"candidate":"Ana","human_correct":true}`+"\n", i, i)
	}
	for name, text := range map[string]string{
		"rows.jsonl": rows.String(), "labels.jsonl": labels.String(), "prices.yaml": "date: 2025-06-30\nmodels:\n  m: {prompt: 1000, completion: 1000}\n",
	} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// A model's judging tells what it will cost once a hundredth is done, and what it
// has cost; replies that were kept in case of a stop are gone in the end.
func TestForecast(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"{\"explanation\":\"so\",\"says\":\"right\"}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":1000}}`)
	}))
	defer server.Close()
	path := newBench(t)
	for name, args := range map[string][]string{
		"rows": {path("rows.jsonl"), "--out", path("out.jsonl")}, "labels": {"--calibrate", path("labels.jsonl")},
	} {
		args = append(args, "--judge", "llm", "--base-url", server.URL+"/v1", "--model", "m", "--prices", path("prices.yaml"), "--progress", "never", "--concurrency", "1")
		var talk bytes.Buffer
		if code := cli.Execute(t.Context(), command(), args, strings.NewReader(""), &bytes.Buffer{}, &talk); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", name, code, talk.String())
		}
		for _, want := range []string{"the whole will cost about $6.00", "m: 3 requests sent", "$6.0000"} {
			if !strings.Contains(talk.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, talk.String())
			}
		}
	}
	if left, err := filepath.Glob(path("*out*")); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
