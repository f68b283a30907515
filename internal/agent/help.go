package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentmill/internal/chat"
	"agentmill/internal/env"
	"agentmill/internal/question"
)

// A Help is what an attempt is given of the expert's play before the policy's
// first turn. It tells where a policy fails, or makes an exercise.
type Help string

// The helps.
const (
	NoHelp Help = ""
	// OracleSearch plays the expert's first calls, up to where it turns from
	// searching to something else.
	OracleSearch Help = "search"
	// OracleRead plays all calls of the expert but its answer.
	OracleRead Help = "read"
	// OpenMail puts what the expert reads into the prompt: an exercise of reading.
	OpenMail Help = "open-mail"
)

// oracle is the help as rows name it. An exercise is none: it may be distilled.
func (h Help) oracle() string {
	if h == OpenMail {
		return ""
	}
	return string(h)
}

// given is how many of the expert's calls, the answer last, the help takes from
// the policy.
func (h Help) given(calls []chat.ToolCall) int {
	switch h {
	case OracleSearch:
		n := slices.IndexFunc(calls, func(c chat.ToolCall) bool { return c.Name != calls[0].Name })
		return max(n, 0)
	case OracleRead, OpenMail:
		return len(calls) - 1
	case NoHelp:
	}
	return 0
}

// help gives an attempt its help and returns how many calls of the expert are
// played by it.
func (a *attempt) help(ctx context.Context, ep env.Episode, q *question.Question) (int, error) {
	if a.Help == NoHelp {
		return 0, nil
	}
	shows, ok := a.Env.(env.Demonstrator)
	if !ok {
		return 0, errors.New("environment " + a.Env.Name() + " has no expert whose help could be given")
	}
	calls, err := demonstrate(ctx, shows, q, a.row.Seed)
	if err != nil {
		return 0, err
	}
	n := a.Help.given(calls)
	if a.Help == OpenMail {
		return n, a.show(ctx, ep, calls[:n])
	}
	for turn, call := range calls[:n] {
		if err := a.force(ctx, ep, turn, call); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// demonstrate asks for the expert's calls at q.
func demonstrate(ctx context.Context, shows env.Demonstrator, q *question.Question, seed uint64) ([]chat.ToolCall, error) {
	calls, err := shows.Demonstrate(ctx, q, seed)
	if why, ok := errors.AsType[env.UnsolvedError](err); ok {
		return nil, fmt.Errorf("%w: %w", ErrDeclined, why)
	}
	return calls, err
}

// force plays a call as if the policy had written it.
func (a *attempt) force(ctx context.Context, ep env.Episode, turn int, call chat.ToolCall) error {
	reply := Written(a.format, call)
	a.row.Turns = append(a.row.Turns, reply.Turn)
	a.row.Messages = append(a.row.Messages, chat.Message{Role: chat.Assistant, Content: reply.Text})
	observed, err := a.act(ctx, ep, turn, reply)
	a.row.Messages = append(a.row.Messages, observed...)
	return err
}

// show puts what the last of calls, and others of its kind, bring behind the
// prompt: of searches and readings, the readings.
func (a *attempt) show(ctx context.Context, ep env.Episode, calls []chat.ToolCall) error {
	if len(calls) == 0 {
		return nil
	}
	a.row.Messages = slices.Clone(a.row.Messages)
	last := &a.row.Messages[len(a.row.Messages)-1]
	for _, call := range calls {
		if call.Name != calls[len(calls)-1].Name {
			continue
		}
		res, err := ep.Call(ctx, call)
		if err != nil {
			return err
		}
		last.Content += "\n\n" + a.format.Render(call) + "\n" + res.Content
	}
	return nil
}
