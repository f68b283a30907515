package synthq

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
	"agentmill/internal/mailbox"
)

const (
	ana = "ana.reed@corvane.example" // the owner
	bo  = "bo.kim@corvane.example"
	out = "dana.ruiz@falcon.example"
)

// asked returns the questions about a mail, with their answers, one a line.
func asked(from, to, body string) []string {
	e := &mail.Email{MessageID: "<1@x>", From: from, To: []string{to}, Owner: ana, Subject: "Larkspur", Body: body, Date: time.Date(2001, 3, 1, 9, 0, 0, 0, time.UTC)}
	box := mailbox.New(ana, []*mail.Email{e})
	v := newVoice(e, func(a string) bool { return a == ana }, box)
	var got []string
	for _, c := range candidates(box.Docs[0], v) {
		got = append(got, capital(c.words.direct())+" "+c.answer)
	}
	return got
}

func TestQuestions(t *testing.T) {
	for _, tt := range []struct {
		name, from, to, body string
		want                 []string
	}{
		{
			"passive with three facts", bo, ana, "The Larkspur kickoff will be held on March 14 at 2:30 pm in room 1204.",
			[]string{"When will the Larkspur kickoff be held? March 14", "What time will the Larkspur kickoff be held? 2:30 pm", "In which room will the Larkspur kickoff be held? room 1204"},
		},
		{"a verb that only announces the date", bo, ana, "The Larkspur kickoff is set for March 14.", []string{"When is the Larkspur kickoff? March 14"}},
		{"a moved date", bo, ana, "The Larkspur kickoff has been moved to March 14.", []string{"What date has the Larkspur kickoff been moved to? March 14"}},
		{
			"plain past", bo, ana, "Falcon Freight shipped 14 pallets to the Tulsa yard.",
			[]string{"Which company shipped pallets to the Tulsa yard? Falcon Freight", "How many pallets did Falcon Freight ship to the Tulsa yard? 14 pallets"},
		},
		{"subject is a person", bo, ana, "Dana Ruiz will chair the Larkspur review.", []string{"Who will chair the Larkspur review? Dana Ruiz"}},
		{"passive by a person is turned round", bo, ana, "The Larkspur budget was approved by Dana Ruiz.", []string{"Who approved the Larkspur budget? Dana Ruiz"}},
		{"sum with a name", bo, ana, "The rent for the annex is $400 a month.", []string{"What is the rent for the annex? $400 a month"}},
		{"sum without one", bo, ana, "The annex costs $400 a month.", []string{"How much does the annex cost? $400 a month"}},
		{"reason", bo, ana, "The launch slipped because the permit was late.", []string{"Why did the launch slip? the permit was late"}},
		{"decision", bo, ana, "We decided to go with Falcon Freight for the coastal route.", []string{"Which company did we decide to go with for the coastal route? Falcon Freight"}},
		{"order to the owner", bo, ana, "Please send the signed copies by May 4.", []string{"By when should I send the signed copies? May 4"}},
		{"you is the owner", bo, ana, "You are booked on flight NB 482.", []string{"Which flight am I booked on? NB 482"}},
		{"I is the sender", bo, ana, "I will call the yard on May 4.", []string{"When will Bo Kim call the yard? May 4"}},
		{"I is the owner, who wrote it", ana, bo, "I will call the yard on May 4.", []string{"When will I call the yard? May 4"}},
		{"you is the one recipient", ana, bo, "You have to call the yard by May 4.", []string{"By when does Bo Kim have to call the yard? May 4"}},
		{"we of another firm is its writer", out, ana, "We will call the yard on May 4.", []string{"When will Dana Ruiz call the yard? May 4"}},
		{"two facts that one question would ask for", bo, ana, "The Larkspur bus leaves on May 4 and on May 9.", nil},
		{"it is unclear", bo, ana, "It will be shipped on May 4.", nil},
		{"a negation", bo, ana, "The yard did not ship 14 pallets.", nil},
		{"vague", bo, ana, "Somebody will ship 14 pallets to some place.", nil},
		{"quoted words are another's", bo, ana, "Fine.\n\n> The Larkspur kickoff is set for March 14.", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, asked(tt.from, tt.to, tt.body)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

// TestContext checks that a question which does not name its matter is given
// the mail's subject, and none where that says nothing.
func TestContext(t *testing.T) {
	for _, tt := range []struct{ name, subject, want string }{
		{"subject names it", "RE: Fw: Larkspur bids", "Larkspur bids"},
		{"no subject: sender and day", "Re:", "Bo Kim's mail of March 1"},
	} {
		e := &mail.Email{MessageID: "<1@x>", From: bo, To: []string{ana}, Owner: ana, Subject: tt.subject, Body: "The first round ends on May 4.", Date: time.Date(2001, 3, 1, 9, 0, 0, 0, time.UTC)}
		box := mailbox.New(ana, []*mail.Email{e})
		cs := candidates(box.Docs[0], newVoice(e, func(a string) bool { return a == ana }, box))
		if len(cs) != 1 || !cs[0].word(rand.New(rand.NewPCG(1, 2))) || !strings.Contains(cs[0].text, tt.want) {
			t.Errorf("%s: %v, want a question with %q", tt.name, cs, tt.want)
		}
	}
}

func TestTopic(t *testing.T) {
	for in, want := range map[string]string{"RE: Fw:  Larkspur   bids -": "Larkspur bids", "Larkspur: bids": "Larkspur: bids", "": "", "Re: ": ""} {
		if got := Topic(in); got != want {
			t.Errorf("Topic(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNameOf(t *testing.T) {
	for in, want := range map[string]string{"dana.ruiz@x.example": "Dana Ruiz", "d..ruiz@x.example": "", "no.address@x.example": "", "orders7@x.example": "", "dana.m.ruiz@x.example": "Dana Ruiz"} {
		if got := nameOf(in); got != want {
			t.Errorf("nameOf(%q) = %q, want %q", in, got, want)
		}
	}
}
