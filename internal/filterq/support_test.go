package filterq

import (
	"context"
	"errors"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/llm"
	"agentmill/internal/question"
)

func TestSupported(t *testing.T) {
	mail := "Bo,\nThe pump house review moved to 3/14 at 2:30. Bids of $1,250,000 and 75-80k came in; call Dana Ruiz. On May 2 somebody else counted 40 valves."
	for _, tt := range []struct {
		answer  string
		aliases []string
		want    bool
	}{
		{"March 14", nil, true},
		{"March 15", nil, false},
		{"May 14", nil, false}, // both words are near each other, but are no date
		{"2:30", nil, true},
		{"3:30", nil, false},
		{"No, Olga Kim", nil, false}, // what is said beside yes or no must be there
		{"No", nil, true},
		{"1.25 million dollars", nil, false},
		{"$1250000", nil, true},
		{"$75,000 to $80,000", nil, true},
		{"Dana Ruiz", nil, true},
		{"Dana Kim", []string{"Dana"}, true},
		{"Olga Kim", []string{"Dana"}, false},
		{"forty", []string{"40"}, false},
		{"the", nil, true},
	} {
		if got := supported(tt.answer, tt.aliases, []string{mail}); got != tt.want {
			t.Errorf("supported(%q, %q) = %v, want %v", tt.answer, tt.aliases, got, tt.want)
		}
	}
}

// A knowing client answers each question with one text, or fails.
type knowing struct {
	text  string
	err   error
	calls int
}

func (*knowing) Model() string { return "knowing" }

func (k *knowing) Complete(context.Context, llm.Request) (llm.Reply, error) {
	k.calls++
	return llm.Reply{Text: k.text, Finish: chat.FinishStop}, k.err
}

func TestBlind(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name, said string
		err        error
		verdict    string
	}{
		{"knows it", `{"answer": "Paris"}`, nil, Drop},
		{"does not know", `{"answer": "I don't know"}`, nil, Pass},
		{"guesses wrong", `{"answer": "Lyon"}`, nil, Pass},
		{"no JSON", "Paris", nil, Skipped},
		{"no server", "", refused, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &knowing{text: tt.said, err: tt.err}
			dropped := &item{Question: &question.Question{ID: "b", Answerable: true, Checks: map[string]question.Check{}}, failed: checkForm}
			it := &item{Question: &question.Question{ID: "a", Question: "What is the capital of France?", Answer: "Paris", Answerable: true, Checks: map[string]question.Check{}}}
			c := &Config{Model: k, Concurrency: 2, MaxFailed: 1}
			if _, err := c.askBlind(context.Background(), []*item{dropped, it}); !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if got := it.Checks[checkBlind].Verdict; got != tt.verdict {
				t.Errorf("verdict %q, want %q", got, tt.verdict)
			}
			if dropped.Checks[checkBlind].Verdict != Skipped || k.calls > blindTries {
				t.Errorf("%d calls, and of the dropped question %q: want it skipped", k.calls, dropped.Checks[checkBlind].Verdict)
			}
		})
	}
}
