// Package prompted plays a model behind a server: an agent.Policy over an
// llm.Client.
//
// Most callers want New. Its rows can be distilled; methods that need log-probs
// want tokens, which few servers give. Sampling is the server's: the same seed
// may give other turns, unless a cache answers.
package prompted

import (
	"context"
	"errors"
	"slices"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/llm"
	"agentmill/internal/traj"
)

// boundary is where failures of this package happen.
const boundary = "provider"

// A Policy is a model that is told the game in words.
type Policy struct {
	client llm.Client
}

// New makes a Policy.
func New(c llm.Client) *Policy { return &Policy{client: c} }

// Info implements agent.Policy. The hash is that of the model's name: what
// weights the server has is not known.
func (p *Policy) Info() traj.Policy {
	info := agent.Unweighted("openai:"+p.client.Model(), "1")
	info.Name = p.client.Model()
	return info
}

// Close implements agent.Policy.
func (*Policy) Close() error { return nil }

// Begin implements agent.Policy.
func (p *Policy) Begin(_ context.Context, task agent.Task) (agent.Session, error) {
	return &session{policy: p, task: task, messages: task.Prompt}, nil
}

// A session is one attempt: the conversation so far, sent whole each turn.
type session struct {
	policy   *Policy
	task     agent.Task
	messages []chat.Message
}

// Trace implements agent.Session.
func (*session) Trace() agent.Trace { return agent.Trace{} }

// Close implements agent.Session.
func (*session) Close() error { return nil }

// Next implements agent.Session.
func (s *session) Next(ctx context.Context, observed []chat.Message) (agent.Reply, error) {
	s.messages = append(slices.Clip(s.messages), observed...)
	reply, err := s.policy.client.Complete(ctx, s.request())
	if err != nil {
		return agent.Reply{}, failure(err)
	}
	s.messages = append(s.messages, chat.Message{Role: chat.Assistant, Content: reply.Text})
	return agent.Reply{Text: reply.Text, Turn: chat.Turn{
		PromptTokens: reply.Usage.PromptTokens, CompletionTokens: reply.Usage.CompletionTokens, Cached: reply.Usage.CachedTokens,
		FinishReason: reply.Finish, Retries: reply.Retries,
	}}, nil
}

func (s *session) request() llm.Request {
	return llm.Request{
		Messages: s.messages, MaxTokens: s.task.TurnTokens, Seed: s.task.Seed,
		Temperature: s.task.Sampling.Temperature, TopP: s.task.Sampling.TopP, TopK: s.task.Sampling.TopK,
	}
}

// failure is what an error means for the attempt.
func failure(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return &agent.Error{Boundary: boundary, Kind: e.Kind, Err: err}
	}
	return &agent.StopError{Err: err} // no money, or no reply in the cache: not this attempt's fault
}
