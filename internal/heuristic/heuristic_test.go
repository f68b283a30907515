package heuristic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/heuristic"
	"agentmill/internal/question"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

func play(t *testing.T, q question.Question, opts traj.EnvOptions) *traj.Trajectory {
	t.Helper()
	g := &agent.Game{Policy: heuristic.New(toolformat.Line{}), Env: emailtest.Open(t, opts), Clock: clock.FixedAt(time.Unix(0, 0))}
	rows, err := agent.Run(t.Context(), g, &q, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

// said are the policy's turns.
func said(row *traj.Trajectory) []string {
	var lines []string
	for _, m := range row.Messages {
		if m.Role == chat.Assistant {
			lines = append(lines, m.Content)
		}
	}
	return lines
}

func TestPlay(t *testing.T) {
	few := emailtest.Options()
	few.MaxTurns = 1
	for _, tt := range []struct {
		name, question string
		opts           traj.EnvOptions
		want           []string
	}{
		{"finds the fact", "When is the Larkspur kickoff?", emailtest.Options(), []string{"search Larkspur kickoff", "read 1", "answer Thursday, March 22 | 1"}},
		{"reads on until it finds", "What is the rent for the annex by the gate?", emailtest.Options(), []string{"search rent annex gate", "read 8", "read 6", "read 7", "answer $12,800 a month | 8"}},
		{"abstains", "Who painted the elevator in the annex?", emailtest.Options(), []string{"search painted elevator annex", "read 8", "answer I don't know"}},
		{"searches again, then abstains", "Who painted zebras?", emailtest.Options(), []string{"search painted zebras", "search painted", "answer I don't know"}},
		{"has no word to search for", "Who is it?", emailtest.Options(), []string{"answer I don't know"}},
		{"has one turn", "When is the Larkspur kickoff?", few, []string{"answer I don't know"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := emailtest.Questions()[0]
			q.Question = tt.question
			row := play(t, q, tt.opts)
			if diff := cmp.Diff(tt.want, said(row)); diff != "" {
				t.Errorf("turns (-want +got):\n%s\n%s", diff, row.Messages[len(row.Messages)-2].Content)
			}
		})
	}
}

// TestGoldIsNotUsed plays a question with all that could tell the answer gone or
// wrong: nothing may change.
func TestGoldIsNotUsed(t *testing.T) {
	q := emailtest.Questions()[1]
	want := said(play(t, q, emailtest.Options()))
	q.Answer, q.Aliases, q.Evidence, q.MessageIDs, q.AlsoIn, q.Spans, q.Kind, q.Answerable = "wrong", []string{"wrong"}, "wrong", nil, nil, nil, "person", false
	if diff := cmp.Diff(want, said(play(t, q, emailtest.Options()))); diff != "" || !strings.HasPrefix(want[len(want)-1], "answer $4,150") {
		t.Errorf("turns with the gold changed (-with +without):\n%s", diff)
	}
}
