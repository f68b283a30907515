// Package chat owns the vocabulary of a conversation with a policy: messages,
// tools, tool calls and what a turn cost.
//
// The JSON names are those of the chat-completions protocol, so that records
// can be read by other tools. The package does no input or output.
package chat

import "encoding/json"

// A Role says who speaks.
type Role string

// The roles of the chat-completions protocol.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// A Message is one turn of a conversation as the policy saw or wrote it.
type Message struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// A ToolCall asks the environment to run one tool. Arguments is a JSON object.
type ToolCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// A Tool describes one action that an environment offers. Parameters is a JSON
// schema of its arguments.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// A FinishReason says why a turn ended.
type FinishReason string

// FinishStop is a turn that ended by itself, FinishLength one cut by its own
// token limit, FinishContext one that no longer fits the policy's context.
const (
	FinishStop    FinishReason = "stop"
	FinishLength  FinishReason = "length"
	FinishContext FinishReason = "context"
)

// A Turn is what one assistant turn cost. Seconds and Retries are measured and
// written as 0 under a fixed clock.
type Turn struct {
	PromptTokens     int          `json:"prompt_tokens"`
	CompletionTokens int          `json:"completion_tokens"`
	Cached           int          `json:"cached"`
	FinishReason     FinishReason `json:"finish_reason"`
	Seconds          float64      `json:"seconds"`
	Retries          int          `json:"retries"`
}

// Usage sums the turns of an attempt.
type Usage struct {
	PromptTokens     int     `json:"prompt_tokens"`
	CompletionTokens int     `json:"completion_tokens"`
	CachedTokens     int     `json:"cached_tokens"`
	Turns            int     `json:"turns"`
	Seconds          float64 `json:"seconds"`
	Retries          int     `json:"retries"`
}

// Add counts one more turn.
func (u *Usage) Add(t Turn) {
	u.PromptTokens += t.PromptTokens
	u.CompletionTokens += t.CompletionTokens
	u.CachedTokens += t.Cached
	u.Turns++
	u.Seconds += t.Seconds
	u.Retries += t.Retries
}
