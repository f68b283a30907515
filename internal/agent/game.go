package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/env"
	"agentmill/internal/question"
	"agentmill/internal/seed"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// ErrDeclined is what Begin fails with where a policy does not play a question
// at all: the expert, if it knows no way to solve it. There is no row of it.
var ErrDeclined = errors.New("the policy does not play this question")

// An Error attributes a failure of a policy to a boundary other than "policy",
// such as "provider", and gives it a kind that can be counted.
type Error struct {
	Boundary, Kind string
	Err            error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// A StopError is a failure of a policy that ends the run, not an attempt alone.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }

func (e *StopError) Unwrap() error { return e.Err }

// A Game is who plays what under which rules.
type Game struct {
	Policy   Policy
	Env      env.Env
	Sampling traj.Sampling
	Seed     uint64 // of the run
	Clock    clock.Clock
	// Prompt, if set, is what an attempt at q begins with in place of the
	// environment's own prompt. It must be the same for equal questions.
	Prompt func(q *question.Question, own []chat.Message) ([]chat.Message, error)
	// Help is what of the expert's play an attempt begins with.
	Help Help
	// Watch, if set, is told of each turn as it is played.
	Watch func(Step)
}

// A Step is one turn: what the policy wrote and what it got for it.
type Step struct {
	Turn         int
	Text, Result string
	Answer       *traj.Answer
}

// Group is the id that all attempts at q share. Attempts with help are others.
func (g *Game) Group(q *question.Question) string {
	return traj.GroupID(q.ID, g.Policy.Info().Hash+string(g.Help), g.Seed)
}

// info names the policy in rows.
func (g *Game) info() traj.Policy {
	info := g.Policy.Info()
	info.Oracle = g.Help.oracle()
	return info
}

// Run plays attempt number k at q. It gives one row, or several where the
// policy's template rewrites what was: parts, which differ in their tokens alone.
// What goes wrong in an attempt is part of its row, and so is the end of a context
// whose cause is an Error; an error means that there is none: the context ended
// otherwise, the policy wants the run to stop (StopError), or Open or Begin refused
// the question (env.ErrAbsent, ErrDeclined).
func Run(ctx context.Context, g *Game, q *question.Question, k int) ([]*traj.Trajectory, error) {
	opts := g.Env.Options()
	format, err := toolformat.ByName(opts.ToolFormat)
	if err != nil {
		return nil, err
	}
	a := &attempt{Game: g, format: format, opts: opts, row: g.newRow(q, k)}
	if err := a.play(ctx, q); err != nil {
		return nil, err
	}
	return a.parts(), nil
}

func (g *Game) newRow(q *question.Question, k int) *traj.Trajectory {
	group := g.Group(q)
	return &traj.Trajectory{
		Schema: traj.SchemaVersion, ID: traj.RowID(group, k, 0), Question: *q, Group: group, Attempt: k,
		Seed: seed.Derive(g.Seed, "attempt", q.ID, k), Policy: g.info(), Sampling: g.Sampling,
		Env: g.Env.Name(), EnvOptions: g.Env.Options(),
		Messages: []chat.Message{}, Tools: []chat.Tool{}, Calls: []traj.Call{}, Turns: []chat.Turn{}, Answer: traj.Answer{Sources: []string{}},
	}
}

// An attempt is one row being played.
type attempt struct {
	*Game
	format toolformat.Format
	opts   traj.EnvOptions
	row    *traj.Trajectory
	traces []Trace // one a part
}

// play opens both sides and plays until something stops it.
func (a *attempt) play(ctx context.Context, q *question.Question) error {
	if ctx.Err() != nil {
		return a.fail(ctx, "policy", ctx.Err())
	}
	ep, err := a.Env.Open(ctx, q)
	if errors.Is(err, env.ErrAbsent) {
		return err
	}
	if err != nil {
		return a.fail(ctx, "env", err)
	}
	defer func() { _ = ep.Close() }()
	a.row.Messages, a.row.Tools = ep.Prompt(), ep.Tools()
	if a.Prompt != nil {
		if a.row.Messages, err = a.Prompt(q, a.row.Messages); err != nil {
			return fmt.Errorf("prompt of question %s: %w", q.ID, err)
		}
	}
	given, err := a.help(ctx, ep, q)
	if errors.Is(err, ErrDeclined) {
		return err
	}
	if err != nil {
		return a.fail(ctx, "env", err)
	}
	shower, ok := a.Policy.(ToolShower)
	prompt, tools := toolformat.Place(a.format, ok && shower.ShowsTools(), a.row.Messages, a.row.Tools)
	pattern, err := a.pattern()
	if err != nil {
		return a.fail(ctx, "env", err)
	}
	session, err := a.Policy.Begin(ctx, Task{
		Prompt: prompt, Tools: tools, Sampling: a.Sampling, Seed: a.row.Seed,
		TurnTokens: a.opts.TurnTokens, MaxTurns: a.opts.MaxTurns - len(a.row.Turns), Pattern: pattern, Question: q, Given: given,
	})
	if errors.Is(err, ErrDeclined) {
		return err
	}
	if err != nil {
		return a.fail(ctx, "policy", err)
	}
	defer func() { _ = session.Close() }()
	err = a.turns(ctx, ep, session)
	if p, ok := session.(Parted); ok {
		a.traces = p.Parts()
	}
	if last := session.Trace(); len(last.TokenIDs) > 0 || len(a.traces) == 0 {
		a.traces = append(a.traces, last)
	}
	return err
}

// pattern is what turns are held to, "" for nothing.
func (a *attempt) pattern() (string, error) {
	if a.Sampling.Constrain == "" {
		return "", nil
	}
	return toolformat.Pattern(a.format, a.row.Tools)
}

// parts are the attempt's rows.
func (a *attempt) parts() []*traj.Trajectory {
	if len(a.traces) == 0 { // it failed before a session was there
		return []*traj.Trajectory{a.row}
	}
	rows := make([]*traj.Trajectory, 0, len(a.traces))
	for i, t := range a.traces {
		row := *a.row
		row.Part, row.ID = i, traj.RowID(row.Group, row.Attempt, i)
		row.TokenIDs, row.Trained, row.LogProbs, row.LogProbsFull = t.TokenIDs, t.Trained, t.LogProbs, t.LogProbsFull
		rows = append(rows, &row)
	}
	return rows
}

// turns plays turn after turn. What was observed enters the record only when the
// policy is shown it.
func (a *attempt) turns(ctx context.Context, ep env.Episode, session Session) error {
	var observed []chat.Message
	for turn := len(a.row.Turns); turn < a.opts.MaxTurns; turn++ {
		a.row.Messages = append(a.row.Messages, observed...)
		reply, err := a.next(ctx, session, observed)
		if err != nil {
			return a.fail(ctx, "policy", err)
		}
		if reply.Turn.FinishReason == chat.FinishContext {
			a.row.Stop = traj.Length
			return nil
		}
		if observed, err = a.act(ctx, ep, turn, reply); err != nil {
			return a.fail(ctx, "env", err)
		}
		if a.row.Stop != "" {
			return nil
		}
	}
	a.row.Stop = traj.MaxTurns
	if last := len(a.row.Calls) - 1; a.row.Calls[last].Bad() {
		a.row.Stop = traj.BadCall
	}
	return nil
}

// next asks for one turn and books it.
func (a *attempt) next(ctx context.Context, session Session, observed []chat.Message) (Reply, error) {
	start := a.Clock.Now()
	reply, err := session.Next(ctx, observed)
	if err != nil {
		return reply, err
	}
	t := reply.Turn
	if t.Seconds = clock.Since(a.Clock, start); a.Clock.Fixed() {
		t.Retries = 0
	}
	a.row.Turns = append(a.row.Turns, t)
	a.row.Usage.Add(t)
	a.row.Cost.Seconds += t.Seconds
	a.row.Cost.USD += reply.USD
	if reply.Text != "" || t.FinishReason != chat.FinishContext {
		a.row.Messages = append(a.row.Messages, chat.Message{Role: chat.Assistant, Content: reply.Text, ToolCalls: reply.Calls})
	}
	return reply, nil
}

// act does what a turn says and returns what the policy is to see of it.
func (a *attempt) act(ctx context.Context, ep env.Episode, turn int, reply Reply) ([]chat.Message, error) {
	call, kind := a.read(reply)
	res := env.Result{Error: kind, Content: tell[kind]}
	if kind == "" {
		var err error
		if res, err = ep.Call(ctx, call); err != nil {
			return nil, err
		}
	}
	rec := traj.Call{Turn: turn, Tool: call.Name, Arguments: recorded(call.Arguments), IDs: res.IDs, Error: res.Error}
	if rec.IDs == nil {
		rec.IDs = []string{}
	}
	a.row.Calls = append(a.row.Calls, rec)
	a.settle(&rec, res)
	if a.Watch != nil {
		a.Watch(Step{Turn: turn, Text: reply.Text, Result: res.Content, Answer: res.Answer})
	}
	observed := []chat.Message{a.format.Observe(call, res.Content)}
	for _, further := range reply.Calls[min(1, len(reply.Calls)):] {
		observed = append(observed, a.format.Observe(further, notPlayed))
	}
	return observed, nil
}

// notPlayed is what a policy is told of a call beside its first one.
const notPlayed = "not done: only the first call of a turn is"

// tell is what a policy is told of a turn that is no call.
var tell = map[string]string{
	traj.ErrUnparsable:  "this call cannot be read; write one whole call and nothing else",
	traj.ErrUnknownTool: "no such tool",
	traj.ErrBadArgs:     "bad arguments",
	traj.ErrNoCall:      "this is no call; write one call and nothing else",
}

// read takes the first call of a reply. A turn that was cut before its call was
// whole does not parse, whatever stands there.
func (a *attempt) read(reply Reply) (chat.ToolCall, string) {
	if len(reply.Calls) > 0 {
		return reply.Calls[0], native(reply.Calls[0].Arguments)
	}
	call, kind := a.format.Parse(reply.Text)
	if reply.Turn.FinishReason == chat.FinishLength && !a.format.Complete(reply.Text) {
		kind = traj.ErrUnparsable
	}
	return call, kind
}

// native says what is wrong with the arguments of a structured call, if anything.
func native(args json.RawMessage) string {
	switch args = bytes.TrimSpace(args); {
	case len(args) == 0 || args[0] == '"' || !json.Valid(args):
		return traj.ErrUnparsable
	case args[0] != '{':
		return traj.ErrBadArgs
	}
	return ""
}

// recorded is arguments as valid JSON, whatever a server sent.
func recorded(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	if json.Valid(args) {
		return args
	}
	quoted, err := json.Marshal(string(args))
	if err != nil {
		return json.RawMessage("{}")
	}
	return quoted
}

// settle sets why the attempt stops, if it does.
func (a *attempt) settle(call *traj.Call, res env.Result) {
	switch {
	case res.Answer != nil:
		a.row.Answer, a.row.Stop = *res.Answer, traj.Answered
		if question.IsUnknown(res.Answer.Text) {
			a.row.Stop = traj.Abstained
		}
	case call.Bad() && a.opts.OnBadCall != "tell":
		a.row.Stop = traj.BadCall
	}
}

// fail makes err the row's failure. The end of the context is none: the attempt
// was not played to its end, and is not recorded; unless its cause says why this
// attempt failed.
func (a *attempt) fail(ctx context.Context, boundary string, err error) error {
	if given := (*Error)(nil); ctx.Err() != nil && errors.As(context.Cause(ctx), &given) {
		err = given
	} else if ctx.Err() != nil {
		return fmt.Errorf("play question %s: %w", a.row.Question.ID, ctx.Err())
	}
	if errors.As(err, new(*StopError)) {
		return fmt.Errorf("play question %s: %w", a.row.Question.ID, err)
	}
	failure := traj.Failure{Boundary: boundary, Kind: "error", Message: err.Error()}
	if e := (*Error)(nil); errors.As(err, &e) {
		failure.Boundary, failure.Kind = e.Boundary, e.Kind
	}
	a.row.Stop, a.row.Failure = traj.Failed, &failure
	return nil
}
