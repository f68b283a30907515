// Package emailtest is a small made-up office for tests: two mailboxes, some
// twenty mails, and questions about them.
//
// Most callers want Open and Questions.
package emailtest

import (
	"path/filepath"
	"testing"
	"time"

	"agentmill/internal/env/email"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// The owners of the two mailboxes.
const (
	Dana = "dana.ruiz@harlan.example"
	Omar = "omar.holt@harlan.example"
)

// Options are small limits, as pipelines use them.
func Options() traj.EnvOptions {
	o := email.Defaults()
	o.MaxTurns, o.TurnTokens, o.MaxHits, o.MailWords = 6, 48, 5, 60
	return o
}

// Open makes the office's environment. It is closed with the test.
func Open(t testing.TB, opts traj.EnvOptions) *email.Env {
	t.Helper()
	store, err := mailstore.Open(Index(t))
	if err != nil {
		t.Fatal(err)
	}
	e, err := email.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// Index writes the office's index and returns its path.
func Index(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inbox.db")
	opt := mailstore.Options{Mailboxes: []mailstore.Mailbox{{Owner: Dana, Name: "ruiz-d", Aliases: []string{"d.ruiz@harlan.example"}}}}
	if err := mailstore.Build(t.Context(), path, mails(), opt); err != nil {
		t.Fatal(err)
	}
	return path
}

// A letter is a mail in short form; copies are ids of other copies of it.
type letter struct {
	id, owner, from, to, subject, body string
	copies                             []string
}

func mails() []*mail.Email {
	start := time.Date(2001, 3, 5, 9, 0, 0, 0, time.UTC)
	var out []*mail.Email
	for i, l := range letters {
		m := &mail.Email{
			MessageID: "<" + l.id + "@harlan.example>", Date: start.Add(time.Duration(i) * 7 * time.Hour), DateSource: "header",
			From: l.from + "@harlan.example", To: []string{l.to + "@harlan.example"}, Subject: l.subject, Body: l.body, Owner: l.owner, Folder: "inbox",
		}
		for _, c := range l.copies {
			m.Copies = append(m.Copies, mail.Copy{MessageID: "<" + c + "@harlan.example>", Folder: "all", Source: "copy"})
		}
		out = append(out, m)
	}
	return out
}

// filler makes a body longer than the words that are shown.
const filler = " The rest of this note lists who was there, what was eaten, which doors were locked, how the lift was fixed, why the plants in the hall are dry, whom to thank for the cake, and what the weather did on the day that we all stood outside because of the drill that nobody had been told about beforehand."

var letters = []letter{
	{"d1", Dana, "omar.holt", "dana.ruiz", "Larkspur kickoff", "Dana,\n\nThe Larkspur kickoff is on Thursday, March 22 at 2:30 pm in room 1204. Bring the drawings.\n\nOmar", []string{"d1-copy"}},
	{"d2", Dana, "kenji.abe", "dana.ruiz", "Larkspur drawings", "The Larkspur drawings are with the printer. The kickoff has no fixed room that I know of.", nil},
	{"d3", Dana, "rita.vance", "dana.ruiz", "Pump prices", "We agreed on $4,150 for each pump with Orvane Supply, delivery within three weeks.", nil},
	{"d4", Dana, "rita.vance", "dana.ruiz", "Pump delivery", "The pump crates go to the north entrance. Orvane will call before they come.", nil},
	{"d5", Dana, "omar.holt", "dana.ruiz", "Survey", "Please return the Harlan survey by Friday, April 6. It takes ten minutes.", nil},
	{"d6", Dana, "paula.stern", "dana.ruiz", "Gate code", "The new gate code for the yard is 4471. Do not share it.", nil},
	{"d7", Dana, "paula.stern", "dana.ruiz", "Yard hours", "The yard is open from 7 am to 4 pm. The gate squeaks." + filler, nil},
	{"d8", Dana, "kenji.abe", "dana.ruiz", "Annex lease", "The annex lease runs five years; the rent is $12,800 a month. Sign before the end of May.", nil},
	{"d9", Dana, "lena.moss", "dana.ruiz", "Lunch", "Lunch with the Orvane people is at the Harbor Grill at noon.", nil},
	{"d10", Dana, "omar.holt", "dana.ruiz", "Minutes of the safety round", filler + " The next safety round is led by Rita Vance.", nil},
	{"d11", Dana, "news.desk", "dana.ruiz", "Weekly bulletin", "Parking, cafeteria, printer news and the kickoff of the choir. Nothing else this week.", nil},
	{"d12", Dana, "rita.vance", "dana.ruiz", "Pump warranty", "The pump warranty from Orvane covers two years, parts only.", nil},
	{"d13", Dana, "kenji.abe", "dana.ruiz", "Printer", "The printer on the second floor is out of toner again.", nil},
	{"o1", Omar, "dana.ruiz", "omar.holt", "Re: Larkspur kickoff", "Omar, I will bring the drawings to the Larkspur kickoff. Dana", nil},
	{"o2", Omar, "paula.stern", "omar.holt", "Flight", "You are on flight NB 482 to Tulsa, leaving at 6:15 am on Monday.", nil},
	{"o3", Omar, "paula.stern", "omar.holt", "Hotel in Tulsa", "Your hotel in Tulsa is the Alder Inn; confirmation number KX72QD.", nil},
	{"o4", Omar, "rita.vance", "omar.holt", "Budget", "The board approved 7.5% more for maintenance.", nil},
	{"o5", Omar, "rita.vance", "omar.holt", "Budget again", "The maintenance budget is final. Travel is cut.", nil},
}

// Questions are about both mailboxes, in a fixed order.
func Questions() []question.Question {
	out := []question.Question{
		ask("q1", Dana, "When is the Larkspur kickoff?", "Thursday, March 22", "kickoff is on Thursday, March 22 at 2:30 pm", "d1"),
		ask("q2", Dana, "How much do we pay Orvane for each pump?", "$4,150", "We agreed on $4,150 for each pump", "d3"),
		ask("q3", Dana, "What is the gate code for the yard?", "4471", "gate code for the yard is 4471", "d6"),
		ask("q4", Dana, "By when should the survey about the printer be returned?", "Friday, April 6", "return the Harlan survey by Friday, April 6", "d5"),
		ask("q5", Omar, "Which flight am I on to Tulsa?", "NB 482", "flight NB 482 to Tulsa", "o2"),
		ask("q6", Omar, "What percentage more did the board approve for maintenance?", "7.5%", "The board approved 7.5% more", "o4"),
		ask("q7", Dana, "What do the pump warranty and the pump price say about Orvane?", "two years and $4,150", "warranty from Orvane covers two years", "d12", "d3"),
		ask("q8", Dana, "What is the rent for the annex?", "$12,800 a month", "the rent is $12,800 a month", "d8"),
	}
	unknown := ask("q9", Dana, "Who painted the north entrance?", question.Unknown, "")
	unknown.Answerable, unknown.MessageIDs = false, nil
	return append(out, unknown)
}

func ask(id, inbox, text, answer, evidence string, mails ...string) question.Question {
	q := question.Question{
		ID: id, Question: text, Answer: answer, Aliases: []string{}, Answerable: true, AlsoIn: []string{}, Evidence: evidence,
		InboxAddress: inbox, QueryDate: "2001-04-01", Hops: max(1, len(mails)), Env: email.Name, Split: question.Train,
	}
	for _, m := range mails {
		q.MessageIDs = append(q.MessageIDs, "<"+m+"@harlan.example>")
	}
	return q
}
