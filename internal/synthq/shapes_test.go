package synthq

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agentmill/internal/extract"
	"agentmill/internal/mail"
	"agentmill/internal/mailbox"
)

// direct are the questions of candidates, each in its first way, with answers.
func direct(cs []candidate) []string {
	var got []string
	for _, c := range cs {
		got = append(got, capital(c.ways[0].direct)+" "+c.answer)
	}
	return got
}

func TestNotices(t *testing.T) {
	const block = "Please come.\n\nDate: Friday, May 4\nTime: 2:30 pm\nWhere: room 1204 (by the stairs)\nCost: $15 for lunch\nDial-in: 503-555-0101\nPasscode: 4471#\n"
	for _, tt := range []struct {
		name, subject, body string
		want                []string
	}{
		{"an event", "RE: Harvest Training", block, []string{
			"When is the Harvest Training? Friday, May 4", "What time is the Harvest Training? 2:30 pm", "Where is the Harvest Training? room 1204",
			"How much does the Harvest Training cost? $15", "What number do I dial for the Harvest Training? 503-555-0101", "What is the passcode for the Harvest Training? 4471",
		}},
		{"which meeting?", "Meeting", block, nil},
		{"no event", "Larkspur invoices", block, nil},
		{"a change of it", "Harvest Training rescheduled", block, nil},
		{"a question", "Harvest Training?", block, nil},
		{"one line is no notice", "Harvest Training", "Time: 2:30 pm\n", nil},
		{"the header of a mail", "Harvest Training", "From: Bo\nDate: May 3\nTo: Ana\n", nil},
		{"two of them", "Harvest Training", "Date: May 3\nTime: 1 pm\n\nor\n\nDate: May 4\nTime: 1 pm\n", nil},
		{"not settled", "Harvest Training", "Where: TBD\nCost: to be determined\n", nil},
	} {
		d := mailbox.New(ana, []*mail.Email{{MessageID: "<1@x>", Subject: tt.subject, Body: tt.body}}).Docs[0]
		got := notices(d)
		if !slices.Equal(direct(got), tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, direct(got), tt.want)
		}
		for _, c := range got {
			if text := mailbox.Fold(tt.body[c.sentence.Start:c.sentence.End]); text != c.evidence || !strings.Contains(text, c.answer) {
				t.Errorf("%s: evidence %q at its span %q holds no %q", tt.name, c.evidence, text, c.answer)
			}
		}
	}
}

func TestSignatures(t *testing.T) {
	day := time.Date(2001, 3, 1, 9, 0, 0, 0, time.UTC)
	sent := func(id, from, body string) *mail.Email {
		day = day.Add(time.Hour)
		return &mail.Email{MessageID: id, From: from, Body: "See below.\n\n" + body, Date: day}
	}
	box := mailbox.New(ana, []*mail.Email{
		sent("a", out, "Dana Ruiz\nFalcon Partners\n503-555-0101"),
		sent("b", out, "Dana Ruiz\nFalcon Partners\n(503) 555-0101"),
		sent("c", bo, "Bo Kim\n503-555-0111"), sent("d", bo, "Bo Kim\n503-555-0112"), // which?
		sent("e", ana, "Ana Reed\n503-555-0121"), // the owner's own
	})
	a := &asker{Config: &Config{}, inbox: inbox{owner: ana}, box: box}
	got := a.signatures()
	if want := []string{"Which company does Dana Ruiz work for? Falcon Partners", "What is Dana Ruiz's phone number? 503-555-0101"}; !slices.Equal(direct(got["a"]), want) || len(got) != 1 {
		t.Errorf("asked %q of %d mails, want %q of one", direct(got["a"]), len(got), want)
	}
	if also := got["a"][1].also; !slices.Equal(also, []string{"b"}) {
		t.Errorf("also in %v, want b", also)
	}
}

// What an asker may do with a shape it must name in its settings, and every way
// of asking must be one whose kind can be told from its words.
func TestWaysSayTheirKind(t *testing.T) {
	for what, w := range signedWays {
		for _, x := range w.ways {
			if q := x.about("Dana Ruiz"); !extract.Answers(w.kind, extract.KindOfQuestion(q.direct)) && extract.KindOfQuestion(q.direct) != w.kind {
				t.Errorf("%s: %q is taken for a question of kind %q, want %q", what, q.direct, extract.KindOfQuestion(q.direct), w.kind)
			}
		}
	}
	if err := checkShapes([]string{"rumour"}); err == nil || !strings.Contains(err.Error(), "statement, notice, signature") {
		t.Errorf("error %v, want one that lists the shapes", err)
	}
}
