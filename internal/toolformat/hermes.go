package toolformat

import (
	"encoding/json"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// Hermes is the format of Hermes and of Qwen since 2.5: a JSON object between
// two tags, after a thought or some words if the model likes.
//
//	<tool_call>
//	{"name": NAME, "arguments": {…}}
//	</tool_call>
//
// One call a turn, and nothing after it.
type Hermes struct{}

const (
	hermesOpen  = "<tool_call>"
	hermesClose = "</tool_call>"
)

var _ Documenter = Hermes{}

// Name implements Format.
func (Hermes) Name() string { return "hermes" }

// Describe implements Format.
func (Hermes) Describe([]chat.Tool) string { return briefing }

// Document implements Documenter, with the words of Qwen's template.
func (Hermes) Document(tools []chat.Tool) string {
	var b strings.Builder
	b.WriteString("# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>")
	for _, t := range tools {
		b.WriteString("\n" + signature(t))
	}
	b.WriteString("\n</tools>\n\nFor each function call, return a json object with function name and arguments within " +
		"<tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>")
	return b.String()
}

// Complete implements Format.
func (f Hermes) Complete(text string) bool {
	_, kind := f.Parse(text)
	return kind == ""
}

// Observe implements Format.
func (Hermes) Observe(c chat.ToolCall, content string) chat.Message {
	return chat.Message{Role: chat.ToolRole, Content: content, ToolCallID: c.ID}
}

// Parse implements Format.
func (Hermes) Parse(text string) (chat.ToolCall, string) {
	text, thinking := afterThought(text)
	_, body, opened := strings.Cut(text, hermesOpen)
	switch {
	case !opened && (strings.Contains(text, hermesClose) || strings.Contains(text, jsonMarker)):
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrUnparsable
	case !opened:
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrNoCall
	case thinking: // a thought without end: nobody knows whether this is a call
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrUnparsable
	}
	body, closed := strings.CutSuffix(strings.TrimSpace(body), hermesClose)
	if !closed {
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrUnparsable
	}
	var c struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if !decodeWhole(body, &c) {
		return chat.ToolCall{Name: c.Name, Arguments: emptyArgs}, traj.ErrUnparsable
	}
	return checked(c.Name, c.Arguments)
}

// afterThought is text without the thought that it begins with. Some templates
// open the thought themselves, so that only its end is written. A thought without
// an end is left, and told.
func afterThought(text string) (rest string, thinking bool) {
	if _, after, ended := strings.Cut(text, "</think>"); ended {
		return after, false
	}
	return text, strings.HasPrefix(strings.TrimSpace(text), "<think>")
}

// Render implements Format.
func (Hermes) Render(c chat.ToolCall) string {
	// A tag in an argument would be taken for the call's own.
	args := strings.ReplaceAll(spaced(c.Arguments), "<", `\u003c`)
	return hermesOpen + "\n{\"name\": " + quoteName(c.Name) + ", \"arguments\": " + args + "}\n" + hermesClose
}
