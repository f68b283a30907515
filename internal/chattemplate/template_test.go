package chattemplate

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
)

// A rendered conversation comes from transformers: tools/golden/chattemplate.py.
type rendered struct {
	Template, Name string
	Messages       []message
	Tools          []chat.Tool
	Options        map[string]any
	Generate       bool
	Text, Error    string
}

// message is a message in the chat-completions protocol.
type message struct {
	chat.Message
	ToolCalls []struct{ Function chat.ToolCall } `json:"tool_calls"`
}

func (r *rendered) input() Input {
	in := Input{Tools: r.Tools, Generate: r.Generate, Options: map[string]any{"date_string": "26 Jul 2024"}}
	maps.Copy(in.Options, r.Options)
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			m.Message.ToolCalls = append(m.Message.ToolCalls, c.Function)
		}
		in.Messages = append(in.Messages, m.Message)
	}
	return in
}

func source(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var tokens = map[string]string{"bos_token": "<|begin_of_text|>", "eos_token": "<|im_end|>"}

func template(t testing.TB, name string) *Template {
	t.Helper()
	tmpl, err := Compile(source(t, name), tokens)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func TestRendersAsTransformersDoes(t *testing.T) {
	f, err := os.Open("testdata/rendered.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	templates := map[string]*Template{}
	for _, name := range []string{"tags", "headers"} {
		templates[name+".jinja"] = template(t, name)
	}
	n := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); n++ {
		var want rendered
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got, err := templates[want.Template].Render(want.input())
		if (err != nil) != (want.Error != "") || err != nil && !strings.Contains(err.Error(), want.Error) {
			t.Errorf("%s, %s: error %v, want %q", want.Template, want.Name, err, want.Error)
		}
		if d := cmp.Diff(want.Text, got); d != "" {
			t.Errorf("%s, %s, %d tools, %v (-transformers +ours):\n%s", want.Template, want.Name, len(want.Tools), want.Options, d)
		}
	}
	if n < 100 {
		t.Errorf("%d conversations, want at least 100", n)
	}
}

func TestTemplatesAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"not Jinja", "{% if %}", "chat template: "},
		{"an open tag", "{{ messages", "chat template: "},
		{"too long", strings.Repeat(" ", maxSource+1), "262145 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Compile(tt.source, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Compile = %v, want an error with %q", err, tt.want)
			}
		})
	}
	for _, tt := range []struct{ name, source, want string }{
		{"by themselves", "{{ raise_exception('roles must alternate') }}", "roles must alternate"},
		{"with an unknown function", "{{ nosuch(1) }}", "nosuch"},
		{"with what JSON has not", "{{ nothing | tojson }}", "cannot be written as JSON"},
		{"that calls itself without end", "{% macro m(x) %}\n{{ m(x + 1) }}{% endmacro %}{{ m(0) }}", "macros are called more than 10000 times"},
		{"two that call each other", "{%- macro a() -%} {{ b() }} {%- endmacro -%}{%- macro b() -%} {{ a() }} {%- endmacro -%} {{ a() }}", "macros are called more than 10000 times"},
		{"with a wrong format", "{{ strftime_now(1) }}", "strftime_now wants a format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, err := Compile(tt.source, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tmpl.Render(Input{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Render = %v, want an error with %q", err, tt.want)
			}
		})
	}
	tmpl, err := Compile("{% for t in tools %}{{ t }}{% endfor %}", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tmpl.Render(Input{Tools: []chat.Tool{{Name: "find", Parameters: []byte(`{`)}}}); err == nil || !strings.Contains(err.Error(), "tool find") {
		t.Errorf("a broken schema: %v, want an error that names the tool", err)
	}
}

// TestNoTemplateSeesTheClock is J2.
func TestNoTemplateSeesTheClock(t *testing.T) {
	tmpl, err := Compile("{{ strftime_now('%A, %d %B %Y %H:%M:%S %%') }}", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tmpl.Render(Input{})
	if want := "Friday, 26 July 2024 00:00:00 %"; got != want || err != nil {
		t.Errorf("strftime_now gives %q, %v; want %q", got, err, want)
	}
}

func TestJSON(t *testing.T) {
	const value = `{"b":[1,2.0,1e-5,1e16,123456789.5,-0.0,true,null,[],{}],"a":"\u00e9\u2028<&>\"\\\n\u0001\u007f\ud83d\ude00"}`
	for _, tt := range []struct{ filter, want string }{
		{"tojson", "{\"b\": [1, 2.0, 1e-05, 1e+16, 123456789.5, -0.0, true, null, [], {}], \"a\": \"é\u2028<&>\\\"\\\\\\n\\u0001\u007f😀\"}"},
		{"tojson(ensure_ascii=true)", `{"b": [1, 2.0, 1e-05, 1e+16, 123456789.5, -0.0, true, null, [], {}], "a": "\u00e9\u2028<&>\"\\\n\u0001\u007f\ud83d\ude00"}`},
		{"tojson(separators=(',', ':'), sort_keys=true)", "{\"a\":\"é\u2028<&>\\\"\\\\\\n\\u0001\u007f😀\",\"b\":[1,2.0,1e-05,1e+16,123456789.5,-0.0,true,null,[],{}]}"},
		{"tojson(indent=1)", "{\n \"b\": [\n  1,\n  2.0,\n  1e-05,\n  1e+16,\n  123456789.5,\n  -0.0,\n  true,\n  null,\n  [],\n  {}\n ],\n \"a\": \"é\u2028<&>\\\"\\\\\\n\\u0001\u007f😀\"\n}"},
	} {
		tmpl, err := Compile("{{ messages[0].tool_calls[0].function.arguments | "+tt.filter+" }}", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render(Input{Messages: []chat.Message{{ToolCalls: []chat.ToolCall{{Name: "x", Arguments: []byte(value)}}}}})
		if err != nil || got != tt.want {
			t.Errorf("%s, %v:\n got %s\nwant %s", tt.filter, err, got, tt.want)
		}
	}
}
