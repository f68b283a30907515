package toolformat

import (
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// Native is the structured tool calls of a chat-completions server: the tools go
// beside the conversation, and calls come back beside the text. What a policy
// writes as text is read as JSON writes it, since some servers hand on calls
// that they could not read as text.
type Native struct{ JSON }

// Name implements Format.
func (Native) Name() string { return "native" }

// Describe implements Format. The tools are not listed: the server shows them.
func (Native) Describe([]chat.Tool) string {
	return `Each turn calls one tool. If it cannot be found, answer "I don't know" with no sources.`
}

// nativeMarkers begin a call in the templates of models.
var nativeMarkers = []string{"<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>"}

// Parse implements Format: a call that the server did not recognise is one that
// cannot be read, not prose.
func (f Native) Parse(text string) (chat.ToolCall, string) {
	c, kind := f.JSON.Parse(text)
	for _, m := range nativeMarkers {
		if kind == traj.ErrNoCall && strings.Contains(text, m) {
			return c, traj.ErrUnparsable
		}
	}
	return c, kind
}

// Observe implements Format. A turn without a call is answered by the user.
func (Native) Observe(c chat.ToolCall, content string) chat.Message {
	if c.ID == "" {
		return chat.Message{Role: chat.User, Content: content}
	}
	return chat.Message{Role: chat.ToolRole, Content: content, ToolCallID: c.ID}
}
