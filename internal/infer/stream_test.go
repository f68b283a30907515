package infer_test

import (
	"strings"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/infer"
	"agentmill/internal/traj"
)

// TestStream: the pieces that are streamed are the text.
func TestStream(t *testing.T) {
	e := start(t, func(c *infer.Config) { c.Codec = endless{} })
	for seed := range uint64(10) {
		var pieces []string
		job := task(seed, "abcabc", traj.Sampling{Temperature: 1})
		job.Stream = func(piece string) { pieces = append(pieces, piece) }
		_, replies, err := play(e, job, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(pieces, ""); got != replies[0].Text || len(pieces) != 6 {
			t.Errorf("seed %d: streamed %q, the reply is %q", seed, pieces, replies[0].Text)
		}
	}
}

// TestStopStrings: a turn ends where a stop string is whole; it is sampled, but
// no part of the text, and nothing of it is streamed.
func TestStopStrings(t *testing.T) {
	e := start(t, func(c *infer.Config) { c.Codec = endless{} })
	for seed := range uint64(10) {
		free := task(seed, "abcabc", traj.Sampling{Temperature: 1})
		_, replies, err := play(e, free, 1)
		if err != nil {
			t.Fatal(err)
		}
		whole := replies[0].Text
		stop := whole[2:4]
		want, _, _ := strings.Cut(whole, stop)
		var told strings.Builder
		bound := free
		bound.Sampling.Stop = []string{"never, as it is no letter!", stop}
		bound.Stream = func(piece string) { told.WriteString(piece) }
		trace, replies, err := play(e, bound, 1)
		if err != nil {
			t.Fatal(err)
		}
		r := replies[0]
		if r.Text != want || told.String() != want || r.Turn.FinishReason != chat.FinishStop || r.Turn.CompletionTokens != len(want)+2 {
			t.Errorf("seed %d: %q stopped by %q gives %q (streamed %q, %d tokens, %s), want %q", seed, whole, stop, r.Text, told.String(), r.Turn.CompletionTokens, r.Turn.FinishReason, want)
		}
		if n := len(trace.TokenIDs); n != 6+len(want)+2 || !trace.Trained[n-1] {
			t.Errorf("seed %d: the record has %d tokens", seed, n)
		}
	}
}
