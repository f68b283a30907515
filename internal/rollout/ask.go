package rollout

import (
	"context"
	"fmt"
	"io"
	"strings"

	"agentmill/internal/agent"
	"agentmill/internal/env"
	"agentmill/internal/question"
	"agentmill/internal/terminal"
	"agentmill/internal/traj"
)

// Ask plays one attempt at q for a person: its steps go to talk as they are
// played, the answer with its sources to out.
func Ask(ctx context.Context, g *agent.Game, q *question.Question, out, talk io.Writer) error {
	game := *g
	game.Watch = func(s agent.Step) { showStep(talk, s) }
	rows, err := agent.Run(ctx, &game, q, 0)
	if err != nil {
		return err
	}
	row := rows[0] // in its outcome all parts are equal
	switch row.Stop {
	case traj.Answered, traj.Abstained:
		return showAnswer(ctx, g.Env, q, row, out)
	case traj.Failed:
		return fmt.Errorf("ask: %s: %s", row.Failure.Boundary, row.Failure.Message)
	case traj.MaxTurns, traj.Length, traj.BadCall:
	}
	return fmt.Errorf("ask: no answer after %d turns: %s", len(row.Turns), why[row.Stop])
}

// why tells a person why an attempt stopped without an answer.
var why = map[traj.StopReason]string{
	traj.MaxTurns: "the turns are used up (--max-turns)",
	traj.Length:   "the conversation no longer fits the policy's context",
	traj.BadCall:  "the policy wrote something that is no call",
}

func showStep(talk io.Writer, s agent.Step) {
	_, _ = fmt.Fprintf(talk, "> %s\n", terminal.Safe(s.Text))
	for line := range strings.Lines(s.Result) {
		_, _ = fmt.Fprintf(talk, "  %s\n", terminal.Safe(strings.TrimRight(line, "\n")))
	}
}

func showAnswer(ctx context.Context, world env.Env, q *question.Question, row *traj.Trajectory, out io.Writer) error {
	lines := []string{row.Answer.Text}
	for _, source := range row.Answer.Sources {
		line := source
		if c, ok := world.(env.Citer); ok {
			cited, err := c.Cite(ctx, q, source)
			if err != nil {
				return fmt.Errorf("source %s: %w", source, err)
			}
			line = cited
		}
		lines = append(lines, "  source: "+line)
	}
	_, err := fmt.Fprintln(out, terminal.Safe(strings.Join(lines, "\n")))
	return err
}
