package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"agentmill/internal/chat"
	"agentmill/internal/mail"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

func sampleEmails() []mail.Email {
	return []mail.Email{
		{
			MessageID: "<1@mill.example>", Date: time.Date(2001, 5, 14, 16, 39, 0, 123456000, time.UTC),
			DateSource: "header", From: "ada@mill.example", To: []string{"bo@mill.example", "cy@mill.example"},
			Subject: "Grüße <& \"more\">", Body: "line\n\ttab \\ \u2028 end", Owner: "ada@mill.example", Folder: "sent",
			References:  []string{"<0@mill.example>"},
			Attachments: []mail.Attachment{{Name: "a.pdf", Type: "application/pdf", Size: 1 << 40}},
			Quoted:      []mail.Span{{Start: 3, End: 9}},
			Copies:      []mail.Copy{{MessageID: "<1b@mill.example>", Folder: "all", Source: "x"}},
			Warnings:    []string{"odd charset"},
			Extra:       map[string]json.RawMessage{"mood": json.RawMessage(`{"level":[1,2,{"a":null}]}`), "a b": json.RawMessage(`"<x>"`)},
		},
		{MessageID: "<2@mill.example>", DateSource: "none", Owner: "bo@mill.example", Cc: []string{}, Labels: []string{""}},
	}
}

func sampleQuestion() question.Question {
	return question.Question{
		ID: "q1", Question: "When is the audit?", Answer: "May 3", Aliases: []string{"3 May"}, Answerable: true,
		MessageIDs: []string{"<1@mill.example>"}, HowRealistic: 0.1 + 0.2, InboxAddress: "ada@mill.example",
		QueryDate: "2001-06-01", Hops: 1, Split: question.Train,
		Spans:  []question.Span{{MessageID: "<1@mill.example>", Start: 4, End: 9}},
		Checks: map[string]question.Check{"b": {Verdict: "pass"}, "a": {Verdict: "drop", Reason: "leaked"}},
		Extra:  map[string]json.RawMessage{"custodian": json.RawMessage(`"allen-p"`)},
	}
}

func sampleScored() []traj.Scored {
	reward := -1.6
	ugly := []float32{0, -1e-30, -0.1, math.Nextafter32(-0.1, -1), -17.328679, 1.4e-45, -3.4028235e38}
	played := traj.Trajectory{
		Schema: traj.SchemaVersion, ID: "t1", Question: sampleQuestion(), Group: "g", Attempt: 2, Seed: math.MaxUint64,
		Policy: traj.Policy{Name: "p", Hash: "h"}, Sampling: traj.Sampling{Temperature: 1, TopP: 0.95, TopK: 40}, Env: "email",
		EnvOptions: traj.EnvOptions{Search: "any", MaxTurns: 6, TurnTokens: 48, MaxHits: 5, IDs: "short", OnBadCall: "stop", ToolFormat: "line"},
		Messages: []chat.Message{
			{Role: chat.System, Content: "search, read, answer"},
			{Role: chat.Assistant, Content: "search audit", ToolCalls: []chat.ToolCall{{ID: "c", Name: "search_emails", Arguments: json.RawMessage(`{"keywords":["audit"],"n":1e400}`)}}},
		},
		Tools:        []chat.Tool{{Name: "search_emails", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Calls:        []traj.Call{{Turn: 1, Tool: "search_emails", Arguments: json.RawMessage(`{"keywords":["audit"]}`), IDs: []string{"<1@mill.example>"}}, {Turn: 2, Tool: "read_email", Error: traj.ErrNoSuchMail}},
		Turns:        []chat.Turn{{PromptTokens: 100, CompletionTokens: 7, FinishReason: chat.FinishStop, Seconds: 0.25}},
		TokenIDs:     []int32{1, 2, 3, 4, 5, 6, 2147483647},
		Trained:      []bool{false, true, true, false, true, true, true},
		LogProbs:     ugly,
		LogProbsFull: ugly,
		Answer:       traj.Answer{Text: "May 3"},
		Stop:         traj.Answered,
		Usage:        chat.Usage{PromptTokens: 100, Turns: 2, Seconds: 1e-9},
		Extra:        map[string]json.RawMessage{"note": json.RawMessage(`12345678901234567890`)},
	}
	failed := traj.Trajectory{
		Schema: 1, ID: "t2", Question: sampleQuestion(), Stop: traj.Failed,
		Failure: &traj.Failure{Boundary: "tool", Kind: "io", Message: "broken"},
	}
	return []traj.Scored{
		{
			Trajectory: played, Verdict: &traj.Verdict{Correct: true, Judge: "match", Votes: []string{"yes"}}, Reward: &reward,
			RewardTerms: map[string]float64{"z": 1, "correct": -0.7, "m": 3}, Flags: []string{"loop"},
		},
		{Trajectory: failed},
	}
}

// write puts records into a file of the given name and returns its path.
func write[T Record](t *testing.T, name string, recs []T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := Create[T](path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range recs {
		if err := w.Write(&recs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

func readBytes(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func roundTrip[T Record](t *testing.T, recs []T) {
	t.Helper()
	want := readBytes(t, write(t, "a.jsonl", recs))
	for _, name := range []string{"a.parquet", "a.jsonl.gz", "a.jsonl.zst", "again.jsonl"} {
		path := write(t, name, recs)
		if !bytes.Equal(readBytes(t, path), readBytes(t, write(t, name, recs))) {
			t.Errorf("%s: two writings differ", name)
		}
		back, _, err := ReadAll[T](t.Context(), Source{Paths: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(readBytes(t, write(t, "b.jsonl", back)))); diff != "" {
			t.Errorf("JSONL → %s → JSONL differs (-want +got):\n%s", name, diff)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, sampleEmails())
	roundTrip(t, []question.Question{sampleQuestion(), {ID: "q2", Question: "Who?", Answer: question.Unknown}})
	roundTrip(t, sampleScored())
	roundTrip(t, []traj.Trajectory{sampleScored()[0].Trajectory, sampleScored()[1].Trajectory})
	roundTrip(t, []traj.Scored{})
}

func TestLogProbsAreBitEqual(t *testing.T) {
	want := sampleScored()
	got, _, err := ReadAll[traj.Scored](t.Context(), Source{Paths: []string{write(t, "a.parquet", want)}})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range want[0].LogProbs {
		if math.Float32bits(got[0].LogProbs[i]) != math.Float32bits(x) {
			t.Errorf("logprobs[%d]: got %x, want %x", i, got[0].LogProbs[i], x)
		}
	}
	if got[0].Seed != math.MaxUint64 || *got[0].Reward != *want[0].Reward {
		t.Errorf("seed %d, reward %v", got[0].Seed, *got[0].Reward)
	}
	if got[1].Verdict != nil || got[1].Reward != nil || got[1].Failure == nil {
		t.Errorf("failed attempt: verdict %v, reward %v, failure %v", got[1].Verdict, got[1].Reward, got[1].Failure)
	}
}

// publicRow has the columns and types of the public question set.
type publicRow struct {
	ID           int64    `parquet:"id"`
	Question     string   `parquet:"question,optional"`
	Answer       string   `parquet:"answer,optional"`
	MessageIDs   []string `parquet:"message_ids,list"`
	HowRealistic float32  `parquet:"how_realistic"`
	InboxAddress string   `parquet:"inbox_address"`
	QueryDate    string   `parquet:"query_date"`
	Level        int32    `parquet:"level"`
}

func TestPublicColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.parquet")
	rows := []publicRow{{7, "When?", "May", []string{"<a>", "<b>"}, 0.5, "x@y.example", "2001-01-02", 3}}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	got, _, err := ReadAll[question.Question](t.Context(), Source{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	want := []question.Question{{
		ID: "7", Question: "When?", Answer: "May", Answerable: true, MessageIDs: []string{"<a>", "<b>"}, HowRealistic: 0.5,
		InboxAddress: "x@y.example", QueryDate: "2001-01-02", Extra: map[string]json.RawMessage{"level": json.RawMessage("3")},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMissingParquetColumnIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.parquet")
	if err := parquet.WriteFile(path, []struct {
		Answer string `parquet:"answer"`
	}{{"May"}}); err != nil {
		t.Fatal(err)
	}
	_, _, err := ReadAll[question.Question](t.Context(), Source{Paths: []string{path}})
	if want := path + ":1: question: missing"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBadRecords(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"wrong type", `{"question": 3, "answer": "a"}`, "stdin:2: question: is a number, want a string"},
		{"no question", `{"answer": "a"}`, "stdin:2: question: missing"},
		{"no answer", `{"question": "q"}`, `stdin:2: answer: missing; an unanswerable question says "answerable": false`},
		{"torn", `{"question": "q", `, "stdin:2: not valid JSON: unexpected end of JSON input (byte 17)"},
		{"no object", `[1]`, "stdin:2: is an array, want an object"},
		{"blank question", `{"question":" ","answer":"a"}`, "stdin:2: question: missing"},
		{"no date", `{"question":"q","answer":"a","query_date":"yesterday"}`, `stdin:2: query_date: is "yesterday", want YYYY-MM-DD, optionally with a time behind it`},
		{"unknown split", `{"question":"q","answer":"a","split":"dev"}`, `stdin:2: split: is "dev", want train, val or test`},
		{"id is a list", `{"question":"q","answer":"a","id":[1]}`, "stdin:2: id: is [1], want a string or a number"},
		{"inner type", `{"question":"q","answer":"a","spans":[{"start":"x"}]}`, "stdin:2: spans.start: is a string, want a whole number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ReadAll[question.Question](t.Context(), Source{Stdin: strings.NewReader("\n" + tt.line + "\n")})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestBadEmails(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"no id", `{"date":"2001-05-14T16:39:00Z"}`, "stdin:1: message_id: missing"},
		{"no owner", `{"message_id":"<1>","date":"2001-05-14T16:39:00Z"}`, "stdin:1: owner: missing: want the mailbox that the mail was found in, as ingest writes it"},
		{"no date", `{"message_id":"<1>","date":"yesterday"}`, `stdin:1: date: is "yesterday", want one such as 2001-05-14T16:39:00Z`},
		{"a number", `{"message_id":"<1>","date":5}`, "stdin:1: date: want a string such as 2001-05-14T16:39:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ReadAll[mail.Email](t.Context(), Source{Stdin: strings.NewReader(tt.line)})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestBadTrajectories(t *testing.T) {
	const q = `"id":"t","stop":"answered","question":{"question":"q","answer":"a"}`
	for _, tt := range []struct{ name, line, want string }{
		{"no question", `{"id":"t","stop":"answered"}`, "stdin:1: question.question: missing"},
		{"question is a string", `{"id":"t","stop":"answered","question":"q"}`, "stdin:1: question: is a string, want an object"},
		{"newer schema", `{"schema":9,` + q + `}`, "stdin:1: schema: is 9, this version reads up to 1"},
		{"lengths differ", `{` + q + `,"token_ids":[1]}`, "stdin:1: trajectory t: token_ids has 1 entries, trained 0, logprobs 0: want equal lengths"},
		{"an attempt below 0", `{"id":"t","attempt":-1,"stop":"answered","question":{"question":"q","answer":"a"}}`, "stdin:1: attempt: is -1, want 0 or more"},
		{"unknown stop", `{"id":"t","stop":"gave_up","question":{"question":"q","answer":"a"}}`, `stdin:1: stop: is "gave_up", want one of ["answered" "abstained" "max_turns" "length" "bad_call" "failed"]`},
		{"reward out of all bounds", `{` + q + `,"reward":-1e9}`, "stdin:1: reward: is -1e+09, want 1e+06 at most, above or below 0"},
		{"a log-prob is null", `{` + q + `,"token_ids":[1,2],"trained":[true,true],"logprobs":[-0.5, null]}`, "stdin:1: logprobs[1]: is null, which is no value"},
		{"a token is null", `{` + q + `,"token_ids":[null],"trained":[true],"logprobs":[-0.5]}`, "stdin:1: token_ids[0]: is null, which is no value"},
		{"a probability above 1", `{` + q + `,"token_ids":[1,2],"trained":[true,true],"logprobs":[-0.5,0.25]}`, "stdin:1: trajectory t: logprobs[1] is 0.25: want the logarithm of a probability, 0 at most"},
		{"a token below 0", `{` + q + `,"token_ids":[1,-2],"trained":[true,true],"logprobs":[-0.5,-1]}`, "stdin:1: trajectory t: token_ids[1] is -2: want 0 or more"},
		{"the full one above 1", `{` + q + `,"logprobs_full":[1]}`, "stdin:1: trajectory t: logprobs_full[0] is 1: want the logarithm of a probability, 0 at most"},
		{"an unknown role", `{` + q + `,"messages":[{"role":"user","content":"x"},{"role":"bot","content":"x"}]}`, `stdin:1: trajectory t: messages[1].role is "bot": want system, user, assistant or tool`},
		{"reward is no number", `{` + q + `,"reward":"nan"}`, "stdin:1: reward: is a string, want a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ReadAll[traj.Scored](t.Context(), Source{Stdin: strings.NewReader(tt.line)})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestMaxErrors(t *testing.T) {
	const in = "{}\n{\"question\":\"q\",\"answer\":\"a\"}\n{\"x\n{}\n"
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	var told []string
	src := Source{Stdin: strings.NewReader(in), MaxErrors: 3, Rejects: rejects, Report: func(err error) { told = append(told, err.Error()) }}
	got, stats, err := ReadAll[question.Question](t.Context(), src)
	if err != nil || len(got) != 1 || stats != (Stats{Read: 1, Bad: 3}) || len(told) != 3 {
		t.Errorf("got %d records, %+v, told %q, error %v; want 1 record and 3 bad ones", len(got), stats, told, err)
	}
	if n := bytes.Count(readBytes(t, rejects), []byte("\n")); n != 3 {
		t.Errorf("rejects has %d lines, want 3", n)
	}
	src.Stdin, src.MaxErrors = strings.NewReader(in), 2
	_, _, err = ReadAll[question.Question](t.Context(), src)
	if err == nil || !strings.HasPrefix(err.Error(), "stdin:4: ") || !strings.HasSuffix(err.Error(), "(more than --max-errors 2)") {
		t.Errorf("got %v, want line 4 and the limit", err)
	}
}

func TestCallbackErrors(t *testing.T) {
	in := `{"question":"q","answer":"a"}`
	_, err := Read(t.Context(), Source{Stdin: strings.NewReader(in)}, func(Position, *question.Question) error {
		return Badf("split", "is missing")
	})
	if err == nil || err.Error() != "stdin:1: split: is missing" {
		t.Errorf("got %v, want a bad record", err)
	}
	stop := errors.New("disk full")
	_, err = Read(t.Context(), Source{Stdin: strings.NewReader(in), MaxErrors: 9}, func(Position, *question.Question) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
}

func TestPipes(t *testing.T) {
	want := []question.Question{sampleQuestion()}
	for _, name := range []string{"a.parquet", "a.jsonl.gz", "a.jsonl.zst", "a.jsonl"} {
		data := readBytes(t, write(t, name, want))
		got, _, err := ReadAll[question.Question](t.Context(), Source{Paths: []string{"-"}, Stdin: bytes.NewReader(data)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got) != 1 || got[0].ID != "q1" {
			t.Errorf("%s on a pipe: got %v", name, got)
		}
	}
	var out bytes.Buffer
	w, err := Create[question.Question]("-", &out)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(&want[0]), w.Commit()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(readBytes(t, write(t, "a.jsonl", want))), out.String()); diff != "" {
		t.Errorf("standard output (-file +stdout):\n%s", diff)
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	var cut bytes.Buffer
	z := gzip.NewWriter(&cut)
	io.WriteString(z, strings.Repeat(`{"question":"q","answer":"a"}`+"\n", 1000))
	z.Close()
	files := map[string][]byte{
		"torn.parquet": readBytes(t, write(t, "a.parquet", sampleEmails()))[:300],
		"no.parquet":   []byte("hello"),
		"cut.jsonl.gz": cut.Bytes()[:cut.Len()-9],
		"no.jsonl.gz":  nil,
		"no.jsonl.zst": nil,
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadAll[question.Question](t.Context(), Source{Paths: []string{path}})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names it", name, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "absent.jsonl")} {
		if _, _, err := ReadAll[question.Question](t.Context(), Source{Paths: []string{path}}); err == nil {
			t.Errorf("%s: got no error", path)
		}
	}
}

// TestDamagedParquet reads a file with one wrong byte in its directory: that may
// be an error, never a panic.
func TestDamagedParquet(t *testing.T) {
	whole := readBytes(t, write(t, "a.parquet", sampleEmails()))
	path := filepath.Join(t.TempDir(), "a.parquet")
	for i := len(whole) - 1200; i < len(whole); i += 9 {
		data := bytes.Clone(whole)
		data[i] ^= 0xff
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadAll[mail.Email](t.Context(), Source{Paths: []string{path}})
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("byte %d: %v: want an error that names the file", i, err)
		}
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	w, err := Create[mail.Email](path, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := sampleEmails()[0]
	if err := w.Write(&rec); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if n := len(left) + len(hidden); n != 0 {
		t.Errorf("%d files left: %v %v", n, left, hidden)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := ReadAll[question.Question](ctx, Source{Stdin: strings.NewReader(`{"question":"q","answer":"a"}`)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestSharedQuestions reads a real question file, where one is at hand.
func TestSharedQuestions(t *testing.T) {
	dir := os.Getenv("AGENTMILL_SHARED")
	if dir == "" {
		t.Skip("AGENTMILL_SHARED is unset: no real question file")
	}
	got, stats, err := ReadAll[question.Question](t.Context(), Source{Paths: []string{filepath.Join(dir, "enron", "questions.jsonl.gz")}})
	if err != nil || stats.Read < 1000 {
		t.Fatalf("read %d, error %v", stats.Read, err)
	}
	roundTrip(t, got)
}

func BenchmarkReadParquet(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.parquet")
	w, err := Create[mail.Email](path, nil)
	if err != nil {
		b.Fatal(err)
	}
	e := sampleEmails()[0]
	e.Body = strings.Repeat("Please find the meter readings below.\n", 60)
	for range 2000 {
		if err := w.Write(&e); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read(b.Context(), Source{Paths: []string{path}}, func(Position, *mail.Email) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
