// Package prompted plays a model behind a server: an agent.Policy over an
// llm.Client, by structured tool calls or by calls written as text.
//
// Most callers want New; a Prompt replaces what the environment says at first.
// Rows can be distilled. They have tokens and log-probs only where the server
// gives both for every turn: otherwise they are text and nothing else. Sampling
// is the server's: the same seed may give other turns, unless a cache answers.
package prompted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/llm"
	"agentmill/internal/traj"
)

// boundary is where failures of this package happen.
const boundary = "provider"

// A Config says how a model is played.
type Config struct {
	Client     llm.Client
	Native     bool          // by structured calls: the tools go with each request
	ToolChoice string        // with Native: auto, none, required or the name of a tool
	LogProbs   bool          // ask for token ids and log-probs
	Deadline   time.Duration // of an attempt; 0 is none
	Variant    string        // what else decides how it plays, such as an effort; part of the hash
}

// A Policy is a model that is told the game in words.
type Policy struct {
	cfg      Config
	textOnly atomic.Int64
}

// New makes a Policy.
func New(cfg Config) *Policy { return &Policy{cfg: cfg} }

// TextOnly is the number of attempts whose tokens were asked for and not had.
func (p *Policy) TextOnly() int { return int(p.textOnly.Load()) }

// Info implements agent.Policy. The hash is that of the model's name and of how
// it is asked: what weights the server has is not known.
func (p *Policy) Info() traj.Policy {
	version := "1"
	if p.cfg.ToolChoice != "" || p.cfg.Variant != "" {
		version = fmt.Sprintf("1 tool choice %q, %s", p.cfg.ToolChoice, p.cfg.Variant)
	}
	info := agent.Unweighted("openai:"+p.cfg.Client.Model(), version)
	info.Name = p.cfg.Client.Model()
	return info
}

// Close implements agent.Policy.
func (*Policy) Close() error { return nil }

// Begin implements agent.Policy.
func (p *Policy) Begin(_ context.Context, task agent.Task) (agent.Session, error) {
	return &session{Config: p.cfg, policy: p, task: task, messages: task.Prompt, left: p.cfg.Deadline}, nil
}

// A session is one attempt: the conversation so far, sent whole each turn.
type session struct {
	Config
	policy   *Policy
	task     agent.Task
	messages []chat.Message
	turns    int
	left     time.Duration // of the deadline
	record   record
}

// Trace implements agent.Session.
func (s *session) Trace() agent.Trace { return s.record.trace() }

// Close implements agent.Session.
func (s *session) Close() error {
	if s.LogProbs && s.turns > 0 && s.record.broken {
		s.policy.textOnly.Add(1)
	}
	return nil
}

// Next implements agent.Session.
func (s *session) Next(ctx context.Context, observed []chat.Message) (agent.Reply, error) {
	if !s.Native {
		observed = inWords(observed)
	}
	s.messages = append(slices.Clip(s.messages), observed...)
	reply, err := s.complete(ctx)
	if err != nil {
		return agent.Reply{}, failure(err)
	}
	for i := range reply.ToolCalls {
		if c := &reply.ToolCalls[i]; c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", s.turns, i) // the result must name its call
		}
	}
	s.turns++
	s.record.add(&reply, s.task.Sampling)
	s.messages = append(s.messages, chat.Message{Role: chat.Assistant, Content: reply.Text, ToolCalls: reply.ToolCalls})
	return agent.Reply{Text: reply.Text, Calls: reply.ToolCalls, USD: reply.USD, Turn: chat.Turn{
		PromptTokens: reply.Usage.PromptTokens, CompletionTokens: reply.Usage.CompletionTokens, Cached: reply.Usage.CachedTokens,
		FinishReason: reply.Finish, Retries: reply.Retries,
	}}, nil
}

// complete asks within what is left of the attempt's time.
func (s *session) complete(ctx context.Context) (llm.Reply, error) {
	if s.Deadline == 0 {
		return s.Client.Complete(ctx, s.request())
	}
	clk := clock.Real() // of waiting, which no output depends on
	start := clk.Now()
	within, cancel := context.WithTimeout(ctx, s.left)
	defer cancel()
	reply, err := s.Client.Complete(within, s.request())
	s.left -= clk.Now().Sub(start)
	return reply, err
}

// inWords gives results to the user's side: a server takes a message of a tool
// only after a call in its own protocol, and the calls here are words.
func inWords(observed []chat.Message) []chat.Message {
	said := slices.Clone(observed)
	for i := range said {
		if said[i].Role == chat.ToolRole {
			said[i].Role, said[i].ToolCallID = chat.User, ""
		}
	}
	return said
}

func (s *session) request() llm.Request {
	r := llm.Request{
		Messages: s.messages, MaxTokens: s.task.TurnTokens, Seed: s.task.Seed, LogProbs: s.LogProbs,
		Temperature: s.task.Sampling.Temperature, TopP: s.task.Sampling.TopP, TopK: s.task.Sampling.TopK,
	}
	if s.Native {
		r.Tools, r.ToolChoice = s.task.Tools, s.ToolChoice
	}
	return r
}

// failure is what an error means for the attempt.
func failure(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return &agent.Error{Boundary: boundary, Kind: e.Kind, Err: err}
	}
	return &agent.StopError{Err: err} // no money, or no reply in the cache: not this attempt's fault
}
