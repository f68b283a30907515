// Package env owns the interfaces between an agent and a world that it acts in.
package env

import (
	"context"
	"errors"

	"agentmill/internal/chat"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// ErrAbsent is what Open fails with where the world that a question is about is
// not there, such as a mailbox that the index does not hold. Callers that play
// many questions skip it.
var ErrAbsent = errors.New("its world is not here")

// An Env poses questions about one world: a mailbox, a document set, an app.
// It is safe for concurrent use.
type Env interface {
	// Name is the value of the env field of its questions and rows.
	Name() string
	// Options are the rules that its rows record.
	Options() traj.EnvOptions
	// Open begins one attempt at q.
	Open(ctx context.Context, q *question.Question) (Episode, error)
	Close() error
}

// An Episode is one attempt's private view of the world. It is used by one
// goroutine. Close releases it and may be called at any point, and twice.
type Episode interface {
	// Prompt is the system and user message that the attempt starts with.
	Prompt() []chat.Message
	Tools() []chat.Tool
	// Call runs one tool. A mistake of the model (unknown tool, bad arguments,
	// no such mail) is a normal Result that says so; an error means that the
	// world is broken and ends the attempt.
	Call(ctx context.Context, c chat.ToolCall) (Result, error)
	Close() error
}

// A Result is what one call brought: the text that the policy sees, and what
// the record keeps of it.
type Result struct {
	Content string
	IDs     []string     // Message-IDs shown
	Error   string       // "" or one of traj's Err constants
	Answer  *traj.Answer // set when the call was a final answer
}

// A Demonstrator is an Env that can show how a question is solved, because it
// may look at the gold. The steps are played one after the other; what the
// world answers is the world's own.
type Demonstrator interface {
	// Demonstrate returns the tool calls of one good attempt at q, the final
	// answer included. The same q and seed give the same calls. An
	// UnsolvedError says why the environment knows no way to solve q.
	Demonstrate(ctx context.Context, q *question.Question, seed uint64) ([]chat.ToolCall, error)
}

// An UnsolvedError is why a question has no demonstration: of the question or of
// the world, to be counted by its text.
type UnsolvedError string

func (e UnsolvedError) Error() string { return string(e) }

// A Citer is an Env that can say in a line what a source of an answer at q is.
type Citer interface {
	Cite(ctx context.Context, q *question.Question, id string) (string, error)
}

// A Namer is an Env whose mails, documents or records have an id in the records
// and another one that policies are shown.
type Namer interface {
	// Names returns both for id, which is either. ok is false where id means
	// nothing at q.
	Names(ctx context.Context, q *question.Question, id string) (recorded, shown string, ok bool, err error)
}

// A Reporter is an Env, or a policy, that has something to tell at the end of a run, "" if
// it has not.
type Reporter interface {
	Report() string
}
