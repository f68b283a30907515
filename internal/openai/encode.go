package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"agentmill/internal/chat"
	"agentmill/internal/llm"
	"agentmill/internal/seed"
)

// Names of fields that some servers do not know; those they refuse are left out.
const (
	fieldMaxTokens           = "max_tokens" // older name, which most servers know
	fieldMaxCompletionTokens = "max_completion_tokens"
	fieldTemperature         = "temperature"
	fieldTopP                = "top_p"
	fieldTopK                = "top_k"
	fieldSeed                = "seed"
	fieldEffort              = "reasoning_effort"
	fieldFormat              = "response_format"
	fieldToolChoice          = "tool_choice"
	fieldLogProbs            = "logprobs"
	fieldTokenIDs            = "return_token_ids"
)

// reasons matches the names of models that take no sampling parameters and
// count their reasoning among the completion.
var reasons = regexp.MustCompile(`^(?:.*/)?(?:o[1-9]|gpt-[5-9])`)

// encode is r in the protocol's terms, without what the server lacks. The extra
// fields are those that the library does not have.
func (ep *endpoint) encode(r *llm.Request, l lack) (openai.ChatCompletionRequest, map[string]any) {
	body := openai.ChatCompletionRequest{Model: ep.cfg.Model, Messages: messages(r.Messages), Tools: tools(r.Tools)}
	if l.knows(fieldEffort) {
		body.ReasoningEffort = ep.cfg.Effort
	}
	reasoning := reasons.MatchString(ep.cfg.Model)
	if reasoning || !l.knows(fieldMaxTokens) {
		body.MaxCompletionTokens = r.MaxTokens
	} else {
		body.MaxTokens = r.MaxTokens //nolint:staticcheck // most servers know no other name
	}
	if l.knows(fieldSeed) {
		n := int(seed.Derive(r.Seed, "sample", r.Sample, r.Try) >> 33) // 31 bits, which every server takes
		body.Seed = &n
	}
	if len(r.Tools) > 0 && r.ToolChoice != "" && l.knows(fieldToolChoice) {
		body.ToolChoice = toolChoice(r.ToolChoice)
	}
	shape(&body, r.Schema, l)
	extra := map[string]any{}
	if !reasoning {
		sampling(&body, extra, r, l)
	}
	return body, extra
}

// sampling sets the distribution that is drawn from.
func sampling(body *openai.ChatCompletionRequest, extra map[string]any, r *llm.Request, l lack) {
	if l.knows(fieldTemperature) {
		// The library leaves a plain 0 out, and servers then take 1.
		body.Temperature = max(float32(r.Temperature), math.SmallestNonzeroFloat32)
	}
	if r.TopP > 0 && r.TopP < 1 && l.knows(fieldTopP) {
		body.TopP = float32(r.TopP)
	}
	if r.TopK > 0 && l.knows(fieldTopK) {
		extra[fieldTopK] = r.TopK
	}
	if r.LogProbs && l.knows(fieldLogProbs) {
		body.LogProbs = true
		if l.knows(fieldTokenIDs) {
			extra[fieldTokenIDs] = true
		}
	}
}

// shape asks for JSON of a schema, in words where the server knows no schemas.
func shape(body *openai.ChatCompletionRequest, s *llm.Schema, l lack) {
	if s == nil {
		return
	}
	if l.knows(fieldFormat) {
		body.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: s.Name, Schema: s.JSON, Strict: true},
		}
		return
	}
	words := fmt.Sprintf("Reply with one JSON value of this schema and nothing else:\n%s", s.JSON)
	if last := len(body.Messages) - 1; last >= 0 && body.Messages[last].Role == string(chat.User) {
		body.Messages[last].Content += "\n\n" + words
		return
	}
	body.Messages = append(body.Messages, openai.ChatCompletionMessage{Role: string(chat.User), Content: words})
}

func messages(in []chat.Message) []openai.ChatCompletionMessage {
	out := make([]openai.ChatCompletionMessage, 0, len(in))
	for _, m := range in {
		x := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			x.ToolCalls = append(x.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.Name, Arguments: written(c.Arguments)},
			})
		}
		if x.Content == "" && len(x.ToolCalls) == 0 {
			x.Content = " " // the library leaves an empty one out, which servers refuse
		}
		out = append(out, x)
	}
	return out
}

// written is arguments as the model wrote them: those that are no JSON stand as
// a JSON string.
func written(args json.RawMessage) string {
	var text string
	if json.Unmarshal(args, &text) == nil {
		return text
	}
	return string(args)
}

func tools(in []chat.Tool) []openai.Tool {
	var out []openai.Tool
	for _, t := range in {
		out = append(out, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
		})
	}
	return out
}

// toolChoice is one of the protocol's words, or the name of a tool.
func toolChoice(choice string) any {
	if slices.Contains([]string{"auto", "none", "required"}, choice) {
		return choice
	}
	return openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: choice}}
}
