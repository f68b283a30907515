package judge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"agentmill/internal/llm"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// A NoVerdictError says that a judge could not say anything of an answer. The
// row gets no verdict, which is not a wrong answer.
type NoVerdictError struct {
	Votes []string
	Cause error // of the last vote
}

func (e *NoVerdictError) Error() string { return "no verdict: " + e.Cause.Error() }

func (e *NoVerdictError) Unwrap() error { return e.Cause }

// Model is the judge that asks a language model. Replies must be the JSON of its
// schema; what cannot be read, or is cut, is asked again, and in the end is no
// vote. The order of references and candidate is shuffled for each vote.
type Model struct {
	Client llm.Client
	Prompt *Prompt
	Votes  int // 0: 1
	Tries  int // of one vote; 0: 3
	Seed   uint64
	again  int // number of this judgement of the same row
}

// Votes as they stand in a verdict.
const (
	voteRight   = "right"
	voteWrong   = "wrong"
	voteUnknown = "unknown"
	voteNone    = "none" // no reply that can be read
)

var verdictSchema = &llm.Schema{Name: "verdict", JSON: []byte(`{"type":"object","additionalProperties":false,"required":["explanation","says"],` +
	`"properties":{"explanation":{"type":"string"},"says":{"type":"string","enum":["right","wrong","unknown"]}}}`)}

// Name implements Judge.
func (m *Model) Name() string {
	name := "llm:" + m.Client.Model() + ":" + m.Prompt.Name
	if m.votes() > 1 {
		name = fmt.Sprintf("%s:%d", name, m.votes())
	}
	return name
}

func (m *Model) votes() int { return max(m.Votes, 1) }

// Redraw implements Redrawer.
func (m *Model) Redraw(time int) Judge {
	other := *m
	other.again = time
	return &other
}

// Answer implements Judge. Most votes decide; a tie is decided by one more vote.
func (m *Model) Answer(ctx context.Context, t *traj.Trajectory) (Opinion, error) {
	text, spoke := disarm(t.Answer.Text)
	if strings.TrimSpace(text) == "" {
		why := "empty"
		if spoke {
			why = "nothing but words to the judge"
		}
		return Opinion{Explanation: why, Injected: spoke}, nil
	}
	var votes, reasons []string
	cause := errTied
	for len(votes) < m.votes() || len(votes) == m.votes() && tied(votes) {
		vote, reason, err := m.vote(ctx, t, text, len(votes))
		if why, none := llm.Unanswered(err); none {
			vote, reason, cause = voteNone, why, err
		} else if err != nil {
			return Opinion{}, err
		}
		votes, reasons = append(votes, vote), append(reasons, reason)
	}
	winner, ok := most(votes)
	if !ok {
		return Opinion{}, &NoVerdictError{votes, cause}
	}
	o := Opinion{Votes: votes, Explanation: reasons[slices.Index(votes, winner)], Abstained: winner == voteUnknown, Injected: spoke}
	o.Correct = winner == voteRight && t.Question.Answerable || winner == voteUnknown && !t.Question.Answerable
	return o, nil
}

// errTied: the votes say different things, one as often as the other.
var errTied = errors.New("the votes are tied")

// vote asks once, and again while the reply cannot be read.
func (m *Model) vote(ctx context.Context, t *traj.Trajectory, text string, n int) (vote, reason string, err error) {
	const roomFor = 400 // tokens; doubled after a cut reply
	var said struct {
		Explanation string `json:"explanation"`
		Says        string `json:"says"`
	}
	tries := m.Tries
	if tries == 0 {
		tries = 3
	}
	r := llm.Request{
		Messages: m.Prompt.fill(map[string]string{"question": quoted(t.Question.Question), "answers": m.answers(t, text, n)}),
		Schema:   verdictSchema, MaxTokens: roomFor, Seed: m.Seed, Sample: m.again<<8 + n,
	}
	_, err = llm.Ask(ctx, m.Client, r, tries, &said, nil)
	return said.Says, said.Explanation, err
}

// answers are references and candidate, in an order drawn for the vote.
func (m *Model) answers(t *traj.Trajectory, text string, n int) string {
	golds := []string{}
	if t.Question.Answerable {
		golds = append([]string{t.Question.Answer}, t.Question.Aliases...)
	}
	draw := m.draw(t.ID, n)
	draw.Shuffle(len(golds), func(i, j int) { golds[i], golds[j] = golds[j], golds[i] })
	parts := []string{"references: " + quoted(golds), "candidate: " + quoted(text)}
	draw.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.Join(parts, "\n")
}

func (m *Model) draw(id string, n int) *rand.Rand {
	return seed.Stream(m.Seed, "judge", id, m.again, n)
}

// most is the vote that is given more often than any other; votes that could
// not be read do not count.
func most(votes []string) (winner string, ok bool) {
	count := map[string]int{}
	for _, v := range votes {
		if v != voteNone {
			count[v]++
		}
	}
	best := 0
	for _, v := range []string{voteRight, voteWrong, voteUnknown} {
		switch {
		case count[v] > best:
			winner, best, ok = v, count[v], true
		case count[v] == best:
			ok = false
		}
	}
	return winner, ok && best > 0
}

// tied says whether votes that could be read leave it open.
func tied(votes []string) bool {
	_, ok := most(votes)
	return !ok && slices.ContainsFunc(votes, func(v string) bool { return v != voteNone })
}
