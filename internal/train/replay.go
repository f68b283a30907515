package train

import (
	"cmp"
	"fmt"
	"slices"

	"agentmill/internal/chat"
	"agentmill/internal/dialog"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// A replay compares a row's tokens with what its messages are to its tokenizer
// and template. Tokens that the policy sampled are taken as they are: they must
// say what is recorded, in whatever pieces.
type replay struct {
	exact bool
	turn  int    // at which it drifts, from 1
	token int    // index in the row
	why   string // what was expected there
	own   int    // turns that the tokenizer would have split in another way
	turns int
}

func (r *replay) String() string {
	if r.exact {
		return "exact"
	}
	return fmt.Sprintf("drifts at token %d of turn %d: %s", r.token, r.turn, r.why)
}

// replayed runs t's messages through tokenizer and template again.
func replayed(codec dialog.Encoder, t *traj.Trajectory) (replay, error) {
	format, err := toolformat.ByName(cmp.Or(t.EnvOptions.ToolFormat, toolformat.Line{}.Name()))
	if err != nil {
		return replay{}, err
	}
	messages, tools := toolformat.Place(format, codec.ShowsTools(), toolformat.InWords(format, t.Messages), t.Tools)
	p := player{codec: codec, row: t}
	if err := p.play(messages, tools); err != nil {
		return replay{}, err
	}
	p.out.exact = p.out.why == ""
	return p.out, nil
}

// A player walks through a row's tokens.
type player struct {
	codec dialog.Encoder
	row   *traj.Trajectory
	at    int // index of the next token
	part  int // of the attempt; others than the row's own are passed over
	out   replay
}

func (p *player) play(messages []chat.Message, tools []chat.Tool) error {
	turn := slices.IndexFunc(messages, isAssistant)
	if turn < 0 {
		p.drift("no assistant's turn is recorded")
		return nil
	}
	d, err := p.codec.Begin(messages[:turn], tools)
	if err != nil {
		return err
	}
	p.out.turn = 1
	p.observed(d.Prompt())
	for {
		text := messages[turn].Content
		ended := p.sampled(text)
		messages = messages[turn+1:]
		turn = slices.IndexFunc(messages, isAssistant)
		if turn < 0 || p.out.why != "" || p.part > p.row.Part {
			break
		}
		step, err := d.Next(text, messages[:turn])
		if err != nil {
			return err
		}
		p.out.turn++
		if step.Rewritten {
			p.part++
		} else if !ended {
			p.observed([]int32{p.codec.EndOfTurn()})
		}
		p.observed(step.IDs)
	}
	if left := len(p.row.TokenIDs) - p.at; left > 0 {
		p.drift(fmt.Sprintf("the messages end, %d tokens follow", left))
	}
	return nil
}

func isAssistant(m chat.Message) bool { return m.Role == chat.Assistant }

func (p *player) drift(why string) {
	if p.out.why == "" {
		p.out.why, p.out.token = why, p.at
	}
}

// observed compares tokens that the policy did not sample.
func (p *player) observed(want []int32) {
	if p.part != p.row.Part || p.out.why != "" {
		return
	}
	ids := p.row.TokenIDs
	for _, id := range want {
		switch {
		case p.at >= len(ids):
			p.drift(fmt.Sprintf("the row ends, %q should follow", p.codec.Decode([]int32{id})))
		case p.row.Trained[p.at]:
			p.drift(fmt.Sprintf("%q is marked as sampled, the template says %q", p.codec.Decode(ids[p.at:p.at+1]), p.codec.Decode([]int32{id})))
		case ids[p.at] != id:
			p.drift(fmt.Sprintf("%q, the template says %q", p.codec.Decode(ids[p.at:p.at+1]), p.codec.Decode([]int32{id})))
		default:
			p.at++
			continue
		}
		return
	}
}

// sampled compares what the policy sampled with the recorded text, and reports
// whether it ended its turn itself.
func (p *player) sampled(text string) (ended bool) {
	if p.part != p.row.Part || p.out.why != "" {
		return false
	}
	from := p.at
	for p.at < len(p.row.TokenIDs) && p.row.Trained[p.at] {
		p.at++
	}
	ids := p.row.TokenIDs[from:p.at]
	if n := len(ids); n > 0 && ids[n-1] == p.codec.EndOfTurn() {
		ended, ids = true, ids[:n-1]
	}
	if got := p.codec.Decode(ids); got != text {
		p.at = from
		p.drift(fmt.Sprintf("%q was sampled, the message says %q", clip(got), clip(text)))
	}
	p.out.turns++
	if again := p.codec.EncodeTurn(text); ended && !slices.Equal(again[:max(0, len(again)-1)], ids) {
		p.out.own++
	}
	return ended
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
