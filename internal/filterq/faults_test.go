package filterq_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/extract"
	"agentmill/internal/filterq"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
)

// byID finds a question.
func byID(qs []question.Question, id string) *question.Question {
	for i := range qs {
		if qs[i].ID == id {
			return &qs[i]
		}
	}
	return nil
}

// firstAnswerable returns a question that the filter keeps.
func firstAnswerable(t *testing.T, qs []question.Question) question.Question {
	t.Helper()
	for _, q := range qs {
		if q.Answerable && len(q.AlsoIn) == 0 {
			return q
		}
	}
	t.Fatal("no answerable question")
	return question.Question{}
}

// TestPlantedFaults spoils a good question in one way after the other.
func TestPlantedFaults(t *testing.T) {
	w := smallWorld(t)
	w.synth(t, "q.jsonl", nil)
	kept, _, _ := w.filter(t, "q.jsonl", nil)
	good := firstAnswerable(t, kept)
	other := question.Question{}
	for _, q := range kept {
		if q.Answerable && q.InboxAddress == good.InboxAddress && q.MessageIDs[0] != good.MessageIDs[0] {
			other = q
			break
		}
	}
	for _, tt := range []struct {
		name  string
		check string
		spoil func(*question.Question)
	}{
		{"nothing is wrong", "", func(*question.Question) {}},
		{"the answer was changed", "evidence", func(q *question.Question) { q.Answer = "9999 zeppelins" }},
		{"the source was swapped", "evidence", func(q *question.Question) { q.MessageIDs = other.MessageIDs }},
		{"source and span were swapped", "evidence", func(q *question.Question) {
			q.MessageIDs, q.Spans = other.MessageIDs, other.Spans
		}},
		{"the source is in no mailbox", "evidence", func(q *question.Question) { q.MessageIDs = []string{"<none@nowhere.example>"} }},
		{"the span is outside", "evidence", func(q *question.Question) {
			q.Spans = []question.Span{{MessageID: q.MessageIDs[0], Start: 5, End: 1 << 30}}
		}},
		{"the question says the answer", "hidden", func(q *question.Question) { q.Question += " Is it " + q.Answer + "?" }},
		{"no source", "form", func(q *question.Question) { q.MessageIDs = nil }},
		{"no answer", "form", func(q *question.Question) { q.Answer = " " }},
		{"unanswerable with an answer", "form", func(q *question.Question) { q.Answerable = false }},
		{"unlikely", "realistic", func(q *question.Question) { q.HowRealistic = .1 }},
		{"another mailbox", "inbox", func(q *question.Question) { q.InboxAddress = "nobody@nowhere.example" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := good
			tt.spoil(&q)
			w.write(t, "one.jsonl", []question.Question{q})
			kept, dropped, st := w.filter(t, "one.jsonl", func(c *filterq.Config) { c.Realism = .2 })
			if tt.check == "" {
				if len(kept) != 1 {
					t.Errorf("dropped: %v", dropped[0].Checks)
				}
				return
			}
			if len(dropped) != 1 || st.Dropped[tt.check] != 1 || dropped[0].Checks[tt.check].Verdict != filterq.Drop || dropped[0].Checks[tt.check].Reason == "" {
				t.Errorf("kept %d, dropped %v: want it dropped by %s with a reason", len(kept), st.Dropped, tt.check)
			}
		})
	}
}

// mails is a small mailbox, for faults that need mails of their own.
func mails(t *testing.T, w *world, emails ...*mail.Email) {
	t.Helper()
	path := w.path("small.db")
	if err := mailstore.Build(context.Background(), path, emails, mailstore.Options{}); err != nil {
		t.Fatal(err)
	}
	store, err := mailstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w.index = store
}

func letter(owner, id, day, body string) *mail.Email {
	e := &mail.Email{MessageID: id, From: "dana.ruiz@corvane.example", To: []string{owner}, Subject: "Kickoff", Body: body, Owner: owner, Folder: "inbox"}
	if err := e.Date.UnmarshalText([]byte(day + "T10:00:00Z")); err != nil {
		panic(err)
	}
	return e
}

const (
	ana = "ana.reed@corvane.example"
	bo  = "bo.kim@corvane.example"
	cy  = "cy.holt@corvane.example"
)

// kickoff asks about the mail id of owner, whose body is the evidence.
func kickoff(owner, id, answer, day string) question.Question {
	body := "The Larkspur kickoff is set for " + answer + "."
	return question.Question{
		ID: id, Question: "When is the Larkspur kickoff?", Answer: answer, Answerable: true, MessageIDs: []string{id}, Evidence: body,
		Spans: []question.Span{{MessageID: id, Start: 0, End: len(body)}}, HowRealistic: .9, InboxAddress: owner, QueryDate: day, Kind: "date", Hops: 1, Env: "email",
	}
}

func TestRivals(t *testing.T) {
	for _, tt := range []struct {
		name, rival, day string
		kept             bool
	}{
		{"another date in the same words", "The Larkspur kickoff is set for March 20.", "2001-03-01", false},
		{"another date in other words", "They moved the kickoff of Larkspur to March 20.", "2001-03-01", false},
		{"the same date", "Remember, the Larkspur kickoff is on Monday, March 12.", "2001-03-01", true},
		{"another project", "The Marlow kickoff is set for March 20.", "2001-03-01", true},
		{"a date later than the question", "The Larkspur kickoff is set for March 20.", "2001-03-09", true},
		{"no date", "The Larkspur kickoff is set for room 1204.", "2001-03-01", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := world{dir: t.TempDir()}
			q := kickoff(ana, "<1@x>", "March 12", "2001-03-05")
			mails(t, &w, letter(ana, "<1@x>", "2001-02-28", q.Evidence), letter(ana, "<2@x>", tt.day, tt.rival))
			w.write(t, "q.jsonl", []question.Question{q})
			kept, dropped, _ := w.filter(t, "q.jsonl", nil)
			if (len(kept) == 1) != tt.kept {
				t.Errorf("kept %d; dropped %v", len(kept), dropped)
			}
		})
	}
}

func TestAbsent(t *testing.T) {
	for question0, wantKept := range map[string]bool{"When is the Larkspur kickoff?": false, "When is the Marlow kickoff?": true, "Who leads the Larkspur kickoff?": true} {
		w := world{dir: t.TempDir()}
		q := kickoff(ana, "<1@x>", "March 12", "2001-03-05")
		mails(t, &w, letter(ana, "<1@x>", "2001-02-28", q.Evidence))
		q.Question, q.Kind = question0, string(extract.KindOfQuestion(question0))
		q.Answerable, q.Answer, q.MessageIDs, q.Spans, q.Evidence = false, question.Unknown, nil, nil, ""
		w.write(t, "q.jsonl", []question.Question{q})
		kept, dropped, _ := w.filter(t, "q.jsonl", nil)
		if (len(kept) == 1) != wantKept {
			t.Errorf("%q: kept %d, dropped %v", question0, len(kept), dropped)
		}
	}
}

// TestAlsoIn checks that copies, replies and forwards that carry the evidence
// are found, and are no rivals.
func TestAlsoIn(t *testing.T) {
	w := world{dir: t.TempDir()}
	q := kickoff(ana, "<1@x>", "March 12", "2001-03-05")
	original := letter(ana, "<1@x>", "2001-02-28", q.Evidence)
	original.Copies = []mail.Copy{{MessageID: "<1b@x>", Folder: "all_documents"}}
	reply := letter(ana, "<2@x>", "2001-03-01", "Fine.\n\n> The Larkspur kickoff\n> is set for March 12.")
	mails(t, &w, original, reply, letter(ana, "<3@x>", "2001-03-01", "The Larkspur kickoff is set for Dana."))
	w.write(t, "q.jsonl", []question.Question{q})
	kept, dropped, _ := w.filter(t, "q.jsonl", nil)
	if len(kept) != 1 {
		t.Fatalf("dropped: %v", dropped)
	}
	if diff := cmp.Diff([]string{"<1b@x>", "<2@x>"}, kept[0].AlsoIn); diff != "" {
		t.Errorf("also_in (-want +got):\n%s", diff)
	}
}

// TestLeak checks that evidence which two mailboxes got stays in the more
// guarded split.
func TestLeak(t *testing.T) {
	w := world{dir: t.TempDir()}
	a, b, c := kickoff(ana, "<1@x>", "March 12", "2001-03-05"), kickoff(bo, "<2@x>", "March 12", "2001-03-05"), kickoff(cy, "<3@x>", "April 2", "2001-03-05")
	mails(t, &w, letter(ana, "<1@x>", "2001-02-28", a.Evidence), letter(bo, "<2@x>", "2001-02-28", b.Evidence), letter(cy, "<3@x>", "2001-02-28", c.Evidence))
	w.write(t, "q.jsonl", []question.Question{a, b, c})
	splits := ana + "\ttrain\n" + bo + "\ttest\n" + cy + "\ttrain\n"
	if err := os.WriteFile(w.path("splits.tsv"), []byte(splits), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, dropped, _ := w.filter(t, "q.jsonl", func(cfg *filterq.Config) { cfg.Splits = w.path("splits.tsv") })
	if byID(kept, "<2@x>") == nil || byID(kept, "<3@x>") == nil || len(dropped) != 1 || dropped[0].Checks["split_leak"].Verdict != filterq.Drop {
		t.Errorf("kept %v, dropped %v: want the train question of <1@x> dropped for a leak", kept, dropped)
	}
}

func TestDuplicates(t *testing.T) {
	w := world{dir: t.TempDir()}
	q := kickoff(ana, "<1@x>", "March 12", "2001-03-05")
	again := q
	again.ID, again.Question = "again", "Can you tell me when the Larkspur kickoff is?"
	w.index = nil
	other := kickoff(bo, "<2@x>", "May 3", "2001-03-05")
	conflict := other
	conflict.ID, conflict.Answer = "conflict", "May 4"
	w.write(t, "q.jsonl", []question.Question{q, again, other, conflict})
	kept, dropped, _ := w.filter(t, "q.jsonl", nil)
	if len(kept) != 1 || kept[0].ID != q.ID || len(dropped) != 3 {
		t.Errorf("kept %v, dropped %d: want the first kept, its repetition and both of the conflict dropped", kept, len(dropped))
	}
}
