package mailbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/extract"
	"agentmill/internal/mail"
)

func box(bodies ...string) *Box {
	var mails []*mail.Email
	for i, b := range bodies {
		mails = append(mails, &mail.Email{MessageID: string(rune('a' + i)), Subject: "Larkspur", Body: b, Date: time.Date(2001, 3, 1+i, 9, 0, 0, 0, time.UTC)})
	}
	return New("ana@corvane.example", mails)
}

func ids(docs []*Doc) []string {
	var out []string
	for _, d := range docs {
		out = append(out, d.MessageID)
	}
	return out
}

func TestStem(t *testing.T) {
	for in, want := range map[string]string{"Valves": "valve", "Dana's": "dana", "policies": "policy", "boss": "boss", "gas": "gas", "Larkspur": "larkspur"} {
		if got := Stem(in); got != want {
			t.Errorf("Stem(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWith(t *testing.T) {
	b := box("The valves came.", "A valve came late.", "Nothing came.")
	if diff := cmp.Diff([]string{"a", "b"}, ids(b.With([]string{"valve", "came"}))); diff != "" {
		t.Errorf("With (-want +got):\n%s", diff)
	}
	if got := b.With(nil); got != nil {
		t.Errorf("With no words: %v, want nothing", ids(got))
	}
}

func TestSameEvidence(t *testing.T) {
	b := box("The kickoff is set for March 14.", "Fine.\n\n> The kickoff is\n> set for March 14.", "The kickoff is set for March 15.")
	if diff := cmp.Diff([]string{"a", "b"}, ids(b.SameEvidence("The kickoff is set for March 14."))); diff != "" {
		t.Errorf("SameEvidence (-want +got):\n%s", diff)
	}
}

func TestRivalsNameTheOtherValue(t *testing.T) {
	b := box("The kickoff is set for March 14.", "The kickoff was moved to March 20.", "The kickoff was fun.")
	got := b.Rivals(Asked{Question: "When is the kickoff?", Answer: "March 14", Evidence: "The kickoff is set for March 14.", Kind: extract.Date, Gold: []string{"a"}})
	if len(got) != 1 || got[0].Doc.MessageID != "b" || got[0].Value != "March 20" {
		t.Errorf("Rivals = %v, want b with March 20", got)
	}
}

// Where the answer is a clause, a sentence with the question's words and without
// the answer is a rival; one that asks, leaves it open or is later is none.
func TestRestating(t *testing.T) {
	b := box(
		"The harbour crane inspection failed because the brakes were worn.",
		"The harbour crane inspection failed because nobody came.",
		"Why did the harbour crane inspection fail, who failed it?",
		"The harbour crane inspection failed for some reason.",
		"The harbour crane inspection failed, worn brakes they say.",
		"The harbour crane inspection failed because it rained.",
	)
	q := Asked{Question: "Why had the harbour crane inspection failed?", Answer: "the brakes were worn", Gold: []string{"a"}, Now: time.Date(2001, 3, 6, 0, 0, 0, 0, time.UTC)}
	got := b.Restating(q)
	if len(got) != 1 || got[0].Doc.MessageID != "b" {
		t.Errorf("Restating = %v, want b alone", got)
	}
	for _, answer := range []string{"March 14", "7 days", "Dana Ashby"} { // other searches know their sorts
		if q.Answer = answer; b.Restating(q) != nil {
			t.Errorf("%s: rivals, want none", answer)
		}
	}
}

func TestSameValue(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"the Harbor Grill", "Harbor\nGrill", true},
		{"Monday, March 14", "March 14", true},
		{"March 14", "March 15", false},
		{"$400", "$400 a month", false},
	} {
		if got := SameValue(tt.a, tt.b); got != tt.want {
			t.Errorf("SameValue(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
