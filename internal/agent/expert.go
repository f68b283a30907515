package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"agentmill/internal/chat"
	"agentmill/internal/env"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// Expert plays what a Demonstrator shows: it is told the gold, and its rows are
// what supervised fine-tuning distils.
type Expert struct {
	shows  env.Demonstrator
	format toolformat.Format
}

// NewExpert makes the expert of an environment that can demonstrate.
func NewExpert(e env.Env) (*Expert, error) {
	shows, ok := e.(env.Demonstrator)
	if !ok {
		return nil, errors.New("environment " + e.Name() + " has no expert")
	}
	format, err := toolformat.ByName(e.Options().ToolFormat)
	return &Expert{shows: shows, format: format}, err
}

// Info implements Policy.
func (*Expert) Info() traj.Policy { return Unweighted("expert", "1") }

// Unweighted names a policy without weights: its hash is that of its name and
// of the version of what it does.
func Unweighted(name, version string) traj.Policy {
	sum := sha256.Sum256([]byte(name + "\x00" + version))
	return traj.Policy{Name: name, Hash: hex.EncodeToString(sum[:])}
}

// Begin implements Policy.
func (x *Expert) Begin(ctx context.Context, task Task) (Session, error) {
	calls, err := demonstrate(ctx, x.shows, task.Question, task.Seed)
	if err != nil {
		return nil, err
	}
	return Recite(x.format, calls[task.Given:]), nil
}

// Close implements Policy.
func (*Expert) Close() error { return nil }

// Recite is a session that plays given calls, whatever comes back.
func Recite(format toolformat.Format, calls []chat.ToolCall) Session {
	return &recital{calls: calls, format: format}
}

// A recital plays given calls.
type recital struct {
	calls  []chat.ToolCall
	format toolformat.Format
}

// Next implements Session.
func (r *recital) Next(context.Context, []chat.Message) (Reply, error) {
	if len(r.calls) == 0 {
		return Reply{}, errors.New("what was to be played ended without an answer")
	}
	call := r.calls[0]
	r.calls = r.calls[1:]
	return Written(r.format, call), nil
}

// Written is the turn of a policy that knows which call it wants. It is played
// as written, so that what a student learns from is what was played.
func Written(format toolformat.Format, call chat.ToolCall) Reply {
	return Reply{Text: format.Render(call), Turn: chat.Turn{FinishReason: chat.FinishStop}}
}

// Trace implements Session.
func (*recital) Trace() Trace { return Trace{} }

// Close implements Session.
func (*recital) Close() error { return nil }
