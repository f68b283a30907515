package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/terminal"
)

// Complete has a policy answer one prompt outside of any environment. The text
// goes to out as it is sampled, piece by piece where the policy can, and ends
// with a line feed.
func Complete(ctx context.Context, p agent.Policy, task agent.Task, out io.Writer) (chat.Turn, error) {
	w := &pieces{out: out}
	task.Stream = w.add
	session, err := p.Begin(ctx, task)
	if err != nil {
		return chat.Turn{}, err
	}
	defer func() { _ = session.Close() }()
	reply, err := session.Next(ctx, nil)
	if err != nil {
		return reply.Turn, err
	}
	if w.size == 0 {
		w.add(reply.Text)
	}
	w.end()
	if reply.Turn.FinishReason == chat.FinishContext && reply.Text == "" {
		return reply.Turn, errors.Join(w.err, errors.New("the prompt does not fit the policy's context"))
	}
	return reply.Turn, w.err
}

// pieces writes text for a person, whatever it holds.
type pieces struct {
	out  io.Writer
	size int
	last string
	err  error
}

func (w *pieces) add(piece string) {
	if w.err != nil || piece == "" {
		return
	}
	w.size += len(piece)
	w.last = piece
	if _, err := io.WriteString(w.out, terminal.Safe(piece)); err != nil {
		w.err = fmt.Errorf("write text: %w", err)
	}
}

func (w *pieces) end() {
	if !strings.HasSuffix(w.last, "\n") {
		w.add("\n")
	}
}
