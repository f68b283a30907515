// Package scripted has policies that think nothing: recorded play that is played
// again (Open), and null policies, which no reward should pay.
//
// A null policy that scores shows a fault of the questions, the judge or the
// reward before any training is paid for: S1. What a recording found and what is
// found now are compared, and the differences told: S2.
package scripted

import (
	"context"
	"strings"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/keyword"
	"agentmill/internal/question"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// Abstain is a policy that says "I don't know" at once.
func Abstain(f toolformat.Format) agent.Policy {
	return constant{f, "null-abstain", func(*question.Question) string { return question.Unknown }}
}

// Empty is a policy that answers with nothing.
func Empty(f toolformat.Format) agent.Policy {
	return constant{f, "null-empty", func(*question.Question) string { return "" }}
}

// Repeat is a policy that answers with the question.
func Repeat(f toolformat.Format) agent.Policy {
	return constant{f, "null-repeat", func(q *question.Question) string { return q.Question }}
}

// A constant policy answers without looking.
type constant struct {
	format toolformat.Format
	name   string
	answer func(*question.Question) string
}

// Info implements agent.Policy.
func (c constant) Info() traj.Policy { return agent.Unweighted(c.name, "1") }

// Begin implements agent.Policy.
func (c constant) Begin(_ context.Context, task agent.Task) (agent.Session, error) {
	return agent.Recite(c.format, []chat.ToolCall{toolformat.Answer(c.answer(task.Question))}), nil
}

// Close implements agent.Policy.
func (constant) Close() error { return nil }

// Paste is a policy that searches by the words of the question, reads the first
// hit, and answers with all of that mail.
func Paste(f toolformat.Format) agent.Policy { return paster{f} }

type paster struct{ format toolformat.Format }

// Info implements agent.Policy.
func (paster) Info() traj.Policy { return agent.Unweighted("null-paste", "1") }

// Begin implements agent.Policy.
func (p paster) Begin(_ context.Context, task agent.Task) (agent.Session, error) {
	return &pasting{format: p.format, words: keyword.Content(task.Question.Question)}, nil
}

// Close implements agent.Policy.
func (paster) Close() error { return nil }

// A pasting is one attempt of a paster.
type pasting struct {
	format toolformat.Format
	words  []string
	turn   int
	source string
}

// Next implements agent.Session.
func (p *pasting) Next(_ context.Context, observed []chat.Message) (agent.Reply, error) {
	seen := ""
	if len(observed) > 0 {
		seen = observed[0].Content
	}
	p.turn++
	return agent.Written(p.format, p.choose(seen)), nil
}

func (p *pasting) choose(seen string) chat.ToolCall {
	first, _, _ := strings.Cut(seen, " ")
	switch {
	case p.turn == 1 && len(p.words) > 0:
		return toolformat.Search(toolformat.SearchArgs{Keywords: p.words})
	case p.turn == 2 && first != "0" && first != "":
		p.source = first
		return toolformat.Read(first)
	case p.source != "":
		return toolformat.Answer(strings.Join(strings.Fields(seen), " "), p.source)
	}
	return toolformat.Answer(question.Unknown)
}

// Trace implements agent.Session.
func (*pasting) Trace() agent.Trace { return agent.Trace{} }

// Close implements agent.Session.
func (*pasting) Close() error { return nil }
