package infer_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/dialog"
	"agentmill/internal/infer"
	"agentmill/internal/traj"
)

// forgetful is a template that drops all earlier turns from the second on.
type forgetful struct{ letters }

func (forgetful) Begin(messages []chat.Message, _ []chat.Tool) (dialog.Dialog, error) {
	return &forgetting{talk: talk{prompt: encode(messages[0].Content)}}, nil
}

type forgetting struct {
	talk
	turns int
}

func (f *forgetting) Next(turn string, observed []chat.Message) (dialog.Step, error) {
	if f.turns++; f.turns == 2 {
		return dialog.Step{IDs: append(slices.Clone(f.prompt), encode("l"+observed[0].Content)...), Rewritten: true}, nil
	}
	return f.talk.Next(turn, observed)
}

// TestRewrittenHistoryIsANewPart is T4: each token is trained in one part, and
// what a part's prompt brings back is not run again where it stood there before.
func TestRewrittenHistoryIsANewPart(t *testing.T) {
	e := start(t, func(c *infer.Config) { c.Codec = forgetful{} })
	s, err := e.Begin(t.Context(), task(1, "abcabcabc", traj.Sampling{}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var replies []agent.Reply
	for range 4 {
		r, err := s.Next(t.Context(), user("def"))
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, r)
	}
	parts := s.(interface{ Parts() []agent.Trace }).Parts()
	if len(parts) != 1 {
		t.Fatalf("%d parts before the last, want 1", len(parts))
	}
	last := s.Trace()
	want := encode("abcabcabcldef")
	if got := last.TokenIDs[:len(want)]; !slices.Equal(got, want) || slices.Contains(last.Trained[:len(want)], true) {
		t.Errorf("the last part begins with %v, trained %v; want the rewritten prompt, untrained", got, last.Trained[:len(want)])
	}
	if got := replies[2].Turn; got.PromptTokens != len(want) || got.Cached != len("abcabcabc") {
		t.Errorf("turn 3 has %d prompt tokens, %d cached; want %d and %d", got.PromptTokens, got.Cached, len(want), len("abcabcabc"))
	}
	sampled := 0
	for _, r := range replies {
		sampled += r.Turn.CompletionTokens
	}
	if got := trained(parts[0]) + trained(last); got != sampled {
		t.Errorf("%d tokens are trained, %d were sampled", got, sampled)
	}
	// The model saw the new prompt and nothing else: greedy, it goes on as after
	// that prompt alone.
	fresh, _, err := play(start(t, nil), task(1, "abcabcabcldef", traj.Sampling{}), 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fresh.TokenIDs, last.TokenIDs[:len(fresh.TokenIDs)]); d != "" {
		t.Errorf("first turn of the part (-alone +here):\n%s", d)
	}
}

func trained(t agent.Trace) (n int) {
	for _, x := range t.Trained {
		if x {
			n++
		}
	}
	return n
}
