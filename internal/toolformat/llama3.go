package toolformat

import (
	"encoding/json"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// Llama3 is the format of Llama 3.1 and later for tools of one's own: a turn is
// one JSON object, {"name": NAME, "parameters": {…}}, and nothing else.
type Llama3 struct{}

var _ Documenter = Llama3{}

// pythonTag is the control token that these models may begin a call with.
const pythonTag = "<|python_tag|>"

// Name implements Format.
func (Llama3) Name() string { return "llama3" }

// Describe implements Format.
func (Llama3) Describe([]chat.Tool) string { return briefing }

// Document implements Documenter, with the words of Llama 3.1's template.
func (Llama3) Document(tools []chat.Tool) string {
	var b strings.Builder
	b.WriteString("You have access to the following functions. To call a function, please respond with JSON for a function call. " +
		`Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}. Do not use variables.`)
	for _, t := range tools {
		b.WriteString("\n\n" + signature(t))
	}
	return b.String()
}

// Complete implements Format.
func (f Llama3) Complete(text string) bool {
	_, kind := f.Parse(text)
	return kind == ""
}

// Observe implements Format.
func (Llama3) Observe(c chat.ToolCall, content string) chat.Message {
	return chat.Message{Role: chat.ToolRole, Content: content, ToolCallID: c.ID}
}

// Parse implements Format.
func (Llama3) Parse(text string) (chat.ToolCall, string) {
	body, tagged := strings.CutPrefix(strings.TrimSpace(text), pythonTag)
	if body = strings.TrimSpace(body); !strings.HasPrefix(body, "{") {
		if tagged || strings.Contains(body, pythonTag) || strings.Contains(body, jsonMarker) {
			return chat.ToolCall{Arguments: emptyArgs}, traj.ErrUnparsable
		}
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrNoCall
	}
	var c struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if !decodeWhole(body, &c) || c.Type != "" && c.Type != "function" {
		return chat.ToolCall{Name: c.Name, Arguments: emptyArgs}, traj.ErrUnparsable
	}
	return checked(c.Name, c.Parameters)
}

// Render implements Format.
func (Llama3) Render(c chat.ToolCall) string {
	return `{"name": ` + quoteName(c.Name) + `, "parameters": ` + spaced(c.Arguments) + "}"
}
