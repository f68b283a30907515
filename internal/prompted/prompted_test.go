package prompted

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/llm"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// A model says given replies, one a request.
type model struct {
	replies []llm.Reply
	err     error
	got     []llm.Request
}

func (*model) Model() string { return "m" }

func (m *model) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	m.got = append(m.got, r)
	if len(m.got) > len(m.replies) {
		return llm.Reply{}, m.err
	}
	return m.replies[len(m.got)-1], nil
}

func text(s string) llm.Reply {
	return llm.Reply{Text: s, Finish: chat.FinishStop, USD: .25, Usage: llm.Usage{PromptTokens: 10, CompletionTokens: 2, CachedTokens: 4}}
}

// calls is a reply by structured calls, given as name and arguments in turn.
func calls(id string, parts ...string) llm.Reply {
	r := text("")
	for i := 0; i < len(parts); i += 2 {
		r.ToolCalls = append(r.ToolCalls, chat.ToolCall{ID: id, Name: parts[i], Arguments: json.RawMessage(parts[i+1])})
	}
	return r
}

func play(t *testing.T, cfg Config, format string, prompt *Prompt) (*traj.Trajectory, error) {
	t.Helper()
	opts := emailtest.Options()
	opts.ToolFormat = format
	cfg.Native = format == "native"
	g := &agent.Game{
		Policy: New(cfg), Env: emailtest.Open(t, opts), Seed: 7, Clock: clock.FixedAt(time.Unix(0, 0)), Sampling: traj.Sampling{Temperature: 1, TopP: 1},
	}
	if prompt != nil {
		g.Prompt = prompt.Rewrite
	}
	rows, err := agent.Run(t.Context(), g, &emailtest.Questions()[0], 0)
	if err != nil {
		return nil, err
	}
	return rows[0], rows[0].Check()
}

func TestTextAndNativeCallsGiveTheSameRow(t *testing.T) {
	lines := &model{replies: []llm.Reply{text("search Larkspur kickoff"), text("read 1"), text("answer Thursday | 1")}}
	written, err := play(t, Config{Client: lines}, "line", nil)
	if err != nil {
		t.Fatal(err)
	}
	structured := &model{replies: []llm.Reply{
		calls("a", "search_emails", `{"keywords":["Larkspur","kickoff"]}`),
		calls("", "read_email", `{"message_id":1}`, "read_email", `{"message_id":2}`),
		calls("c", "return_final_answer", `{"answer":"Thursday","sources":[1]}`),
	}}
	native, err := play(t, Config{Client: structured, ToolChoice: "required"}, "native", nil)
	if err != nil {
		t.Fatal(err)
	}
	if written.Cost.USD != .75 || written.Usage != (chat.Usage{PromptTokens: 30, CompletionTokens: 6, CachedTokens: 12, Turns: 3}) {
		t.Errorf("cost %+v, usage %+v", written.Cost, written.Usage)
	}
	for i, c := range native.Calls {
		if diff := cmp.Diff(written.Calls[i].IDs, c.IDs); diff != "" || c.Tool != written.Calls[i].Tool || c.Error != "" {
			t.Errorf("call %d: %+v (-written +native):\n%s", i, c, diff)
		}
	}
	if diff := cmp.Diff(written.Answer, native.Answer); diff != "" || native.Stop != traj.Answered {
		t.Errorf("stop %s, answer (-written +native):\n%s", native.Stop, diff)
	}
	if len(lines.got[0].Tools) != 0 || len(structured.got[0].Tools) != 3 || structured.got[0].ToolChoice != "required" {
		t.Errorf("tools were sent as %v and %v", lines.got[0].Tools, structured.got[0].Tools)
	}
	checkParallel(t, structured.got[2].Messages)
}

// checkParallel: of two calls in a turn the first is played, and each is answered.
func checkParallel(t *testing.T, sent []chat.Message) {
	t.Helper()
	turn := sent[len(sent)-3:]
	if len(turn[0].ToolCalls) != 2 || turn[0].ToolCalls[0].ID == "" || turn[0].ToolCalls[0].ID == turn[0].ToolCalls[1].ID {
		t.Fatalf("the model's turn is sent back as %+v", turn[0])
	}
	for i, m := range turn[1:] {
		if m.Role != chat.ToolRole || m.ToolCallID != turn[0].ToolCalls[i].ID || strings.HasPrefix(m.Content, "not done") != (i == 1) {
			t.Errorf("call %d is answered by %+v", i, m)
		}
	}
}

func TestMalformedCallsAreRubricRows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply llm.Reply
		want  string
	}{
		{"arguments that are no JSON", calls("a", "read_email", `"{\"mess"`), traj.ErrUnparsable},
		{"arguments that are a list", calls("a", "read_email", `[1]`), traj.ErrBadArgs},
		{"an argument of the wrong type", calls("a", "search_emails", `{"keywords":"x"}`), traj.ErrBadArgs},
		{"no such tool", calls("a", "delete_email", `{}`), traj.ErrUnknownTool},
		{"prose", text("It is on Thursday."), traj.ErrNoCall},
		{"nothing", text(""), traj.ErrNoCall},
		{"a call that the server did not see", text("<tool_call>\n{\"name\":\"search_emails\""), traj.ErrUnparsable},
	} {
		row, err := play(t, Config{Client: &model{replies: []llm.Reply{tt.reply}}}, "native", nil)
		if err != nil || row.Stop != traj.BadCall || row.Calls[0].Error != tt.want {
			t.Errorf("%s: %v, stop %s, calls %+v; want %s", tt.name, err, row.Stop, row.Calls, tt.want)
		}
	}
}

func TestFailures(t *testing.T) {
	down := &llm.Error{Kind: traj.KindServer, Err: errors.New("down")}
	row, err := play(t, Config{Client: &model{err: down}}, "line", nil)
	if err != nil || row.Failure == nil || row.Failure.Boundary != "provider" || !row.Failure.Passing() {
		t.Errorf("a server that is down: %v, %+v", err, row.Failure)
	}
	for _, stop := range []error{llm.ErrBudget, llm.ErrNotCached} {
		if row, err := play(t, Config{Client: &model{err: stop}}, "line", nil); !errors.Is(err, stop) {
			t.Errorf("%v became %v and the row %v; want it to end the run", stop, err, row)
		}
	}
	row, err = play(t, Config{Client: sleeper{}, Deadline: time.Millisecond}, "line", nil)
	if err != nil || row.Failure == nil || row.Failure.Kind != traj.KindTimeout {
		t.Errorf("past the deadline of a record: %v, %+v", err, row)
	}
}

// A sleeper is a model that never answers.
type sleeper struct{}

func (sleeper) Complete(ctx context.Context, _ llm.Request) (llm.Reply, error) {
	<-ctx.Done()
	return llm.Reply{}, llm.Ended(ctx)
}

func (sleeper) Model() string { return "m" }

// tokens is a reply of ids after a prompt of ids.
func tokens(s string, prompt, ids []int32) llm.Reply {
	r := text(s)
	r.PromptTokenIDs, r.TokenIDs = prompt, ids
	for range ids {
		r.LogProbs = append(r.LogProbs, -.5)
	}
	return r
}

func TestTokensAreTakenWhereOffered(t *testing.T) {
	whole := []llm.Reply{tokens("search x", []int32{1, 2}, []int32{3, 4}), tokens("answer y", []int32{1, 2, 3, 4, 9}, []int32{5})}
	rewritten := []llm.Reply{whole[0], tokens("answer y", []int32{1, 2, 3, 8, 9}, []int32{5})}
	for _, tt := range []struct {
		name    string
		replies []llm.Reply
		want    agent.Trace // empty: text only
	}{
		{"each turn goes on from the last", whole, agent.Trace{
			TokenIDs: []int32{1, 2, 3, 4, 9, 5}, Trained: []bool{false, false, true, true, false, true}, LogProbs: []float32{0, 0, -.5, -.5, 0, -.5},
		}},
		{"history was rewritten", rewritten, agent.Trace{}},
		{"a turn has none", []llm.Reply{whole[0], text("answer y")}, agent.Trace{}},
	} {
		m := &model{replies: tt.replies}
		row, err := play(t, Config{Client: m, LogProbs: true}, "line", nil)
		if err != nil || !m.got[0].LogProbs {
			t.Fatalf("%s: %v, asked with %+v", tt.name, err, m.got[0])
		}
		if diff := cmp.Diff(tt.want, agent.Trace{TokenIDs: row.TokenIDs, Trained: row.Trained, LogProbs: row.LogProbs}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	p := New(Config{Client: &model{replies: []llm.Reply{text("answer y")}}, LogProbs: true})
	s, err := p.Begin(t.Context(), agent.Task{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context(), nil); err != nil || s.Close() != nil || p.TextOnly() != 1 {
		t.Errorf("%v, %d attempts counted as text only, want 1", err, p.TextOnly())
	}
}

func TestPromptReplacesTheBuiltIn(t *testing.T) {
	p := new(Prompt)
	if err := p.SetSystem("s.txt", "Find it in {{.Inbox}}.\n{{.Default}}\n"); err != nil {
		t.Fatal(err)
	}
	line := `{"id":"x","messages":[{"role":"system","content":"old"},{"role":"user","content":"Q?"},{"role":"assistant","content":"answer A | 1"}]}`
	if err := p.ReadExamples("e.jsonl", strings.NewReader(line+"\n"+line)); err != nil {
		t.Fatal(err)
	}
	m := &model{replies: []llm.Reply{text("answer I don't know")}}
	row, err := play(t, Config{Client: m}, "line", p)
	if err != nil {
		t.Fatal(err)
	}
	var roles []chat.Role
	for _, x := range m.got[0].Messages {
		roles = append(roles, x.Role)
	}
	if diff := cmp.Diff([]chat.Role{"system", "user", "assistant", "user", "assistant", "user"}, roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	system := m.got[0].Messages[0].Content
	if !strings.HasPrefix(system, "Find it in "+emailtest.Questions()[0].InboxAddress+".\nYou answer questions") {
		t.Errorf("system message %q", system)
	}
	if diff := cmp.Diff(m.got[0].Messages, row.Messages[:6]); diff != "" {
		t.Errorf("the row holds something else than the model saw:\n%s", diff)
	}
}

func TestPromptFilesThatAreWrong(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{{.Inbox", "system prompt: template: s.txt:1"},
		{"{{.Answer}}", "want {{.Default}} (the built-in text) or {{.Inbox}}"},
	} {
		if err := new(Prompt).SetSystem("s.txt", tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("SetSystem(%q) = %v, want an error with %q", tt.text, err, tt.want)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"", "e.jsonl: holds none"},
		{`{"messages":[{"role":"user","content":"x"}]}`, "e.jsonl:1: messages: want a conversation"},
		{`{"messages":[{"role":"robot","content":"x"}]}`, `messages[0].role: is "robot"`},
		{`{"messages":3}`, "e.jsonl:1: messages: is a number"},
	} {
		if err := new(Prompt).ReadExamples("e.jsonl", strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ReadExamples(%q) = %v, want an error with %q", tt.text, err, tt.want)
		}
	}
}

func TestPromptsHaveTheirOwnHashes(t *testing.T) {
	a, b := new(Prompt), new(Prompt)
	if err := errors.Join(a.SetSystem("a", "x"), b.SetSystem("b", "y")); err != nil || a.Hash() == b.Hash() {
		t.Errorf("%v, hashes %s and %s", err, a.Hash(), b.Hash())
	}
}

func TestExampleEndsWithAResultOfItsCall(t *testing.T) {
	p := new(Prompt)
	line := `{"messages":[{"role":"user","content":"Q?"},{"role":"assistant","content":"","tool_calls":[{"id":"c","name":"return_final_answer","arguments":{}}]}]}`
	if err := p.ReadExamples("e.jsonl", strings.NewReader(line)); err != nil {
		t.Fatal(err)
	}
	own := []chat.Message{{Role: chat.System, Content: "s"}, {Role: chat.User, Content: "u"}}
	got, err := p.Rewrite(&question.Question{}, own)
	if err != nil || len(got) != 5 || got[3].ToolCallID != "c" {
		t.Errorf("Rewrite = %+v, %v", got, err)
	}
}
