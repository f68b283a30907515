package toolformat

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// JSON is one call a turn as a JSON object, {"name": …, "arguments": {…}}, and
// nothing else.
type JSON struct{}

// jsonMarker is how a call begins; prose does not have it.
const jsonMarker = `{"name"`

// Name implements Format.
func (JSON) Name() string { return "json" }

// Describe implements Format. It lists the tools with their schemas.
func (JSON) Describe(tools []chat.Tool) string {
	var b strings.Builder
	b.WriteString(`Each turn is one JSON object and nothing else: {"name": TOOL, "arguments": {...}}. Tools:`)
	for _, t := range tools {
		b.WriteString("\n")
		b.Write(compact(t))
	}
	b.WriteString("\nIf it cannot be found, answer \"I don't know\" with no sources.")
	return b.String()
}

// Complete implements Format.
func (f JSON) Complete(text string) bool {
	_, kind := f.Parse(text)
	return kind == ""
}

// Observe implements Format.
func (JSON) Observe(_ chat.ToolCall, content string) chat.Message {
	return chat.Message{Role: chat.User, Content: content}
}

// Parse implements Format. Which tools there are is the environment's to say.
func (JSON) Parse(text string) (chat.ToolCall, string) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		if strings.Contains(text, jsonMarker) {
			return chat.ToolCall{Arguments: emptyArgs}, traj.ErrUnparsable
		}
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrNoCall
	}
	var c struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if !decodeWhole(text, &c) {
		return chat.ToolCall{Name: c.Name, Arguments: emptyArgs}, traj.ErrUnparsable
	}
	return checked(c.Name, c.Arguments)
}

// checked is a call whose JSON could be read.
func checked(name string, args json.RawMessage) (chat.ToolCall, string) {
	if name == "" {
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrUnparsable
	}
	if args = bytes.TrimSpace(args); len(args) == 0 || args[0] != '{' {
		return chat.ToolCall{Name: name, Arguments: emptyArgs}, traj.ErrBadArgs
	}
	return chat.ToolCall{Name: name, Arguments: args}, ""
}

// decodeWhole reads text as exactly one value of known fields.
func decodeWhole(text string, v any) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if dec.Decode(v) != nil {
		return false
	}
	_, err := dec.Token()
	return err == io.EOF
}

// Render implements Format.
func (JSON) Render(c chat.ToolCall) string {
	return string(compact(struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{c.Name, c.Arguments}))
}
