package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"agentmill/internal/chat"
	"agentmill/internal/llm"
	"agentmill/internal/traj"
)

// decode is an answer in our terms.
func decode(resp *openai.ChatCompletionResponse, raw []byte, r *llm.Request) (llm.Reply, *fault) {
	if len(resp.Choices) == 0 {
		return llm.Reply{}, noChoice(raw)
	}
	c := &resp.Choices[0]
	reply := llm.Reply{Text: c.Message.Content, ToolCalls: calls(&c.Message), Served: resp.Model, Usage: usage(&resp.Usage)}
	if reply.Text == "" {
		reply.Text = c.Message.Refusal
	}
	switch c.FinishReason {
	case openai.FinishReasonLength:
		reply.Finish = chat.FinishLength
	case openai.FinishReasonContentFilter:
		return reply, &fault{kind: llm.KindFiltered, err: errors.New("the server's content filter withheld the reply")}
	default: // servers have many words for a turn that ended by itself
		reply.Finish = chat.FinishStop
	}
	beyond(&reply, c, raw, r)
	return reply, nil
}

// noChoice tells an answer that reports an error under status 200 from an empty one.
func noChoice(raw []byte) *fault {
	var body struct {
		Error *struct {
			Message string
			Code    any
		}
	}
	if json.Unmarshal(raw, &body) == nil && body.Error != nil {
		return &fault{kind: traj.KindServer, passing: true, err: fmt.Errorf("the server reports: %s (code %v)", body.Error.Message, body.Error.Code)}
	}
	return &fault{kind: llm.KindProtocol, passing: true, err: errors.New("the server's reply has no choice")}
}

func usage(u *openai.Usage) llm.Usage {
	out := llm.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens}
	if d := u.PromptTokensDetails; d != nil {
		out.CachedTokens = d.CachedTokens
	}
	if d := u.CompletionTokensDetails; d != nil {
		out.ReasoningTokens = d.ReasoningTokens
	}
	return out
}

// calls are the tool calls of a message, each once: some servers repeat them.
func calls(m *openai.ChatCompletionMessage) []chat.ToolCall {
	var out []chat.ToolCall
	for _, c := range m.ToolCalls {
		if c.ID != "" && slices.ContainsFunc(out, func(x chat.ToolCall) bool { return x.ID == c.ID }) {
			continue
		}
		out = append(out, chat.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: arguments(c.Function.Arguments)})
	}
	if f := m.FunctionCall; f != nil && len(out) == 0 {
		out = append(out, chat.ToolCall{Name: f.Name, Arguments: arguments(f.Arguments)})
	}
	return out
}

// arguments is text as one JSON value: what is none stands as a string.
func arguments(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return quoted
}

// beyond takes from the raw body what the library has no field for. Token ids
// and log-probs are taken together or not at all.
func beyond(reply *llm.Reply, c *openai.ChatCompletionChoice, raw []byte, r *llm.Request) {
	var body struct {
		PromptTokenIDs []int32 `json:"prompt_token_ids"`
		Choices        []struct {
			TokenIDs []int32 `json:"token_ids"`
			LogProbs struct {
				Content []struct{ ID *int32 } // llama.cpp's
			}
		}
		Usage struct {
			CacheHit int `json:"prompt_cache_hit_tokens"`
		}
	}
	if json.Unmarshal(raw, &body) != nil || len(body.Choices) == 0 {
		return
	}
	if reply.Usage.CachedTokens == 0 {
		reply.Usage.CachedTokens = body.Usage.CacheHit
	}
	if !r.LogProbs || c.LogProbs == nil {
		return
	}
	for _, p := range c.LogProbs.Content {
		reply.LogProbs = append(reply.LogProbs, float32(p.LogProb))
	}
	ids := body.Choices[0].TokenIDs
	for _, p := range body.Choices[0].LogProbs.Content {
		if p.ID != nil && len(body.Choices[0].TokenIDs) == 0 {
			ids = append(ids, *p.ID)
		}
	}
	if len(ids) > 0 && len(ids) == len(reply.LogProbs) {
		reply.TokenIDs, reply.PromptTokenIDs = ids, body.PromptTokenIDs
	}
}
