package email_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/env"
	"agentmill/internal/env/email"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/env/envtest"
	"agentmill/internal/question"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

func TestContract(t *testing.T) {
	for _, change := range []func(*traj.EnvOptions){
		func(*traj.EnvOptions) {},
		func(o *traj.EnvOptions) { o.Search = "all" },
		func(o *traj.EnvOptions) { o.IDs, o.ToolFormat = "full", "json" },
		func(o *traj.EnvOptions) { o.MailWords = 0 },
	} {
		opts := emailtest.Options()
		change(&opts)
		t.Run(fmt.Sprint(opts), func(t *testing.T) {
			envtest.Run(t, envtest.Case{
				New:       func(t *testing.T) env.Env { return emailtest.Open(t, opts) },
				Questions: emailtest.Questions(),
				Call:      toolformat.Search(toolformat.SearchArgs{Keywords: []string{"the"}}),
			})
		})
	}
}

func episode(t *testing.T, opts traj.EnvOptions, number int) env.Episode {
	t.Helper()
	ep, err := emailtest.Open(t, opts).Open(t.Context(), &emailtest.Questions()[number])
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

func call(t *testing.T, ep env.Episode, name, args string) env.Result {
	t.Helper()
	res, err := ep.Call(t.Context(), chat.ToolCall{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s(%s): %v", name, args, err)
	}
	return res
}

func TestPrompt(t *testing.T) {
	prompt := episode(t, emailtest.Options(), 0).Prompt()
	want := []chat.Message{
		{Role: chat.System, Content: "You answer questions about the mailbox of dana.ruiz@harlan.example. " + toolformat.Line{}.Describe(nil) + " A search takes any of its words, best first."},
		{Role: chat.User, Content: "Today is 2001-04-01. When is the Larkspur kickoff?"},
	}
	if diff := cmp.Diff(want, prompt); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}

func TestTodayIsTheNewestMailsDayWithoutADate(t *testing.T) {
	q := emailtest.Questions()[0]
	q.QueryDate = ""
	ep, err := emailtest.Open(t, emailtest.Options()).Open(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	if got := ep.Prompt()[1].Content; !strings.HasPrefix(got, "Today is 2001-03-08. ") {
		t.Errorf("user message %q, want the day of the mailbox's newest mail", got)
	}
}

func TestSearchShowsHits(t *testing.T) {
	ep := episode(t, emailtest.Options(), 0)
	got := call(t, ep, "search_emails", `{"keywords":["Larkspur","kickoff"]}`)
	want := env.Result{
		Content: "1 2001-03-05 omar.holt: Larkspur kickoff | Dana, The Larkspur kickoff is on Thursday, March 22 at 2:30…\n" +
			"2 2001-03-05 kenji.abe: Larkspur drawings | The Larkspur drawings are with the printer. The kickoff has no fixed…\n" +
			"11 2001-03-08 news.desk: Weekly bulletin | Parking, cafeteria, printer news and the kickoff of the choir. Nothing else…",
		IDs: []string{"<d1@harlan.example>", "<d2@harlan.example>", "<d11@harlan.example>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
	if got := call(t, ep, "search_emails", `{"keywords":["zebra"]}`); got.Content != "0 hits" || got.Error != "" {
		t.Errorf("search without a hit = %+v, want 0 hits and no error", got)
	}
}

func TestSearchKeepsToTheMailbox(t *testing.T) {
	ep := episode(t, emailtest.Options(), 0)
	if got := call(t, ep, "search_emails", `{"keywords":["Tulsa"]}`); got.Content != "0 hits" {
		t.Errorf("search for another mailbox's word = %q", got.Content)
	}
	if got := call(t, ep, "read_email", `{"message_id":"15"}`); got.Error != traj.ErrNoSuchMail {
		t.Errorf("read of another mailbox's row = %+v, want %s", got, traj.ErrNoSuchMail)
	}
}

func TestRead(t *testing.T) {
	for _, id := range []string{`"1"`, "1", `"<d1@harlan.example>"`, `"d1@harlan.example"`, `" d1-copy@harlan.example "`, `"<d1-copy@harlan.example>"`} {
		got := call(t, episode(t, emailtest.Options(), 0), "read_email", `{"message_id":`+id+`}`)
		want := env.Result{
			Content: "2001-03-05 09:00 from omar.holt to dana.ruiz: Larkspur kickoff\nDana, The Larkspur kickoff is on Thursday, March 22 at 2:30 pm in room 1204. Bring the drawings. Omar",
			IDs:     []string{"<d1@harlan.example>"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read %s (-want +got):\n%s", id, diff)
		}
	}
}

func TestLongMailIsCutWithANote(t *testing.T) {
	opts := emailtest.Options()
	opts.MailWords = 7
	got := call(t, episode(t, opts, 0), "read_email", `{"message_id":"7"}`)
	if want := "\nThe yard is open from 7 am … (65 more words)"; !strings.HasSuffix(got.Content, want) {
		t.Errorf("read = %q, want it to end with %q", got.Content, want)
	}
}

func TestMistakes(t *testing.T) {
	full := emailtest.Options()
	full.IDs = "full"
	tests := []struct {
		name, tool, args, kind string
		opts                   traj.EnvOptions
	}{
		{"no keywords", "search_emails", `{"keywords":[]}`, traj.ErrBadArgs, emailtest.Options()},
		{"keywords without a letter", "search_emails", `{"keywords":["-"]}`, traj.ErrBadArgs, emailtest.Options()},
		{"keywords not a list", "search_emails", `{"keywords":"a"}`, traj.ErrBadArgs, emailtest.Options()},
		{"more hits than allowed", "search_emails", `{"keywords":["a"],"max_results":6}`, traj.ErrBadArgs, emailtest.Options()},
		{"no date", "search_emails", `{"keywords":["a"],"sent_after":"May 4"}`, traj.ErrBadArgs, emailtest.Options()},
		{"no id", "read_email", `{}`, traj.ErrBadArgs, emailtest.Options()},
		{"bare integer where ids are Message-IDs", "read_email", `{"message_id":1}`, traj.ErrBadArgs, full},
		{"row where ids are Message-IDs", "read_email", `{"message_id":"1"}`, traj.ErrNoSuchMail, full},
		{"id of no mail", "read_email", `{"message_id":"999"}`, traj.ErrNoSuchMail, emailtest.Options()},
		{"no answer", "return_final_answer", `{"sources":[]}`, traj.ErrBadArgs, emailtest.Options()},
		{"no sources", "return_final_answer", `{"answer":"x"}`, traj.ErrBadArgs, emailtest.Options()},
		{"unknown tool", "delete_email", `{}`, traj.ErrUnknownTool, emailtest.Options()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := call(t, episode(t, tt.opts, 0), tt.tool, tt.args); got.Error != tt.kind {
				t.Errorf("%s(%s) = %+v, want error %s", tt.tool, tt.args, got, tt.kind)
			}
		})
	}
}

func TestAnswerNamesMessageIDs(t *testing.T) {
	got := call(t, episode(t, emailtest.Options(), 0), "return_final_answer", `{"answer":"x","sources":["1",1,"<d1-copy@harlan.example>","999"]}`)
	want := &traj.Answer{Text: "x", Sources: []string{"<d1@harlan.example>", "999"}}
	if diff := cmp.Diff(want, got.Answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestNewRefusesRules(t *testing.T) {
	for _, change := range []func(*traj.EnvOptions){
		func(o *traj.EnvOptions) { o.Search = "some" },
		func(o *traj.EnvOptions) { o.IDs = "" },
		func(o *traj.EnvOptions) { o.OnBadCall = "shout" },
		func(o *traj.EnvOptions) { o.MaxTurns = 0 },
		func(o *traj.EnvOptions) { o.TurnTokens = 0 },
		func(o *traj.EnvOptions) { o.MaxHits = 11 },
		func(o *traj.EnvOptions) { o.MailWords = -1 },
		func(o *traj.EnvOptions) { o.ToolFormat = "xml" },
	} {
		opts := email.Defaults()
		change(&opts)
		if _, err := email.New(nil, opts); err == nil {
			t.Errorf("New(%+v) succeeded", opts)
		}
	}
}

func TestEvidenceOutOfSightIsNoDemonstration(t *testing.T) {
	q := question.Question{
		ID: "late", Question: "Who leads the next safety round?", Answer: "Rita Vance", Answerable: true,
		Evidence: "next safety round is led by Rita Vance", MessageIDs: []string{"<d10@harlan.example>"}, InboxAddress: emailtest.Dana,
	}
	opts := emailtest.Options()
	for words, want := range map[int]string{opts.MailWords: "the evidence is not in the part of a mail that is shown", 0: ""} {
		opts.MailWords = words
		if _, err := emailtest.Open(t, opts).Demonstrate(t.Context(), &q, 1); (err != nil || want != "") && !errors.Is(err, env.UnsolvedError(want)) {
			t.Errorf("mail words %d: %v, want %q", words, err, want)
		}
	}
}

func TestWhyNoDemonstration(t *testing.T) {
	few := emailtest.Options()
	few.MaxTurns = 2
	for _, tt := range []struct {
		change func(*question.Question)
		opts   traj.EnvOptions
		want   env.UnsolvedError
	}{
		{func(q *question.Question) { q.MessageIDs = []string{"<gone@harlan.example>"} }, emailtest.Options(), "a gold mail is not in the mailbox"},
		{func(q *question.Question) { q.Question, q.Evidence = "Who?", "" }, emailtest.Options(), "no search by words of the question or its evidence finds a gold mail"},
		{func(q *question.Question) { q.Answer = strings.Repeat("so ", 99) }, emailtest.Options(), "the answer is longer than a turn"},
		{func(*question.Question) {}, few, "there are fewer turns than it takes"},
		{func(q *question.Question) { q.Question, q.Answerable = "Who?", false }, emailtest.Options(), "the question has no word to search for"},
	} {
		q := emailtest.Questions()[0]
		tt.change(&q)
		if _, err := emailtest.Open(t, tt.opts).Demonstrate(t.Context(), &q, 1); !errors.Is(err, tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func TestDemonstrationsShowRecoveries(t *testing.T) {
	e := emailtest.Open(t, emailtest.Options())
	kinds := map[string]int{}
	q := emailtest.Questions()[3]
	for seed := range uint64(200) {
		calls, err := e.Demonstrate(t.Context(), &q, seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var names []string
		for _, c := range calls {
			names = append(names, c.Name[:4])
		}
		kinds[strings.Join(names, " ")]++
	}
	want := map[string]int{"sear read retu": 155, "sear sear read retu": 16, "sear read read retu": 29}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds of 200 demonstrations (-want +got):\n%s", diff)
	}
	if got, want := e.Report(), "expert: 200 of 200 solved; 0 whose first search missed, 0 found only by words of the evidence; shown on purpose: 16 misses, 29 wrong mails"; got != want {
		t.Errorf("Report() = %q, want %q", got, want)
	}
}

func TestFirstMissIsShownAndEvidenceIsTheLastResort(t *testing.T) {
	q := question.Question{
		ID: "other-words", Question: "Who is printing the choir?", Answer: "toner", Answerable: true,
		Evidence: "second floor is out of toner again", MessageIDs: []string{"<d13@harlan.example>"}, InboxAddress: emailtest.Dana,
	}
	e := emailtest.Open(t, emailtest.Options())
	calls, err := e.Demonstrate(t.Context(), &q, 1)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range calls {
		lines = append(lines, toolformat.Line{}.Render(c))
	}
	want := []string{"search printing choir", "search second floor toner", "read 13", "answer toner | 13"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("demonstration (-want +got):\n%s", diff)
	}
	if got := e.Report(); !strings.Contains(got, "1 whose first search missed, 1 found only by words of the evidence") {
		t.Errorf("Report() = %q", got)
	}
}
