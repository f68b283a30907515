// Package llm owns the contract with a language model behind a server: what is
// asked, what comes back, what it cost, and what is kept of it.
//
// Most callers want a Client, which package catalog opens from flags, and Ask,
// which completes a request until the reply is the JSON that was asked for.
// Cached keeps replies on disk, so that asking again is free and works offline;
// Metered counts what is spent and stops at a budget. A reply that is paid for
// is never thrown away: L1. An answer that cannot be read is no answer, never
// an empty one: L2.
//
// The package does not talk to servers; package openai does.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// A Client asks one model. It is safe for concurrent use.
type Client interface {
	// Model is the model's name, for records.
	Model() string
	// Complete asks once. What may pass by itself was tried again before it
	// fails; failures are an *Error, ErrBudget, ErrNotCached, or the end of ctx (Ended).
	Complete(ctx context.Context, r Request) (Reply, error)
}

// A Request is a conversation to be continued by one turn. Equal requests have
// equal replies: Sample and Try tell those apart that are to be drawn anew.
type Request struct {
	Messages    []chat.Message `json:"messages"`
	Tools       []chat.Tool    `json:"tools,omitempty"`
	ToolChoice  string         `json:"tool_choice,omitempty"` // "", auto, none, required, or the name of a tool
	Schema      *Schema        `json:"schema,omitempty"`      // what the reply must be; nil is text
	MaxTokens   int            `json:"max_tokens,omitempty"`  // 0: the server's limit
	Temperature float64        `json:"temperature"`
	TopP        float64        `json:"top_p,omitempty"` // 0: 1
	TopK        int            `json:"top_k,omitempty"` // 0: all
	Seed        uint64         `json:"seed"`
	Sample      int            `json:"sample"`             // number of this sample of an otherwise equal request
	Try         int            `json:"try,omitempty"`      // number of this try, after replies that could not be read
	LogProbs    bool           `json:"logprobs,omitempty"` // also ask for log-probs and token ids
}

// A Schema is a JSON schema with a name of letters, digits, _ and -.
type Schema struct {
	Name string          `json:"name"`
	JSON json.RawMessage `json:"schema"`
}

// A Reply is what a model said.
type Reply struct {
	Text      string            `json:"text"`
	ToolCalls []chat.ToolCall   `json:"tool_calls,omitempty"` // Arguments that are no JSON stand as a JSON string
	Finish    chat.FinishReason `json:"finish"`               // context: the conversation is too long, and there is no text
	Usage     Usage             `json:"usage"`
	Served    string            `json:"served,omitempty"` // the model as the server names it
	USD       float64           `json:"-"`                // what Usage costs, also where FromCache says that it was paid before
	Retries   int               `json:"-"`
	FromCache bool              `json:"-"`

	// Where the server offers them and they were asked for.
	PromptTokenIDs []int32   `json:"prompt_token_ids,omitempty"`
	TokenIDs       []int32   `json:"token_ids,omitempty"`
	LogProbs       []float32 `json:"logprobs,omitempty"`
}

// Usage is tokens as the server counts them. Cached ones are among the prompt's,
// those of reasoning among the completion's.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	CachedTokens     int `json:"cached_tokens,omitempty"`
	ReasoningTokens  int `json:"reasoning_tokens,omitempty"`
}

// Add counts another reply's tokens.
func (u *Usage) Add(v Usage) {
	u.PromptTokens += v.PromptTokens
	u.CompletionTokens += v.CompletionTokens
	u.CachedTokens += v.CachedTokens
	u.ReasoningTokens += v.ReasoningTokens
}

// What Complete can fail with beside an *Error; test with errors.Is.
var (
	// ErrBudget: the next request could cost more than is left. Nothing is
	// under way any more, and no later request is sent.
	ErrBudget = errors.New("the budget is used up")
	// ErrNotCached: only the cache may answer, and it does not hold the reply.
	ErrNotCached = errors.New("the cache does not hold the reply")
)

// Kinds of an Error that will not pass by themselves, beside those of traj that may.
const (
	KindRefused  = "refused"  // the server will not answer this request
	KindQuota    = "quota"    // the account is used up
	KindFiltered = "filtered" // the server's content filter
	KindProtocol = "protocol" // what came back is no reply
)

// An Error is a request that got no reply.
type Error struct {
	Kind   string // one of the Kind constants here or in traj
	Status int    // of HTTP, 0 where there was none
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Passing reports whether the same request may succeed later.
func (e *Error) Passing() bool {
	return (&traj.Failure{Boundary: "provider", Kind: e.Kind}).Passing()
}

// Ended is why a request was given up when ctx had ended: past its deadline the
// server was too slow, else somebody wants to stop.
func Ended(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Kind: traj.KindTimeout, Err: fmt.Errorf("no reply before the deadline: %w", err)}
	}
	return err
}

// Passing reports whether err is a server that could not be reached or was
// busy to the end: a reason to try again later.
func Passing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Passing()
}
