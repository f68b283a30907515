package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agentmill/internal/agent"
	"agentmill/internal/clock"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/traj"
)

func playWith(t *testing.T, p agent.Policy, help agent.Help) *traj.Trajectory {
	t.Helper()
	world := emailtest.Open(t, emailtest.Options())
	g := &agent.Game{Policy: p, Env: world, Seed: 7, Clock: clock.FixedAt(time.Unix(0, 0)), Help: help}
	rows, err := agent.Run(t.Context(), g, &emailtest.Questions()[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := rows[0].Check(); err != nil {
		t.Error(err)
	}
	return rows[0]
}

// TestOracle: the expert's calls stand in the record and in the prompt, and the
// policy goes on from there.
func TestOracle(t *testing.T) {
	for help, want := range map[agent.Help]struct {
		calls string
		given int
	}{
		agent.NoHelp:       {"return_final_answer", 0},
		agent.OracleSearch: {"search_emails return_final_answer", 1},
		agent.OracleRead:   {"search_emails read_email return_final_answer", 2},
	} {
		p := &script{turns: says("answer Thursday, March 22 | 1")}
		row := playWith(t, p, help)
		var tools []string
		for i, c := range row.Calls {
			tools = append(tools, c.Tool)
			if c.Turn != i || c.Error != "" {
				t.Errorf("%q: call %d is of turn %d, error %q", help, i, c.Turn, c.Error)
			}
		}
		if got := strings.Join(tools, " "); got != want.calls {
			t.Errorf("%q: calls %q, want %q", help, got, want.calls)
		}
		if row.Policy.Oracle != string(help) || p.task.Given != want.given || len(row.Turns) != want.given+1 || row.Stop != traj.Answered {
			t.Errorf("%q: oracle %q, %d calls given, %d turns, stop %q", help, row.Policy.Oracle, p.task.Given, len(row.Turns), row.Stop)
		}
		if len(p.task.Prompt) != 2+2*want.given || p.task.MaxTurns != emailtest.Options().MaxTurns-want.given {
			t.Errorf("%q: the policy begins with %d messages and has %d turns", help, len(p.task.Prompt), p.task.MaxTurns)
		}
	}
}

// TestHelpedAttemptsAreOthers: their rows may stand beside those without help.
func TestHelpedAttemptsAreOthers(t *testing.T) {
	seen := map[string]agent.Help{}
	for _, help := range []agent.Help{agent.NoHelp, agent.OracleSearch, agent.OracleRead, agent.OpenMail} {
		row := playWith(t, &script{turns: says("answer Thursday | 1")}, help)
		if other, ok := seen[row.ID]; ok {
			t.Errorf("rows of help %q and %q have the id %s", help, other, row.ID)
		}
		seen[row.ID] = help
	}
}

// TestOpenMail: the expert answers at once, from a mail that the prompt shows.
func TestOpenMail(t *testing.T) {
	world := emailtest.Open(t, emailtest.Options())
	expert, err := agent.NewExpert(world)
	if err != nil {
		t.Fatal(err)
	}
	row := playWith(t, expert, agent.OpenMail)
	q := &emailtest.Questions()[0]
	if len(row.Calls) != 1 || row.Answer.Text != q.Answer || row.Policy.Oracle != "" {
		t.Fatalf("%d calls, answer %q, oracle %q; want the answer %q alone", len(row.Calls), row.Answer.Text, row.Policy.Oracle, q.Answer)
	}
	if prompt := row.Messages[1].Content; !strings.Contains(prompt, q.Evidence) || !strings.Contains(prompt, "\n\nread 1\n") {
		t.Errorf("the prompt does not show the mail:\n%s", prompt)
	}
	if got := row.Answer.Sources; len(got) != 1 || got[0] != q.MessageIDs[0] {
		t.Errorf("sources %q, want %q", got, q.MessageIDs)
	}
}

// TestHelpForNothing: a question that the expert cannot solve is not played.
func TestHelpForNothing(t *testing.T) {
	q := emailtest.Questions()[0]
	q.MessageIDs = []string{"<gone@harlan.example>"}
	g := &agent.Game{Policy: &script{}, Env: emailtest.Open(t, emailtest.Options()), Clock: clock.FixedAt(time.Unix(0, 0)), Help: agent.OracleRead}
	if _, err := agent.Run(t.Context(), g, &q, 0); !errors.Is(err, agent.ErrDeclined) {
		t.Errorf("got %v, want %v", err, agent.ErrDeclined)
	}
}
