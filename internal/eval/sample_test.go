package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/dataset"
	"agentmill/internal/question"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// sampleSkill is how often an invented policy is right, wrong and abstaining;
// else it gives no answer.
var sampleSkill = map[string][3]float64{
	"heuristic": {.45, .35, .2}, "prompted": {.03, .05, 0}, "sft": {.55, .3, .13}, "grpo": {.66, .16, .17},
}

// sample invents scored rows of a policy at n questions of some inboxes.
func sample(policy string, n, inboxes, attempts int) []*traj.Scored {
	draw := seed.Stream(1, policy)
	var rows []*traj.Scored
	for i := range n {
		for k := range attempts {
			rows = append(rows, sampleRow(policy, i, k, inboxes, draw))
		}
	}
	return rows
}

func sampleRow(policy string, i, k, inboxes int, draw *rand.Rand) *traj.Scored {
	q := question.Question{
		ID: fmt.Sprintf("q%03d", i), Question: fmt.Sprintf("When is the audit of plant %d?", i), Answer: fmt.Sprintf("March %d", i%28+1),
		Answerable: i%8 != 7, MessageIDs: []string{fmt.Sprintf("<m%d@example.com>", i)}, Evidence: "The audit is on <b>March</b>.",
		InboxAddress: fmt.Sprintf("person%d@example.com", i%inboxes), QueryDate: "2001-03-20", Kind: []string{"date", "person", "amount"}[i%3],
	}
	if !q.Answerable {
		q.Answer, q.MessageIDs = question.Unknown, nil
	}
	r := &traj.Scored{}
	r.Schema, r.Question, r.Attempt, r.Policy.Name, r.Policy.Hash = 1, q, k, policy, "hash-"+policy
	r.Group = traj.GroupID(q.ID, r.Policy.Hash, 1)
	r.ID = traj.RowID(r.Group, k, 0)
	r.Messages = []chat.Message{
		{Role: chat.System, Content: "You answer questions about a mailbox."},
		{Role: chat.User, Content: q.Question},
		{Role: chat.Assistant, Content: "search audit plant"},
		{Role: chat.User, Content: "17 2001-03-02 ann: Audit | The audit of the plant is on <March>\n21 2001-03-03 bob: Re: Audit | I thought so"},
		{Role: chat.Assistant, Content: "read 17"},
		{Role: chat.User, Content: "2001-03-02 from ann to all: Audit\nThe audit is planned as discussed."},
		{Role: chat.Assistant, Content: "answer March 3 | 17"},
	}
	r.Calls = []traj.Call{{Tool: "search_emails", Arguments: []byte(`{"keywords":["audit"]}`), IDs: q.MessageIDs}}
	r.Turns = make([]chat.Turn, 3)
	r.Usage = chat.Usage{PromptTokens: 400 + i, CompletionTokens: 40, Turns: 3}
	r.Cost.Seconds = 1.25
	settle(r, draw.Float64(), sampleSkill[policy])
	return r
}

// settle gives a row the outcome that x falls on.
func settle(r *traj.Scored, x float64, skill [3]float64) {
	r.Stop, r.Answer.Text = traj.Answered, r.Question.Answer
	v := &traj.Verdict{Judge: "match", Explanation: "equal"}
	value := -1.9
	switch {
	case x < skill[0]:
		v.Correct, value = true, 1.4
	case x < skill[0]+skill[1]:
		v.Hallucinated, value, r.Answer.Text, v.Explanation = true, -.7, "April 31", "does not say the gold answer"
	case x < skill[0]+skill[1]+skill[2]:
		v.Abstained, value, r.Stop, r.Answer.Text = true, .3, traj.Abstained, question.Unknown
	case x > .99:
		r.Stop, r.Failure, r.Verdict, r.Answer.Text = traj.Failed, &traj.Failure{Boundary: "provider", Kind: "timeout", Message: "no reply"}, nil, ""
		return
	default:
		r.Stop, r.Answer.Text, v.Explanation = traj.BadCall, "", "no answer: bad_call"
		r.Calls = append(r.Calls, traj.Call{Turn: 2, Error: traj.ErrNoCall})
	}
	r.Verdict, r.Reward, r.RewardTerms = v, &value, map[string]float64{"correct": value}
}

// stream writes rows as JSON lines.
func stream(t testing.TB, sets ...[]*traj.Scored) *strings.Reader {
	t.Helper()
	var b strings.Builder
	for _, rows := range sets {
		for _, r := range rows {
			data, err := dataset.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(data)
			b.WriteByte('\n')
		}
	}
	return strings.NewReader(b.String())
}

func run(t testing.TB, baselines []string, sets ...[]*traj.Scored) *Result {
	t.Helper()
	res, err := Run(t.Context(), Config{Source: dataset.Source{Stdin: stream(t, sets...)}, Baselines: baselines})
	if err != nil {
		t.Fatal(err)
	}
	return res
}
