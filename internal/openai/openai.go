// Package openai plays a model behind a chat-completions server as text: the
// model writes its calls in the tool format, as a local one does.
//
// Most callers want New. Its rows have no tokens, so they can be distilled but
// not trained on by methods that need log-probs. Sampling is the server's: the
// same seed may give other turns.
package openai

import (
	"context"
	"errors"
	"math"
	"net/http"

	openai "github.com/sashabaranov/go-openai"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// A Config names a server and a model on it.
type Config struct {
	BaseURL string // up to and with the version, as http://host:8000/v1
	Model   string
	APIKey  string // never logged
	Retry   Retry
}

// A Policy is a remote model.
type Policy struct {
	client *openai.Client
	model  string
}

// New makes a Policy. It does not talk to the server yet.
func New(cfg Config) (*Policy, error) {
	if cfg.BaseURL == "" || cfg.Model == "" {
		return nil, errors.New("a remote policy needs both a base address and a model")
	}
	c := openai.DefaultConfig(cfg.APIKey)
	c.BaseURL = cfg.BaseURL
	c.HTTPClient = &http.Client{Transport: &retrier{Retry: cfg.Retry.withDefaults(), next: http.DefaultTransport}}
	return &Policy{client: openai.NewClientWithConfig(c), model: cfg.Model}, nil
}

// Info implements agent.Policy. The hash is that of the model's name: what
// weights the server has is not known.
func (p *Policy) Info() traj.Policy {
	info := agent.Unweighted("openai:"+p.model, "1")
	info.Name = p.model
	return info
}

// Close implements agent.Policy.
func (*Policy) Close() error { return nil }

// Begin implements agent.Policy.
func (p *Policy) Begin(_ context.Context, task agent.Task) (agent.Session, error) {
	s := &session{policy: p, task: task}
	s.add(task.Prompt)
	return s, nil
}

// A session is one attempt: the conversation so far, sent whole each turn.
type session struct {
	policy   *Policy
	task     agent.Task
	messages []openai.ChatCompletionMessage
}

// Trace implements agent.Session.
func (*session) Trace() agent.Trace { return agent.Trace{} }

// Close implements agent.Session.
func (*session) Close() error { return nil }

func (s *session) add(messages []chat.Message) {
	for _, m := range messages {
		s.messages = append(s.messages, openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content})
	}
}

// Next implements agent.Session.
func (s *session) Next(ctx context.Context, observed []chat.Message) (agent.Reply, error) {
	s.add(observed)
	var tries int
	resp, err := s.policy.client.CreateChatCompletion(countTries(ctx, &tries), s.request())
	if err != nil {
		return s.refused(err)
	}
	if len(resp.Choices) == 0 {
		return agent.Reply{}, &agent.Error{Boundary: boundary, Kind: "empty", Err: errors.New("the server's reply has no choice")}
	}
	text := resp.Choices[0].Message.Content
	s.add([]chat.Message{{Role: chat.Assistant, Content: text}})
	turn := chat.Turn{
		PromptTokens: resp.Usage.PromptTokens, CompletionTokens: resp.Usage.CompletionTokens,
		FinishReason: chat.FinishStop, Retries: max(tries-1, 0),
	}
	if resp.Choices[0].FinishReason == openai.FinishReasonLength {
		turn.FinishReason = chat.FinishLength
	}
	if d := resp.Usage.PromptTokensDetails; d != nil {
		turn.Cached = d.CachedTokens
	}
	return agent.Reply{Text: text, Turn: turn}, nil
}

func (s *session) request() openai.ChatCompletionRequest {
	seed := int(s.task.Seed >> 33) // 31 bits, which every server takes
	r := openai.ChatCompletionRequest{
		Model: s.policy.model, Messages: s.messages, MaxTokens: s.task.TurnTokens, //nolint:staticcheck // max_tokens is what every server knows
		Temperature: float32(s.task.Sampling.Temperature), TopP: float32(s.task.Sampling.TopP), Seed: &seed,
	}
	if r.Temperature == 0 {
		// The client leaves a plain 0 out, and servers then take 1.
		r.Temperature = math.SmallestNonzeroFloat32
	}
	return r
}
