package judge

import (
	"context"
	"encoding/json"
	"fmt"

	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/reward"
	"agentmill/internal/traj"
)

// SupportPrompt is the prompt of Grounding that is built in.
const SupportPrompt = "support-v1"

// FlagNoSupport is of rows of which a model could not say whether the answer
// stands in the mails; the term supported has no value, and the row no reward.
const FlagNoSupport = "support_unknown"

// Grounding asks a model for each claim of an answer whether it stands in a mail
// that the attempt read. Its word takes the place of the comparison of numbers,
// dates and names.
type Grounding struct {
	Client llm.Client
	Prompt *Prompt
	Tries  int // 0: 3
	Seed   uint64
}

var supportSchema = &llm.Schema{Name: "support", JSON: []byte(`{"type":"object","additionalProperties":false,"required":["claims"],"properties":{"claims":{"type":"array","minItems":1,` +
	`"items":{"type":"object","additionalProperties":false,"required":["claim","supported"],"properties":{"claim":{"type":"string"},"supported":{"type":"boolean"}}}}}}`)}

// Name changes whenever the same row could get another value.
func (g *Grounding) Name() string { return "support:" + g.Client.Model() + ":" + g.Prompt.Name }

// score writes what the model says of the answer into the row, for the reward.
func (g *Grounding) score(ctx context.Context, j *journal.Journal, row *traj.Scored, unmet *llm.Unmet) (cost llm.Cost, err error) {
	setExtra(row, reward.SupportField, nil)
	mails := reward.ReadTexts(&row.Trajectory)
	if row.Verdict == nil || row.Stop != traj.Answered || row.Verdict.Abstained || len(mails) == 0 {
		return cost, nil // the term knows without a model
	}
	got, err := g.recall(ctx, j, row, mails, unmet)
	if err != nil {
		return cost, fmt.Errorf("support of row %s: %w", row.ID, err)
	}
	raw, err := json.Marshal(got.Support)
	if err != nil {
		return cost, fmt.Errorf("support of row %s: %w", row.ID, err)
	}
	setExtra(row, reward.SupportField, raw)
	return got.Cost, nil
}

// grounded is what the journal keeps of a row.
type grounded struct {
	Support reward.Support `json:"support"`
	Cost    llm.Cost       `json:"cost,omitzero"`
}

// recall takes what the model says from the journal, or asks it.
func (g *Grounding) recall(ctx context.Context, j *journal.Journal, row *traj.Scored, mails []string, unmet *llm.Unmet) (got grounded, err error) {
	key := "grounded " + rowKey(&row.Trajectory)
	if raw, ok := j.Done(key); ok && json.Unmarshal(raw, &got) == nil {
		return got, nil
	}
	ctx, bill := llm.Billed(ctx)
	got.Support, err = g.ask(ctx, row, mails)
	got.Cost = bill.Cost()
	if _, none := llm.Unanswered(err); err != nil && !none {
		return got, err
	}
	if unmet.Count(err); err != nil && !llm.Settled(err) {
		return got, nil // another run may have more luck
	}
	raw, err := json.Marshal(got)
	if err != nil {
		return got, err
	}
	return got, j.Append(key, raw)
}

// ask returns the claims of the answer, none beside an error.
func (g *Grounding) ask(ctx context.Context, row *traj.Scored, mails []string) (reward.Support, error) {
	const room, longest = 600, 8000 // tokens of the reply, bytes of a mail
	said := reward.Support{}
	shown := make([]string, 0, len(mails))
	for _, m := range mails {
		shown = append(shown, disarmed(m[:min(len(m), longest)]))
	}
	text, _ := disarm(row.Answer.Text)
	tries := g.Tries
	if tries == 0 {
		tries = 3
	}
	_, err := llm.Ask(ctx, g.Client, llm.Request{
		Messages: g.Prompt.fill(map[string]string{"question": quoted(row.Question.Question), "answer": quoted(text), "mails": quoted(shown)}),
		Schema:   supportSchema, MaxTokens: room, Seed: g.Seed,
	}, tries, &said, nil)
	if err != nil {
		return reward.Support{Judge: g.Name()}, err
	}
	said.Judge = g.Name()
	return said, nil
}
