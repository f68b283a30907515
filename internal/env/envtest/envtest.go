// Package envtest is the contract that every env.Env keeps, as a test suite.
//
// Most callers want Run.
package envtest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/env"
	"agentmill/internal/question"
)

// A Case is an environment with questions of its worlds that its demonstrator,
// where it is one, solves.
type Case struct {
	New       func(t *testing.T) env.Env
	Questions []question.Question
	// Call is some call that shows something in every world of Questions.
	Call chat.ToolCall
}

// Run checks the contract.
func Run(t *testing.T, c Case) {
	t.Run("prompt", c.prompt)
	t.Run("mistakes are results", c.mistakes)
	t.Run("same call, same result", c.repeats)
	t.Run("attempts are independent", c.independent)
	t.Run("cancelled", c.cancelled)
	t.Run("close twice", c.closeTwice)
	t.Run("absent world", c.absent)
	t.Run("demonstrations solve", c.demonstrations)
}

func (c Case) open(t *testing.T, e env.Env, q *question.Question) env.Episode {
	t.Helper()
	ep, err := e.Open(t.Context(), q)
	if err != nil {
		t.Fatalf("open question %s: %v", q.ID, err)
	}
	t.Cleanup(func() { ep.Close() })
	return ep
}

func (c Case) prompt(t *testing.T) {
	e := c.New(t)
	for i := range c.Questions {
		ep := c.open(t, e, &c.Questions[i])
		prompt := ep.Prompt()
		if len(prompt) == 0 || prompt[len(prompt)-1].Role != chat.User {
			t.Fatalf("question %s: prompt %v does not end with a user's message", c.Questions[i].ID, prompt)
		}
		for _, tool := range ep.Tools() {
			if tool.Name == "" || !json.Valid(tool.Parameters) {
				t.Errorf("question %s: tool %q has parameters %s, want JSON", c.Questions[i].ID, tool.Name, tool.Parameters)
			}
		}
	}
}

func (c Case) mistakes(t *testing.T) {
	ep := c.open(t, c.New(t), &c.Questions[0])
	calls := []chat.ToolCall{{Name: "no_such_tool", Arguments: []byte("{}")}}
	for _, tool := range ep.Tools() {
		for _, args := range []string{"{", "[]", `{"nonsense":1}`, "", "null"} {
			calls = append(calls, chat.ToolCall{Name: tool.Name, Arguments: []byte(args)})
		}
	}
	for _, call := range calls {
		res, err := ep.Call(t.Context(), call)
		if err != nil || res.Error == "" || res.Content == "" || res.Answer != nil {
			t.Errorf("%s(%s) = %+v, %v; want a result that says what is wrong", call.Name, call.Arguments, res, err)
		}
	}
}

func (c Case) repeats(t *testing.T) {
	e := c.New(t)
	for i := range c.Questions {
		first, err := c.open(t, e, &c.Questions[i]).Call(t.Context(), c.Call)
		if err != nil || first.Error != "" {
			t.Fatalf("question %s: %+v, %v", c.Questions[i].ID, first, err)
		}
		second, err := c.open(t, c.New(t), &c.Questions[i]).Call(t.Context(), c.Call)
		if diff := cmp.Diff(first, second); diff != "" || err != nil {
			t.Errorf("question %s, second attempt: %v (-first +second):\n%s", c.Questions[i].ID, err, diff)
		}
	}
}

func (c Case) independent(t *testing.T) {
	e := c.New(t)
	want, err := c.open(t, e, &c.Questions[0]).Call(t.Context(), c.Call)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ep, err := e.Open(t.Context(), &c.Questions[0])
			if err != nil {
				t.Error(err)
				return
			}
			got, err := ep.Call(t.Context(), c.Call)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("beside others: %v (-alone +beside):\n%s", err, diff)
			}
			if err := ep.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func (c Case) cancelled(t *testing.T) {
	ep := c.open(t, c.New(t), &c.Questions[0])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ep.Call(ctx, c.Call); err == nil {
		t.Error("Call under a cancelled context succeeded")
	}
}

func (c Case) closeTwice(t *testing.T) {
	ep := c.open(t, c.New(t), &c.Questions[0])
	for range 2 {
		if err := ep.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (c Case) absent(t *testing.T) {
	q := c.Questions[0]
	q.InboxAddress = "nobody@nowhere.example"
	if _, err := c.New(t).Open(t.Context(), &q); !errors.Is(err, env.ErrAbsent) {
		t.Errorf("Open = %v, want %v", err, env.ErrAbsent)
	}
}

func (c Case) demonstrations(t *testing.T) {
	e := c.New(t)
	d, ok := e.(env.Demonstrator)
	if !ok {
		t.Skip("the environment shows no solutions")
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		for seed := range uint64(5) {
			calls := c.demonstrate(t, d, q, seed)
			if diff := cmp.Diff(calls, c.demonstrate(t, d, q, seed)); diff != "" {
				t.Errorf("question %s, seed %d: not the same twice:\n%s", q.ID, seed, diff)
			}
			c.play(t, e, q, calls)
		}
	}
}

func (c Case) demonstrate(t *testing.T, d env.Demonstrator, q *question.Question, seed uint64) []chat.ToolCall {
	t.Helper()
	calls, err := d.Demonstrate(t.Context(), q, seed)
	if err != nil {
		t.Fatalf("question %s, seed %d: %v", q.ID, seed, err)
	}
	return calls
}

// play checks that calls work, answer only at the end, and answer right.
func (c Case) play(t *testing.T, e env.Env, q *question.Question, calls []chat.ToolCall) {
	t.Helper()
	ep := c.open(t, e, q)
	for i, call := range calls {
		res, err := ep.Call(t.Context(), call)
		if err != nil || res.Error != "" {
			t.Fatalf("question %s, call %d %s(%s): %+v, %v", q.ID, i, call.Name, call.Arguments, res, err)
		}
		if last := i == len(calls)-1; (res.Answer != nil) != last {
			t.Fatalf("question %s, call %d of %d: answer %v", q.ID, i, len(calls), res.Answer)
		}
		if res.Answer != nil && (res.Answer.Text != q.Answer || len(res.Answer.Sources) != len(q.MessageIDs)) {
			t.Errorf("question %s: answer %+v, want %q with %d sources", q.ID, res.Answer, q.Answer, len(q.MessageIDs))
		}
	}
}
