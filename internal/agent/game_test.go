package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/env"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// A script is a policy that says given turns, whatever it sees.
type script struct {
	turns []agent.Reply
	err   error // instead of a turn when they are used up
	seen  [][]chat.Message
	task  agent.Task
}

func (s *script) Info() traj.Policy { return agent.Unweighted("script", "1") }

func (s *script) Begin(_ context.Context, task agent.Task) (agent.Session, error) {
	s.task = task
	return s, nil
}

func (s *script) Next(_ context.Context, observed []chat.Message) (agent.Reply, error) {
	s.seen = append(s.seen, observed)
	if len(s.turns) == 0 {
		return agent.Reply{}, s.err
	}
	reply := s.turns[0]
	s.turns = s.turns[1:]
	return reply, nil
}

func (s *script) Trace() agent.Trace {
	return agent.Trace{TokenIDs: []int32{1, 2}, Trained: []bool{false, true}, LogProbs: []float32{0, -1}}
}

func (s *script) Close() error { return nil }

// says makes turns of texts.
func says(texts ...string) []agent.Reply {
	var turns []agent.Reply
	for _, text := range texts {
		turns = append(turns, agent.Reply{Text: text, Turn: chat.Turn{PromptTokens: 10, CompletionTokens: 2, Retries: 1, FinishReason: chat.FinishStop}})
	}
	return turns
}

func play(t *testing.T, p agent.Policy, opts traj.EnvOptions) *traj.Trajectory {
	t.Helper()
	g := &agent.Game{Policy: p, Env: emailtest.Open(t, opts), Seed: 7, Clock: clock.FixedAt(time.Unix(0, 0))}
	rows, err := agent.Run(t.Context(), g, &emailtest.Questions()[0], 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 {
		t.Fatalf("%d rows, want 1", len(rows))
	}
	row := rows[0]
	if err := row.Check(); err != nil {
		t.Error(err)
	}
	return row
}

func TestRunRecordsAnAttempt(t *testing.T) {
	p := &script{turns: says("search Larkspur kickoff", "read 1", "answer Thursday, March 22 | 1")}
	row := play(t, p, emailtest.Options())
	if row.Stop != traj.Answered || row.Failure != nil {
		t.Fatalf("stop %q, failure %v", row.Stop, row.Failure)
	}
	if diff := cmp.Diff(traj.Answer{Text: "Thursday, March 22", Sources: []string{"<d1@harlan.example>"}}, row.Answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	calls := []traj.Call{
		{Turn: 0, Tool: "search_emails", Arguments: json.RawMessage(`{"keywords":["Larkspur","kickoff"]}`), IDs: []string{"<d1@harlan.example>", "<d2@harlan.example>", "<d11@harlan.example>"}},
		{Turn: 1, Tool: "read_email", Arguments: json.RawMessage(`{"message_id":"1"}`), IDs: []string{"<d1@harlan.example>"}},
		{Turn: 2, Tool: "return_final_answer", Arguments: json.RawMessage(`{"answer":"Thursday, March 22","sources":["1"]}`), IDs: []string{}},
	}
	if diff := cmp.Diff(calls, row.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	var roles []chat.Role
	for _, m := range row.Messages {
		roles = append(roles, m.Role)
	}
	if diff := cmp.Diff([]chat.Role{"system", "user", "assistant", "user", "assistant", "user", "assistant"}, roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(row.Messages[3:4], p.seen[1]); diff != "" {
		t.Errorf("the policy saw something else than is recorded:\n%s", diff)
	}
	usage := chat.Usage{PromptTokens: 30, CompletionTokens: 6, Turns: 3}
	if diff := cmp.Diff(usage, row.Usage); diff != "" {
		t.Errorf("usage under a fixed clock (-want +got):\n%s", diff)
	}
	if len(row.TokenIDs) != 2 || row.Attempt != 2 || p.task.Seed != row.Seed || p.task.TurnTokens != 48 {
		t.Errorf("tokens %v, attempt %d, seed %d of task %+v", row.TokenIDs, row.Attempt, row.Seed, p.task)
	}
}

func TestRunStops(t *testing.T) {
	tell := emailtest.Options()
	tell.OnBadCall, tell.MaxTurns = "tell", 2
	cut := says("search Larkspur kick")
	cut[0].Turn.FinishReason = chat.FinishLength
	full := []agent.Reply{{Turn: chat.Turn{FinishReason: chat.FinishContext}}}
	native := []agent.Reply{{Text: "?", Calls: []chat.ToolCall{{Name: "read_email", Arguments: json.RawMessage(`{"mess`)}}}}
	tests := []struct {
		name   string
		turns  []agent.Reply
		opts   traj.EnvOptions
		stop   traj.StopReason
		errors []string // of the calls
	}{
		{"abstention", says("answer I don't know."), emailtest.Options(), traj.Abstained, []string{""}},
		{"prose", says("It is on Monday."), emailtest.Options(), traj.BadCall, []string{traj.ErrNoCall}},
		{"unknown tool", says("drop_table x"), emailtest.Options(), traj.BadCall, []string{traj.ErrUnknownTool}},
		{"bad arguments", says("search from:x"), emailtest.Options(), traj.BadCall, []string{traj.ErrBadArgs}},
		{"the environment finds the arguments bad", says("search x after:May"), emailtest.Options(), traj.BadCall, []string{traj.ErrBadArgs}},
		{"cut turn", cut, emailtest.Options(), traj.BadCall, []string{traj.ErrUnparsable}},
		{"broken native arguments", native, emailtest.Options(), traj.BadCall, []string{traj.ErrUnparsable}},
		{"no such mail is no bad call", says("read 99", "answer x"), emailtest.Options(), traj.Answered, []string{traj.ErrNoSuchMail, ""}},
		{"full context", full, emailtest.Options(), traj.Length, nil},
		{"told, then right", says("hm", "answer x"), tell, traj.Answered, []string{traj.ErrNoCall, ""}},
		{"told to the end", says("search x", "hm"), tell, traj.BadCall, []string{"", traj.ErrNoCall}},
		{"told, then out of turns", says("hm", "search x"), tell, traj.MaxTurns, []string{traj.ErrNoCall, ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row := play(t, &script{turns: tt.turns}, tt.opts)
			var errs []string
			for _, c := range row.Calls {
				errs = append(errs, c.Error)
			}
			if diff := cmp.Diff(tt.errors, errs); diff != "" || row.Stop != tt.stop {
				t.Errorf("stop %q, want %q; errors (-want +got):\n%s", row.Stop, tt.stop, diff)
			}
		})
	}
}

func TestRunRecordsFailures(t *testing.T) {
	provider := &agent.Error{Boundary: "provider", Kind: "rate_limit", Err: errors.New("status 429")}
	for _, tt := range []struct {
		name string
		err  error
		want traj.Failure
	}{
		{"plain", errors.New("broke"), traj.Failure{Boundary: "policy", Kind: "error", Message: "broke"}},
		{"attributed", provider, traj.Failure{Boundary: "provider", Kind: "rate_limit", Message: "status 429"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row := play(t, &script{turns: says("search Larkspur"), err: tt.err}, emailtest.Options())
			if diff := cmp.Diff(&tt.want, row.Failure); diff != "" || row.Stop != traj.Failed || len(row.TokenIDs) == 0 {
				t.Errorf("stop %q, %d tokens, failure (-want +got):\n%s", row.Stop, len(row.TokenIDs), diff)
			}
		})
	}
}

func TestRunWithoutARow(t *testing.T) {
	absent := emailtest.Questions()[0]
	absent.InboxAddress = "nobody@harlan.example"
	hidden := emailtest.Questions()[0]
	hidden.Evidence = "words that no mail has"
	broke := errors.New("no money")
	expert := func(g *agent.Game) { g.Policy, _ = agent.NewExpert(g.Env) }
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		ctx    context.Context //nolint:containedctx // a case of a table
		q      question.Question
		change func(*agent.Game)
		want   error
	}{
		{"absent world", t.Context(), absent, func(*agent.Game) {}, env.ErrAbsent},
		{"declined", t.Context(), hidden, expert, agent.ErrDeclined},
		{"told to stop", t.Context(), emailtest.Questions()[0], func(g *agent.Game) { g.Policy = &script{err: &agent.StopError{Err: broke}} }, broke},
		{"cancelled", cancelled, emailtest.Questions()[0], expert, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &agent.Game{Policy: &script{err: errors.New("broke")}, Env: emailtest.Open(t, emailtest.Options()), Clock: clock.Real()}
			tt.change(g)
			if rows, err := agent.Run(tt.ctx, g, &tt.q, 0); !errors.Is(err, tt.want) {
				t.Errorf("Run = %v, %v; want %v", rows, err, tt.want)
			}
		})
	}
}

func TestExpertAnswersWithItsSource(t *testing.T) {
	for _, format := range []string{"line", "json", "hermes", "llama3"} {
		opts := emailtest.Options()
		opts.ToolFormat = format
		g := &agent.Game{Env: emailtest.Open(t, opts), Clock: clock.FixedAt(time.Unix(0, 0))}
		var err error
		if g.Policy, err = agent.NewExpert(g.Env); err != nil {
			t.Fatal(err)
		}
		for _, q := range emailtest.Questions() {
			rows, err := agent.Run(t.Context(), g, &q, 0)
			if err != nil {
				t.Fatal(err)
			}
			row := rows[0]
			if row.Answer.Text != q.Answer || len(row.Answer.Sources) != len(q.MessageIDs) {
				t.Errorf("question %s: stop %q, answer %+v; want %q with sources %v", q.ID, row.Stop, row.Answer, q.Answer, q.MessageIDs)
			}
		}
	}
}
