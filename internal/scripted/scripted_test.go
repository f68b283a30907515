package scripted_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/scripted"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

func play(t *testing.T, g *agent.Game, question int) *traj.Trajectory {
	t.Helper()
	rows, err := agent.Run(t.Context(), g, &emailtest.Questions()[question], 0)
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

func TestNullPolicies(t *testing.T) {
	world := emailtest.Open(t, emailtest.Options())
	for _, tt := range []struct {
		policy agent.Policy
		want   []string
		stop   traj.StopReason
	}{
		{scripted.Abstain(toolformat.Line{}), []string{"answer I don't know"}, traj.Abstained},
		{scripted.Empty(toolformat.Line{}), []string{"answer"}, traj.BadCall},
		{scripted.Repeat(toolformat.Line{}), []string{"answer What is the gate code for the yard?"}, traj.Answered},
		{scripted.Paste(toolformat.Line{}), []string{
			"search gate code yard", "read 6",
			"answer … The new gate code for the yard is 4471. Do not share it. | 6",
		}, traj.Answered},
	} {
		name := tt.policy.Info().Name
		row := play(t, &agent.Game{Policy: tt.policy, Env: world, Clock: clock.FixedAt(time.Unix(0, 0))}, 2)
		got := said(row)
		if name == "null-paste" { // the header of a mail is the environment's to choose
			got[2] = "answer … " + got[2][strings.LastIndex(got[2], "The new"):]
		}
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if row.Stop != tt.stop {
			t.Errorf("%s stops with %s, want %s", name, row.Stop, tt.stop)
		}
	}
}

const recorded = `{"question_id":"q1","steps":[` +
	`{"tool":"search_emails","args":{"keywords":["Larkspur","kickoff"]},"hits":["<d1-copy@harlan.example>","<d1@harlan.example>"]},` +
	`{"tool":"read_email","args":{"message_id":"<d1-copy@harlan.example>"},"found":true},` +
	`{"tool":"return_final_answer","args":{"answer":"March 22","sources":["<d1-copy@harlan.example>"]}}],"turns":2}
{"question_id":"q3","steps":[{"tool":"read_email","args":{"message_id":"<d6@harlan.example>"}},{"tool":"return_final_answer","args":{"answer":"4471","sources":[]}}]}
`

func record(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "play.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Recorded Message-IDs, also of copies, become what the environment shows; what
// is found is compared copies apart.
func TestReplay(t *testing.T) {
	opts := emailtest.Options()
	opts.Search = "all"
	world := emailtest.Open(t, opts)
	policy, err := scripted.Open(record(t, recorded), world)
	if err != nil {
		t.Fatal(err)
	}
	g := &agent.Game{Policy: policy, Env: world, Clock: clock.FixedAt(time.Unix(0, 0))}
	row := play(t, g, 0)
	if diff := cmp.Diff([]string{"search Larkspur kickoff", "read 1", "answer March 22 | 1"}, said(row)); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"<d1@harlan.example>"}, row.Answer.Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	for _, r := range []*traj.Trajectory{row, play(t, g, 2)} {
		if err := policy.Audit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := "replay: 0 of 1 searches found the same mails, 1 of 1 recorded hits were found again; 1 of 2 attempts read a mail that no search of theirs had shown, and are not trained on"
	if got := policy.Report(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := agent.Run(t.Context(), g, &emailtest.Questions()[1], 0); !errors.Is(err, agent.ErrDeclined) {
		t.Errorf("a question that was not recorded: %v", err)
	}
}

// Play that was recorded with more turns than are allowed now is told of, and not
// left to look like a wrong answer.
func TestReplayIsCut(t *testing.T) {
	opts := emailtest.Options()
	opts.MaxTurns = 2
	world := emailtest.Open(t, opts)
	policy, err := scripted.Open(record(t, recorded), world)
	if err != nil {
		t.Fatal(err)
	}
	row := play(t, &agent.Game{Policy: policy, Env: world, Clock: clock.FixedAt(time.Unix(0, 0))}, 0)
	if err := policy.Audit(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if want := "; 1 were recorded with more turns than --max-turns allows, and have no answer"; !strings.HasSuffix(policy.Report(), want) {
		t.Errorf("got %s, want it to end with %q", policy.Report(), want)
	}
}

func TestOpenRefuses(t *testing.T) {
	world := emailtest.Open(t, emailtest.Options())
	for text, want := range map[string]string{
		"":             "no line in it",
		`{"steps":[]}`: "play.jsonl:1: question_id: missing",
		`{"question_id":"a","steps":[{"tool":"search_emails","args":{}}]}`: "steps: want a call of return_final_answer as the last of 1",
		`{"question_id":"a","steps":[{"tool":"rm","args":{}}]}`:            `steps[0].tool: is "rm", want search_emails,`,
		`{"question_id":"a","steps":[{"tool":"return_final_answer"}]}`:     "steps[0].args: missing",
		`{"question_id":7}`: "question_id: ",
		strings.Repeat(recorded[:strings.Index(recorded, "\n")+1], 2): "play.jsonl:2: question_id: q1 stands twice",
	} {
		if _, err := scripted.Open(record(t, text), world); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error %v, want one with %q", text, err, want)
		}
	}
}
