package dialog

import (
	"errors"
	"fmt"
	"slices"

	"agentmill/internal/chat"
)

// A Sample is a row of tokens and which of them are trained on.
type Sample struct {
	IDs     []int32
	Trained []bool
}

func (s *Sample) add(ids []int32, trained bool) {
	s.IDs = append(s.IDs, ids...)
	for range ids {
		s.Trained = append(s.Trained, trained)
	}
}

// errNothingTrained would otherwise show as a loss of exactly 0.
var errNothingTrained = errors.New("no assistant message: 0 trainable tokens in the row")

// Render encodes a recorded conversation for training on what its assistant
// wrote: one sample, or more where the template rewrites what was. It equals,
// token by token, what playing the same text would have seen; what follows the
// last assistant message is left out.
func Render(e Encoder, messages []chat.Message, tools []chat.Tool) ([]Sample, error) {
	turn := slices.IndexFunc(messages, isAssistant)
	if turn < 0 {
		return nil, errNothingTrained
	}
	d, err := e.Begin(messages[:turn], tools)
	if err != nil {
		return nil, err
	}
	samples := []Sample{{}}
	s := &samples[0]
	s.add(d.Prompt(), false)
	for {
		text := messages[turn].Content
		s.add(e.EncodeTurn(text), true)
		messages = messages[turn+1:]
		if turn = slices.IndexFunc(messages, isAssistant); turn < 0 {
			return samples, nil
		}
		step, err := d.Next(text, messages[:turn])
		if err != nil {
			return nil, err
		}
		if step.Rewritten {
			samples = append(samples, Sample{})
			s = &samples[len(samples)-1]
		}
		s.add(step.IDs, false)
	}
}

func isAssistant(m chat.Message) bool { return m.Role == chat.Assistant }

// A Turn is one assistant turn as it was played: all tokens it saw, and those
// it sampled (without an end-of-turn token where it was cut).
type Turn struct {
	Prompt  []int32
	Sampled []int32
}

// Join returns the training samples of one attempt, with sampled tokens as they
// are. A turn that saw everything before it unchanged continues the sample;
// where a template rewrote history (dropped earlier thoughts, say) a new sample
// begins, in which the earlier turns are not trained a second time.
func Join(turns []Turn) []Sample {
	var samples []Sample
	for _, t := range turns {
		last := len(samples) - 1
		if last < 0 || !extends(t.Prompt, samples[last].IDs) {
			samples = append(samples, Sample{})
			last++
		}
		s := &samples[last]
		s.add(t.Prompt[len(s.IDs):], false)
		s.add(t.Sampled, true)
	}
	return samples
}

func extends(longer, prefix []int32) bool {
	return len(longer) >= len(prefix) && slices.Equal(longer[:len(prefix)], prefix)
}

// CheckPrefix returns an error that names the first turn (from 1) whose prompt
// does not begin with all that was seen and sampled before it, and where.
func CheckPrefix(turns []Turn) error {
	var seen []int32
	for i, t := range turns {
		if !extends(t.Prompt, seen) {
			return fmt.Errorf("turn %d: its prompt differs from what came before at token %d", i+1, Drift(seen, t.Prompt))
		}
		seen = slices.Concat(t.Prompt, t.Sampled)
	}
	return nil
}

// Drift returns the first index at which got differs from want, -1 if neither
// differs. A row that was encoded again from its text drifts where the policy
// had split a word in its own way.
func Drift(want, got []int32) int {
	n := min(len(want), len(got))
	for i := range n {
		if want[i] != got[i] {
			return i
		}
	}
	if len(want) != len(got) {
		return n
	}
	return -1
}
