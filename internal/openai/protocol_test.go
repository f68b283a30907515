package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/llm"
)

func TestTooLongIsTheEndOfTheContext(t *testing.T) {
	for name, body := range map[string]string{
		"OpenAI":    `{"error":{"message":"too long","code":"context_length_exceeded"}}`,
		"vLLM":      `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","type":"BadRequestError","code":400}`,
		"vLLM 0.10": `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length is 2048 tokens","type":"BadRequestError","param":null,"code":400}}`,
		"llama.cpp": `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}`,
		"SGLang":    `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (8192 tokens).","code":400}`,
		"Anthropic": `{"error":{"code":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum","type":"invalid_request_error"}}`,
		"Gemini":    `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`,
	} {
		url, n := serve(t, says(http.StatusBadRequest, body))
		r, err := client(t, url).Complete(t.Context(), question())
		if err != nil || r.Finish != chat.FinishContext || n.Load() != 1 {
			t.Errorf("%s: Complete = %+v, %v; want finish %s", name, r, err, chat.FinishContext)
		}
	}
}

// picky is a server that refuses fields it does not know.
func picky(t *testing.T, got *map[string]any, refused map[string]string) http.HandlerFunc {
	return hears(t, got, func(w http.ResponseWriter, r *http.Request) {
		for field, message := range refused {
			if _, ok := (*got)[field]; ok {
				says(http.StatusBadRequest, message)(w, r)
				return
			}
		}
		stop(w, r)
	})
}

func TestWhatAServerDoesNotKnowIsLeftOut(t *testing.T) {
	var got map[string]any
	url, n := serve(t, picky(t, &got, map[string]string{
		"max_tokens":      `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`,
		"temperature":     `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","param":"temperature"}}`,
		"seed":            `{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}`,
		"top_k":           `{"error":{"message":"Unrecognized request argument supplied: top_k"}}`,
		"response_format": `{"error":{"message":"response_format is not supported by this model"}}`,
	}))
	var warned []string
	c := clientOf(t, Config{BaseURLs: []string{url}, Warn: func(text string) { warned = append(warned, text) }})
	r := question()
	r.TopK, r.Schema = 5, &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object"}`)}
	for range 2 {
		if _, err := c.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() != 7 || len(warned) != 5 {
		t.Errorf("%d requests, %d warnings; want 5 refused ones, each told once, and 2", n.Load(), len(warned))
	}
	if got["max_completion_tokens"] != 48.0 {
		t.Errorf("max_completion_tokens was sent as %v", got["max_completion_tokens"])
	}
	messages, _ := got["messages"].([]any)
	if text := fmt.Sprint(messages[len(messages)-1]); !strings.Contains(text, `{"type":"object"}`) {
		t.Errorf("the schema is not said in words: %s", text)
	}
}

func TestAValueOutOfBoundsIsNoLack(t *testing.T) {
	for _, message := range []string{"temperature must be at most 2", "Invalid schema for response_format 's': unsupported keyword"} {
		url, n := serve(t, says(http.StatusBadRequest, fmt.Sprintf(`{"error":{"message":%q}}`, message)))
		if _, err := client(t, url).Complete(t.Context(), question()); err == nil || n.Load() != 1 {
			t.Errorf("%s: Complete = %v after %d requests, want the refusal", message, err, n.Load())
		}
	}
}

func TestSchemaToolsAndExtras(t *testing.T) {
	var got map[string]any
	url, _ := serve(t, hears(t, &got, stop))
	r := question()
	r.Messages = append(r.Messages,
		chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "read", Arguments: json.RawMessage(`"{\"id\":"`)}}},
		chat.Message{Role: chat.ToolRole, ToolCallID: "c"})
	r.Tools = []chat.Tool{{Name: "read", Description: "read one", Parameters: json.RawMessage(`{"type":"object"}`)}}
	r.ToolChoice, r.LogProbs, r.TopK = "read", true, 3
	r.Schema = &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object"}`)}
	if _, err := client(t, url).Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	err := json.Unmarshal([]byte(`{
		"tools":[{"type":"function","function":{"name":"read","description":"read one","parameters":{"type":"object"}}}],
		"tool_choice":{"type":"function","function":{"name":"read"}},
		"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"},"strict":true}},
		"top_k":3,"logprobs":true,"return_token_ids":true,
		"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},
			{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{\"id\":"}}]},
			{"role":"tool","content":" ","tool_call_id":"c"}]}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	for field := range want {
		if diff := cmp.Diff(want[field], got[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

func TestReasoningModels(t *testing.T) {
	for model, reasons := range map[string]bool{"o3": true, "o4-mini": true, "openai/gpt-5-mini": true, "gpt-4.1": false, "olmo": false} {
		var got map[string]any
		url, _ := serve(t, hears(t, &got, stop))
		c := clientOf(t, Config{BaseURLs: []string{url}, Model: model, Effort: "low"})
		if _, err := c.Complete(t.Context(), question()); err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		if (got["max_completion_tokens"] == 48.0) != reasons || (got["temperature"] == nil) != reasons || got["reasoning_effort"] != "low" {
			t.Errorf("%s was asked with %v", model, got)
		}
	}
}

func TestTokensAndLogProbs(t *testing.T) {
	const body = `{"prompt_token_ids":[1,2],"choices":[{"token_ids":[7,8],"message":{"content":"x"},"finish_reason":"stop",
		"logprobs":{"content":[{"token":"a","logprob":-0.5},{"token":"b","logprob":-0.25}]}}],"usage":{"prompt_tokens":2,"prompt_cache_hit_tokens":1}}`
	for _, tt := range []struct {
		name, body string
		want       llm.Reply
	}{
		{"both", body, llm.Reply{PromptTokenIDs: []int32{1, 2}, TokenIDs: []int32{7, 8}, LogProbs: []float32{-.5, -.25}}},
		{"no ids", strings.Replace(body, `"token_ids":[7,8],`, "", 1), llm.Reply{LogProbs: []float32{-.5, -.25}}},
		{"ids of other tokens", strings.Replace(body, `[7,8]`, "[7]", 1), llm.Reply{LogProbs: []float32{-.5, -.25}}},
		{
			"ids as llama.cpp tells them", strings.NewReplacer(`"token_ids":[7,8],`, "", `{"token"`, `{"id":5,"token"`).Replace(body),
			llm.Reply{PromptTokenIDs: []int32{1, 2}, TokenIDs: []int32{5, 5}, LogProbs: []float32{-.5, -.25}},
		},
		{"neither", strings.Replace(body, `"logprobs"`, `"x"`, 1), llm.Reply{}},
	} {
		url, _ := serve(t, says(http.StatusOK, tt.body))
		r := question()
		r.LogProbs = true
		got, err := client(t, url).Complete(t.Context(), r)
		tt.want.Text, tt.want.Finish, tt.want.Usage = "x", chat.FinishStop, llm.Usage{PromptTokens: 2, CachedTokens: 1}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestToolCallsThatAreNoJSON(t *testing.T) {
	const body = `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"cut"}},{"id":"b","function":{"name":"y","arguments":""}}]},"finish_reason":"tool_calls"}]}`
	url, _ := serve(t, says(http.StatusOK, body))
	r, err := client(t, url).Complete(t.Context(), question())
	want := []chat.ToolCall{{ID: "a", Name: "x", Arguments: json.RawMessage(`"{\"cut"`)}, {ID: "b", Name: "y", Arguments: json.RawMessage("{}")}}
	if diff := cmp.Diff(want, r.ToolCalls); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
