package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/ordered"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// Relative scores the attempts of one group beside one another (RULER of
// OpenPipe, 2025): a model gives each a number from 0 to 1. Ids must come back
// each exactly once, numbers in their range; else it is asked again, and in the
// end the group has no rewards. Attempts are shown in a shuffled order.
type Relative struct {
	Client llm.Client
	Prompt *Prompt
	Tries  int // 0: 3
	Seed   uint64
}

// TermRelative is the only term of a relative reward.
const TermRelative = "relative"

// FlagAlone and FlagUnscored are of rows without a relative reward.
const (
	FlagAlone    = "alone_in_group" // nothing to compare with
	FlagUnscored = "group_unscored" // no reply that can be read
)

// evenScore is the score of attempts that are all the same: nobody is asked.
const evenScore = .5

var groupSchema = &llm.Schema{Name: "scores", JSON: []byte(`{"type":"object","additionalProperties":false,"required":["scores"],"properties":{"scores":{"type":"array",` +
	`"items":{"type":"object","additionalProperties":false,"required":["id","explanation","score"],"properties":{"id":{"type":"integer"},"explanation":{"type":"string"},"score":{"type":"number","minimum":0,"maximum":1}}}}}}`)}

// Name changes whenever the same group could get other scores.
func (r *Relative) Name() string { return "relative:" + r.Client.Model() + ":" + r.Prompt.Name }

// score sets the rewards of all rows, group by group, and tells tick of each
// group. Failed attempts have none. What a comparison cost stands in the group's
// first row.
func (r *Relative) score(ctx context.Context, j *journal.Journal, rows []*traj.Scored, concurrency int, unmet *llm.Unmet, tick func(rows int, c llm.Cost)) error {
	var groups [][]*traj.Scored
	at := map[string]int{}
	for _, row := range rows {
		row.Reward, row.RewardTerms = nil, nil
		if row.Stop == traj.Failed {
			continue
		}
		if _, ok := at[row.Group]; !ok {
			at[row.Group] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[row.Group]] = append(groups[at[row.Group]], row)
	}
	ask := func(ctx context.Context, _ int, group []*traj.Scored) (compared, error) {
		return r.group(ctx, j, group, unmet)
	}
	return ordered.Map(ctx, concurrency, groups, ask, func(i int, got compared) error {
		tick(len(groups[i]), got.Cost)
		scores := got.Scores
		for k, row := range groups[i] {
			switch {
			case len(groups[i]) < 2:
				row.Flags = flagged(row.Flags, FlagAlone)
			case scores == nil:
				row.Flags = flagged(row.Flags, FlagUnscored)
			default:
				row.Reward, row.RewardTerms = &scores[k], map[string]float64{TermRelative: scores[k]}
			}
		}
		return charge(groups[i][0], got.Cost)
	})
}

func flagged(flags []string, flag string) []string {
	flags = append(slices.Clone(flags), flag)
	slices.Sort(flags)
	return flags
}

// compared is what the journal keeps of a group: one score a row, or none.
type compared struct {
	Scores []float64 `json:"scores"`
	Cost   llm.Cost  `json:"cost,omitzero"`
}

func (r *Relative) group(ctx context.Context, j *journal.Journal, group []*traj.Scored, unmet *llm.Unmet) (got compared, err error) {
	if len(group) < 2 {
		return got, nil
	}
	shared, own := apart(group)
	if !slices.ContainsFunc(own, func(s string) bool { return s != own[0] }) {
		return compared{Scores: slices.Repeat([]float64{evenScore}, len(group))}, nil
	}
	key := "compared " + group[0].Group + " " + rowsKey(group)
	if raw, ok := j.Done(key); ok && json.Unmarshal(raw, &got) == nil {
		if got.Scores == nil {
			unmet.Count(errBefore)
		}
		return got, nil
	}
	order := seed.Stream(r.Seed, "relative", group[0].Group).Perm(len(group))
	var shown strings.Builder
	fmt.Fprintf(&shown, "common beginning: %s\n", shared)
	for id, k := range order {
		fmt.Fprintf(&shown, "attempt %d: %s\n", id+1, own[k])
	}
	ctx, bill := llm.Billed(ctx)
	got.Scores, err = r.ask(ctx, &group[0].Trajectory, shown.String(), order)
	got.Cost = bill.Cost()
	_, none := llm.Unanswered(err)
	if err != nil && !none {
		return got, fmt.Errorf("score group %s: %w", group[0].Group, err)
	}
	if unmet.Count(err); none && !llm.Settled(err) {
		return got, nil // another run may have more luck
	}
	raw, err := json.Marshal(got)
	if err != nil {
		return got, fmt.Errorf("score group %s: %w", group[0].Group, err)
	}
	return got, j.Append(key, raw)
}

func rowsKey(group []*traj.Scored) string {
	var keys []string
	for _, row := range group {
		keys = append(keys, rowKey(&row.Trajectory))
	}
	return strings.Join(keys, " ")
}

// reply is what the model must say.
type reply struct {
	Scores []struct {
		ID          int     `json:"id"`
		Explanation string  `json:"explanation"`
		Score       float64 `json:"score"`
	} `json:"scores"`
}

// ask returns the scores in the order of the group.
func (r *Relative) ask(ctx context.Context, t *traj.Trajectory, shown string, order []int) ([]float64, error) {
	const roomEach, room = 120, 200 // tokens
	tries := r.Tries
	if tries == 0 {
		tries = 3
	}
	request := llm.Request{
		Messages: r.Prompt.fill(map[string]string{"question": quoted(t.Question.Question), "attempts": shown}),
		Schema:   groupSchema, MaxTokens: room + roomEach*len(order), Seed: r.Seed,
	}
	var said reply
	_, err := llm.Ask(ctx, r.Client, request, tries, &said, func() error {
		defer func() { // a second try is read into a fresh value
			if !whole(said, len(order)) {
				said = reply{}
			}
		}()
		if !whole(said, len(order)) {
			return fmt.Errorf("the scores do not have the ids 1 to %d, each once", len(order))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(order))
	for _, s := range said.Scores {
		scores[order[s.ID-1]] = s.Score
	}
	return scores, nil
}

// whole says whether a reply has every id from 1 to n once.
func whole(said reply, n int) bool {
	seen := make([]bool, n)
	for _, s := range said.Scores {
		if s.ID < 1 || s.ID > n || seen[s.ID-1] {
			return false
		}
		seen[s.ID-1] = true
	}
	return len(said.Scores) == n
}

// apart returns what all attempts begin with, and what each has of its own.
func apart(group []*traj.Scored) (shared string, own []string) {
	n := len(group[0].Messages)
	for _, row := range group[1:] {
		k := 0
		for k < min(n, len(row.Messages)) && sameMessage(&row.Messages[k], &group[0].Messages[k]) {
			k++
		}
		n = k
	}
	for _, row := range group {
		own = append(own, conversation(row.Messages[n:])+" final answer: "+quoted(struct {
			Text    string   `json:"text"`
			Sources []string `json:"sources"`
			Stop    string   `json:"stop"`
		}{disarmed(row.Answer.Text), row.Answer.Sources, string(row.Stop)}))
	}
	return conversation(group[0].Messages[:n]), own
}

func sameMessage(a, b *chat.Message) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// conversation is messages as JSON, long ones cut, without words to the judge.
func conversation(messages []chat.Message) string {
	const longest = 6000 // bytes of one message
	out := make([]chat.Message, 0, len(messages))
	for _, m := range messages {
		if m.Content = disarmed(m.Content); len(m.Content) > longest {
			m.Content = strings.ToValidUTF8(m.Content[:longest], "") + " [cut]"
		}
		out = append(out, m)
	}
	return quoted(out)
}

func disarmed(text string) string {
	clean, _ := disarm(text)
	return clean
}
