// Package agent owns Policy and the loop in which a policy plays an episode
// until it answers: policy ↔ episode → trajectory.
package agent

import (
	"context"

	"agentmill/internal/chat"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// A Policy can play attempts. It is safe for concurrent use; a Session is used
// by one goroutine.
type Policy interface {
	// Info names the policy in records.
	Info() traj.Policy
	// Begin starts one attempt.
	Begin(ctx context.Context, task Task) (Session, error)
	Close() error
}

// An Auditor is a Policy that wants to see the rows it played.
type Auditor interface {
	// Audit is called for each row, by one goroutine.
	Audit(ctx context.Context, row *traj.Trajectory) error
}

// A Task is what a policy is given at the start of an attempt.
type Task struct {
	Prompt     []chat.Message
	Tools      []chat.Tool // for the policy's own template to show; none if Prompt says all
	Sampling   traj.Sampling
	Seed       uint64 // of this attempt
	TurnTokens int    // most tokens that one turn may sample
	MaxTurns   int
	Pattern    string // regular expression that every turn must match; "": none
	Given      int    // calls of the expert that Prompt tells already
	// Stream, if set, is told a turn's text as it is sampled, piece by piece. A
	// policy that cannot does not call it.
	Stream func(piece string)

	// Question is for policies that are told the gold (the expert); others
	// must not look at anything but its text and its mailbox.
	Question *question.Question
}

// A Session is one attempt from the policy's side.
type Session interface {
	// Next appends what was observed since the last turn (nothing at first: the
	// prompt is known) and returns the policy's next turn.
	Next(ctx context.Context, observed []chat.Message) (Reply, error)
	// Trace is the token record so far. It is empty for policies without tokens.
	Trace() Trace
	Close() error
}

// A Parted session belongs to a model whose template may rewrite what was: an
// attempt is then several training samples.
type Parted interface {
	Session
	// Parts are the token records before the last rewriting; Trace is the last.
	Parts() []Trace
}

// A ToolShower is a policy whose own template can write tools into the prompt.
// Others are told of tools by a message, where the tool format needs them told.
type ToolShower interface {
	Policy
	ShowsTools() bool
}

// A Reply is one assistant turn: its text as written, and what it cost. A
// policy that acts by structured calls (a remote server with native ones) fills
// Calls: arguments that are no JSON stand there as a JSON string, and Text is
// what it said beside them. The first call is played, the others are told so.
type Reply struct {
	Text  string
	Calls []chat.ToolCall
	Turn  chat.Turn
	USD   float64
}

// A Trace is the tokens of an attempt, from the first prompt token to the last
// sampled one. All slices have equal length (T1 of package traj).
type Trace struct {
	TokenIDs     []int32
	Trained      []bool
	LogProbs     []float32
	LogProbsFull []float32
}
