// Package heuristic is a policy without a model: it searches by the words of the
// question, reads the best hits, and picks the fact that the question asks for
// from the sentence that shares most words with it, or abstains.
//
// Most callers want New. It acts through tool calls alone and knows what their
// results say: H1. It never looks at the gold: H2. It is what a trained policy
// must beat.
package heuristic

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

const (
	maxWords = 12 // words of a search
	maxReads = 3  // mails read before answering
)

// A Policy is the heuristic. It has no state.
type Policy struct{ format toolformat.Format }

// New makes a Policy that writes its calls in format.
func New(format toolformat.Format) *Policy { return &Policy{format: format} }

// Info implements agent.Policy.
func (*Policy) Info() traj.Policy { return agent.Unweighted("heuristic", "1") }

// Close implements agent.Policy.
func (*Policy) Close() error { return nil }

// Begin implements agent.Policy.
func (p *Policy) Begin(_ context.Context, task agent.Task) (agent.Session, error) {
	words := keyword.Content(task.Question.Question)
	return &session{
		format: p.format, turns: task.MaxTurns, words: words[:min(len(words), maxWords)], asked: newAsked(task.Question.Question, words),
	}, nil
}

// A session is one attempt.
type session struct {
	format toolformat.Format
	turns  int // left
	words  []string
	asked  *asked

	searches int
	queue    []string // ids to read
	reading  string   // id of the mail that was asked for last
	reads    int
	best     candidate
}

// Trace implements agent.Session.
func (*session) Trace() agent.Trace { return agent.Trace{} }

// Close implements agent.Session.
func (*session) Close() error { return nil }

// Next implements agent.Session.
func (s *session) Next(_ context.Context, observed []chat.Message) (agent.Reply, error) {
	if len(observed) > 0 {
		s.observe(observed[0].Content)
	}
	s.turns--
	return agent.Written(s.format, s.choose()), nil
}

// observe takes in a result: of a search or of a mail.
func (s *session) observe(result string) {
	if s.reading == "" {
		s.queue = hitIDs(result)
		return
	}
	if c := s.asked.best(result); c.score > s.best.score {
		c.source = s.reading
		s.best = c
	}
	s.reads++
}

// hitIDs are the ids at the beginnings of a result's lines.
func hitIDs(result string) []string {
	var ids []string
	if result == "0 hits" {
		return nil
	}
	for line := range strings.Lines(result) {
		if id, _, ok := strings.Cut(line, " "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// choose is the next call: a search, another one if it brought nothing, the best
// hits, the answer.
func (s *session) choose() chat.ToolCall {
	switch {
	case s.turns == 0 || len(s.words) == 0:
		return s.answer()
	case s.searches == 0:
		return s.search(s.words)
	case len(s.queue) == 0 && s.reads == 0 && s.searches == 1 && len(s.words) > 1:
		return s.search(s.words[:(len(s.words)+1)/2])
	case len(s.queue) > 0 && s.reads < maxReads && s.best.score < certain:
		s.reading, s.queue = s.queue[0], s.queue[1:]
		return toolformat.Read(s.reading)
	}
	return s.answer()
}

func (s *session) search(words []string) chat.ToolCall {
	s.searches++
	return toolformat.Search(toolformat.SearchArgs{Keywords: words})
}

func (s *session) answer() chat.ToolCall {
	if s.best.score < plausible {
		return toolformat.Answer(question.Unknown)
	}
	return toolformat.Answer(s.best.text, s.best.source)
}
