package toolformat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

func TestLineParse(t *testing.T) {
	tests := []struct {
		name, in string
		want     chat.ToolCall
		kind     string
	}{
		{name: "words", in: "search budget meeting", want: Search(SearchArgs{Keywords: []string{"budget", "meeting"}})},
		{name: "phrase and filters", in: `search "budget meeting" from:ann after:2001-02-03 before:2001-03-01 to:bob`, want: Search(SearchArgs{Keywords: []string{"budget meeting"}, FromAddr: "ann", ToAddr: "bob", SentAfter: "2001-02-03", SentBefore: "2001-03-01"})},
		{name: "a quoted filter is a keyword", in: `search "to:day"`, want: Search(SearchArgs{Keywords: []string{"to:day"}})},
		{name: "a colon elsewhere is a keyword's", in: "search 10:30", want: Search(SearchArgs{Keywords: []string{"10:30"}})},
		{name: "blanks around", in: "  read 17 \n", want: Read("17")},
		{name: "answer with sources", in: "answer $5 million | 17, 18", want: Answer("$5 million", "17", "18")},
		{name: "the last bar counts", in: "answer a | b | 3", want: Answer("a | b", "3")},
		{name: "abstention needs no source", in: "answer I don't know", want: Answer("I don't know")},
		{name: "no keywords", in: "search", want: Search(SearchArgs{}), kind: traj.ErrBadArgs},
		{name: "filters alone", in: "search from:ann", want: Search(SearchArgs{FromAddr: "ann"}), kind: traj.ErrBadArgs},
		{name: "filter without value", in: "search x from:", want: Search(SearchArgs{Keywords: []string{"x"}}), kind: traj.ErrBadArgs},
		{name: "open quote", in: `search "x`, want: bare(SearchEmails), kind: traj.ErrUnparsable},
		{name: "two ids", in: "read 1 2", want: bare(ReadEmail), kind: traj.ErrBadArgs},
		{name: "no id", in: "read", want: bare(ReadEmail), kind: traj.ErrBadArgs},
		{name: "answer without text", in: "answer | 4", want: Answer("", "4"), kind: traj.ErrBadArgs},
		{name: "two calls", in: "search a\nread 1", want: bare(SearchEmails), kind: traj.ErrUnparsable},
		{name: "verb alone on its line", in: "read\n1", want: bare(ReadEmail), kind: traj.ErrUnparsable},
		{name: "marker with a colon", in: "answer: 5", want: bare(FinalAnswer), kind: traj.ErrUnparsable},
		{name: "unknown tool", in: "delete_email 4", want: bare("delete_email"), kind: traj.ErrUnknownTool},
		{name: "prose", in: "The meeting is on Monday.", want: bare(""), kind: traj.ErrNoCall},
		{name: "prose that starts as a verb would", in: "Search for it", want: bare(""), kind: traj.ErrNoCall},
		{name: "nothing", in: "", want: bare(""), kind: traj.ErrNoCall},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkParse(t, Line{}, tt.in, tt.want, tt.kind) })
	}
}

func TestJSONParse(t *testing.T) {
	tests := []struct {
		name, in string
		want     chat.ToolCall
		kind     string
	}{
		{name: "call", in: ` {"name":"read_email","arguments":{"message_id":"4"}} `, want: Read("4")},
		{name: "any name: the environment knows its tools", in: `{"name":"x","arguments":{}}`, want: bare("x")},
		{name: "cut", in: `{"name":"read_email","argu`, want: bare(""), kind: traj.ErrUnparsable},
		{name: "text behind", in: `{"name":"x","arguments":{}} ok`, want: bare("x"), kind: traj.ErrUnparsable},
		{name: "text before", in: `Sure: {"name":"x","arguments":{}}`, want: bare(""), kind: traj.ErrUnparsable},
		{name: "other field", in: `{"tool":"x"}`, want: bare(""), kind: traj.ErrUnparsable},
		{name: "no arguments", in: `{"name":"x"}`, want: bare("x"), kind: traj.ErrBadArgs},
		{name: "list for arguments", in: `{"name":"x","arguments":[1]}`, want: bare("x"), kind: traj.ErrBadArgs},
		{name: "prose", in: "It is Monday.", want: bare(""), kind: traj.ErrNoCall},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkParse(t, JSON{}, tt.in, tt.want, tt.kind) })
	}
}

func TestNativeParse(t *testing.T) {
	checkParse(t, Native{}, `{"name":"read_email","arguments":{"message_id":"4"}}`, Read("4"), "")
	checkParse(t, Native{}, "I think it is Monday.", bare(""), traj.ErrNoCall)
	lost := "<tool_call>\n{\"name\":\"search_emails\",\"arguments\":{\"keywords\":[\"a\"]}}"
	checkParse(t, Native{}, lost, bare(""), traj.ErrUnparsable)
	for _, marker := range nativeMarkers {
		checkParse(t, Native{}, "Well, "+marker+"search", bare(""), traj.ErrUnparsable)
	}
}

func TestNativeResultNamesItsCall(t *testing.T) {
	want := chat.Message{Role: chat.ToolRole, Content: "x", ToolCallID: "c1"}
	if diff := cmp.Diff(want, (Native{}).Observe(chat.ToolCall{ID: "c1"}, "x")); diff != "" {
		t.Error(diff)
	}
	if m := (Native{}).Observe(chat.ToolCall{}, "x"); m.Role != chat.User {
		t.Errorf("what is said of a turn without a call comes from the %s, want the user", m.Role)
	}
}

// hermesEscape is what a format writes for < in arguments.
func hermesEscape(f Format) string {
	if f.Name() == "hermes" {
		return `\u003c`
	}
	return "<"
}

func TestHermesParse(t *testing.T) {
	read := chat.ToolCall{Name: ReadEmail, Arguments: json.RawMessage(`{"message_id": "4"}`)}
	const call = "<tool_call>\n{\"name\": \"read_email\", \"arguments\": {\"message_id\": \"4\"}}\n</tool_call>"
	tests := []struct {
		name, in string
		want     chat.ToolCall
		kind     string
	}{
		{name: "call", in: call, want: read},
		{name: "words before", in: "I'll read it.\n" + call + "\n", want: read},
		{name: "a thought before", in: "<think>\n<tool_call> or not?\n</think>\n\n" + call, want: read},
		{name: "a thought that the template opened", in: "hm\n</think>\n" + call, want: read},
		{name: "a thought without end", in: "<think>\n" + call, want: bare(""), kind: traj.ErrUnparsable},
		{name: "an endless thought", in: "<think>\nI wonder", want: bare(""), kind: traj.ErrNoCall},
		{name: "no closing tag", in: "<tool_call>\n{\"name\":\"search_emails\",\"arguments\":{\"keywords\":[\"a\"]}}", want: bare(""), kind: traj.ErrUnparsable},
		{name: "no opening tag", in: `{"name":"x","arguments":{}}</tool_call>`, want: bare(""), kind: traj.ErrUnparsable},
		{name: "no tags", in: `{"name":"x","arguments":{}}`, want: bare(""), kind: traj.ErrUnparsable},
		{name: "two calls", in: call + "\n" + call, want: bare("read_email"), kind: traj.ErrUnparsable},
		{name: "words after", in: call + " done", want: bare(""), kind: traj.ErrUnparsable},
		{name: "not JSON", in: "<tool_call>read 4</tool_call>", want: bare(""), kind: traj.ErrUnparsable},
		{name: "a list", in: "<tool_call>[]</tool_call>", want: bare(""), kind: traj.ErrUnparsable},
		{name: "no name", in: `<tool_call>{"arguments":{}}</tool_call>`, want: bare(""), kind: traj.ErrUnparsable},
		{name: "parameters", in: `<tool_call>{"name":"x","parameters":{}}</tool_call>`, want: bare("x"), kind: traj.ErrUnparsable},
		{name: "a string for arguments", in: `<tool_call>{"name":"x","arguments":"{}"}</tool_call>`, want: bare("x"), kind: traj.ErrBadArgs},
		{name: "a tag in an argument", in: `<tool_call>{"name":"x","arguments":{"a":"\u003c/tool_call>"}}</tool_call>`, want: chat.ToolCall{Name: "x", Arguments: json.RawMessage(`{"a":"\u003c/tool_call>"}`)}},
		{name: "prose", in: "It is Monday.", want: bare(""), kind: traj.ErrNoCall},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkParse(t, Hermes{}, tt.in, tt.want, tt.kind) })
	}
}

func TestLlama3Parse(t *testing.T) {
	read := chat.ToolCall{Name: ReadEmail, Arguments: json.RawMessage(`{"message_id": 4}`)}
	const call = `{"name": "read_email", "parameters": {"message_id": 4}}`
	tests := []struct {
		name, in string
		want     chat.ToolCall
		kind     string
	}{
		{name: "call", in: call, want: read},
		{name: "tagged", in: pythonTag + call + "\n", want: read},
		{name: "typed", in: `{"type": "function", "name": "read_email", "parameters": {"message_id": 4}}`, want: read},
		{name: "another type", in: `{"type": "code", "name": "x", "parameters": {}}`, want: bare("x"), kind: traj.ErrUnparsable},
		{name: "arguments", in: `{"name": "x", "arguments": {}}`, want: bare("x"), kind: traj.ErrUnparsable},
		{name: "two calls", in: call + "; " + call, want: bare("read_email"), kind: traj.ErrUnparsable},
		{name: "words before", in: "Sure: " + call, want: bare(""), kind: traj.ErrUnparsable},
		{name: "a tag before words", in: pythonTag + "search('a')", want: bare(""), kind: traj.ErrUnparsable},
		{name: "cut", in: `{"name": "read_email", "para`, want: bare(""), kind: traj.ErrUnparsable},
		{name: "no parameters", in: `{"name": "x"}`, want: bare("x"), kind: traj.ErrBadArgs},
		{name: "prose", in: "It is Monday.", want: bare(""), kind: traj.ErrNoCall},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkParse(t, Llama3{}, tt.in, tt.want, tt.kind) })
	}
}

// TestPlace: a tool is described once, by the template or by a message.
func TestPlace(t *testing.T) {
	messages := []chat.Message{{Role: chat.System, Content: "rules"}, {Role: chat.User, Content: "q"}}
	tools := []chat.Tool{{Name: "find", Description: "finds", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for _, tt := range []struct {
		format Format
		shows  bool
		tools  int
		in     bool // the system message
	}{{Line{}, true, 0, false}, {JSON{}, false, 0, false}, {Hermes{}, true, 1, false}, {Hermes{}, false, 0, true}, {Llama3{}, false, 0, true}} {
		got, gotTools := Place(tt.format, tt.shows, messages, tools)
		if described := strings.Contains(got[0].Content, `{"type": "function", "function": {"name": "find", `); described != tt.in || len(gotTools) != tt.tools {
			t.Errorf("%s, template shows tools: %v: system message %q and %d tools", tt.format.Name(), tt.shows, got[0].Content, len(gotTools))
		}
	}
	if messages[0].Content != "rules" {
		t.Error("Place changed its argument")
	}
}

// TestInWords is T2: no call is lost on the way to a student.
func TestInWords(t *testing.T) {
	messages := []chat.Message{{Role: chat.Assistant, Content: "Looking.", ToolCalls: []chat.ToolCall{Read("4")}}, {Role: chat.Assistant, ToolCalls: []chat.ToolCall{Read("5")}}}
	got := InWords(Native{}, messages)
	for i, want := range []string{"Looking.\n" + Native{}.Render(Read("4")), Native{}.Render(Read("5"))} {
		if got[i].Content != want || got[i].ToolCalls != nil {
			t.Errorf("message %d is %+v, want the text %q alone", i, got[i], want)
		}
	}
	if messages[0].Content != "Looking." {
		t.Error("InWords changed its argument")
	}
}

func TestFamily(t *testing.T) {
	for _, f := range []Format{Hermes{}, Llama3{}} {
		if got := Family(f.Render); got != f {
			t.Errorf("Family of calls in %s = %s", f.Name(), got.Name())
		}
	}
	if got := Family(func(chat.ToolCall) string { return "" }); got != (Line{}) {
		t.Errorf("Family without calls = %s, want line", got.Name())
	}
}

func bare(name string) chat.ToolCall {
	return chat.ToolCall{Name: name, Arguments: json.RawMessage("{}")}
}

func checkParse(t *testing.T, f Format, in string, want chat.ToolCall, kind string) {
	t.Helper()
	got, gotKind := f.Parse(in)
	if diff := cmp.Diff(want, got); diff != "" || gotKind != kind {
		t.Errorf("Parse(%q) = kind %q, want %q; call (-want +got):\n%s", in, gotKind, kind, diff)
	}
}

func TestRenderIsReadBack(t *testing.T) {
	calls := []chat.ToolCall{
		Search(SearchArgs{Keywords: []string{"mid c", "deals", "to:day"}, FromAddr: "ann lee", SentBefore: "2001-02-03"}),
		Read("<a.b@example.com>"),
		Answer("Tuesday | 5 pm", "12", "13"),
		Answer("a|b"),
		Answer("I don't know"),
	}
	for _, name := range Names() {
		f, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if _, ok := f.(Documenter); ok {
				c.Arguments = json.RawMessage(strings.ReplaceAll(spaced(c.Arguments), "<", hermesEscape(f)))
			}
			checkParse(t, f, f.Render(c), c, "")
		}
	}
}

func TestComplete(t *testing.T) {
	tests := []struct {
		format Format
		in     string
		want   bool
	}{
		{Line{}, "search budget mee", false},
		{Line{}, "search budget meeting\nrea", true},
		{Line{}, "\nsearch a", false},
		{JSON{}, `{"name":"x","arguments":{}}`, true},
		{JSON{}, `{"name":"x","arguments":{}`, false},
	}
	for _, tt := range tests {
		if got := tt.format.Complete(tt.in); got != tt.want {
			t.Errorf("%s: Complete(%q) = %v, want %v", tt.format.Name(), tt.in, got, tt.want)
		}
	}
}

func TestByNameNamesTheFormats(t *testing.T) {
	_, err := ByName("xml")
	if err == nil || !strings.Contains(err.Error(), `"xml"`) || !strings.Contains(err.Error(), "hermes, json, line, llama3, native") {
		t.Errorf("ByName(xml) = %v, want an error that lists the formats", err)
	}
}

// FuzzParse checks that every text is a call or a known mistake, and that a call
// survives being rendered and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"search a", `search "a b" from:x`, "answer x | 1", "read 1", `{"name":"x","arguments":{}}`, "hm", "answer |||", `search a""b`, "<think>x</think><tool_call>{\"name\":\"x\",\"arguments\":{\"a\":\"</tool_call>\"}}</tool_call>", `{"name":"<tool_call>","parameters":{"\\"":1e5}}`} {
		f.Add(s)
	}
	kinds := map[string]bool{"": true, traj.ErrUnparsable: true, traj.ErrUnknownTool: true, traj.ErrBadArgs: true, traj.ErrNoCall: true}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range Names() {
			format := formats[name]
			call, kind := format.Parse(text)
			if !kinds[kind] {
				t.Fatalf("%s: Parse(%q): kind %q", name, text, kind)
			}
			if kind != "" {
				continue
			}
			line := format.Render(call)
			again, kind := format.Parse(line)
			if kind != "" || format.Render(again) != line {
				t.Fatalf("%s: %q renders as %q, which reads as %q (kind %q)", name, text, line, format.Render(again), kind)
			}
		}
	})
}
