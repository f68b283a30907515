package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/chattemplate"
)

// templates are the chat templates that are compared: hand-made ones, those that
// the module jinja ships (Qwen3, Llama 3.2 and many others), and those of the
// published folders in AGENTMILL_TOKENIZERS.
func templates(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ardanlabs/jinja").Output()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, pattern := range []string{
		"../../internal/chattemplate/testdata/*.jinja",
		filepath.Join(strings.TrimSpace(string(out)), "testdata/templates/*.jinja"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return append(paths, publishedTemplates(t)...)
}

// publishedTemplates copies templates out of tokenizer_config.json.
func publishedTemplates(t *testing.T) (paths []string) {
	t.Helper()
	configs, err := filepath.Glob(filepath.Join(os.Getenv("AGENTMILL_TOKENIZERS"), "*", "tokenizer_config.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range configs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Template string `json:"chat_template"`
		}
		if err := json.Unmarshal(data, &c); err != nil || c.Template == "" {
			t.Fatalf("%s: %v, template %q", path, err, c.Template)
		}
		copied := filepath.Join(t.TempDir(), filepath.Base(filepath.Dir(path))+".jinja")
		if err := os.WriteFile(copied, []byte(c.Template), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, copied)
	}
	return paths
}

// differs are templates that the engine cannot render as Jinja does, and why.
var differs = map[string]string{
	"NVIDIA-Nemotron-3-Super":   "(none and whole floats become strings before they are printed)",
	"Qwen3.5-35B-A3B-Q8_0":      "(none becomes a string before it is printed)",
	"Qwen3.6-35B-A3B-UD-Q4_K_M": "(none becomes a string before it is printed)",
}

// A rendered conversation is a line of chats.py.
type rendered struct {
	Template, Name string
	Messages       []struct {
		chat.Message
		ToolCalls []struct{ Function chat.ToolCall } `json:"tool_calls"`
	}
	Tools       []chat.Tool
	Options     map[string]any
	Generate    bool
	Text, Error string
}

// TestTemplatesAgree compares each conversation of chats.py under each template.
func TestTemplatesAgree(t *testing.T) {
	exe := os.Getenv("AGENTMILL_PYTHON")
	if exe == "" {
		t.Skip("AGENTMILL_PYTHON is not set to a Python with transformers: make test-interop sets it")
	}
	cmd := exec.Command(exe, append([]string{"chats.py"}, templates(t)...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chats.py: %v\n%s", err, stderr.Bytes())
	}
	equal, unequal, compiled := map[string]int{}, map[string]int{}, map[string]*chattemplate.Template{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var want rendered
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(want.Template), ".jinja")
		tmpl := compiled[name]
		if tmpl == nil {
			tmpl = compile(t, want.Template)
			compiled[name] = tmpl
		}
		got, err := tmpl.Render(want.input())
		if got == want.Text && (err != nil) == (want.Error != "") {
			equal[name]++
			continue
		}
		unequal[name]++
		if unequal[name] <= 2 && differs[name] == "" {
			t.Errorf("%s, %s, %d tools, %v: %v, want %q (-transformers +ours):\n%s", name, want.Name, len(want.Tools), want.Options, err, want.Error, cmp.Diff(want.Text, got))
		}
	}
	sum := 0
	for name, n := range equal {
		sum += n
		t.Logf("%s: %d equal, %d not %s", name, n, unequal[name], differs[name])
	}
	if sum < 100 {
		t.Errorf("%d conversations are equal, want at least 100", sum)
	}
}

func compile(t *testing.T, path string) *chattemplate.Template {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := chattemplate.Compile(string(source), map[string]string{"bos_token": "<|begin_of_text|>", "eos_token": "<|im_end|>"})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tmpl
}

func (r *rendered) input() chattemplate.Input {
	in := chattemplate.Input{Tools: r.Tools, Generate: r.Generate, Options: map[string]any{"date_string": "26 Jul 2024"}}
	maps.Copy(in.Options, r.Options)
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			m.Message.ToolCalls = append(m.Message.ToolCalls, c.Function)
		}
		in.Messages = append(in.Messages, m.Message)
	}
	return in
}
