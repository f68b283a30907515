package judge

import (
	"strings"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/match"
	"agentmill/internal/traj"
)

func TestEvasionsAreWrong(t *testing.T) {
	mail := "2001-03-01 from omar to dana: Audit Dana, the audit at Larkfield is on March 14 in the small room, bring the ledgers, the keys of the yard and something to eat, it takes all day."
	messages := []chat.Message{
		{Role: chat.System, Content: "rules"},
		{Role: chat.User, Content: asked.Question},
		{Role: chat.Assistant, Content: "read 1"},
		{Role: chat.User, Content: mail},
	}
	for _, tt := range []struct {
		name, answer string
		want         bool
		why          string
	}{
		{"the fact", "March 14", true, ""},
		{"a sentence of the mail", "the audit at Larkfield is on March 14", true, ""},
		{"a long answer in own words", "According to the mail that Omar sent to you in early March, which I read, the audit of the Larkfield site will take place on March 14", true, ""},
		{"the mail", strings.Join(strings.Fields(mail), " "), false, "repeats a mail instead of answering"},
		{"most of the mail, in capitals", strings.ToUpper(mail[30:]), false, "repeats a mail instead of answering"},
		{"the question", "When is the audit at Larkfield?", false, "says nothing that the question does not"},
	} {
		r := row(asked, traj.Answered, tt.answer, "<a@x>", "<b@x>")
		r.Messages = messages
		v, _, err := verdict(t.Context(), Match{match.Values}, Covered, r)
		if err != nil {
			t.Fatal(err)
		}
		if v.Correct != tt.want || tt.why != "" && v.Explanation != tt.why {
			t.Errorf("%s: correct %v, %q", tt.name, v.Correct, v.Explanation)
		}
	}
}

// Where the right answer stands in the question, repeating it is right.
func TestChoiceOfTheQuestion(t *testing.T) {
	q := asked
	q.Question, q.Answer = "Is the audit in March or in April?", "in March"
	if v, _, err := verdict(t.Context(), Match{match.Values}, Covered, row(q, traj.Answered, "in March")); err != nil || !v.Correct {
		t.Errorf("%+v, %v", v, err)
	}
}
