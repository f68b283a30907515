package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"agentmill/internal/chat"
)

// A NoAnswerError says that no reply could be read. Why is of the last one.
type NoAnswerError struct {
	Tries int
	Why   error
}

func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("no answer that can be read in %d tries: %v", e.Tries, e.Why)
}

func (e *NoAnswerError) Unwrap() error { return e.Why }

// Ask completes r until the reply is one JSON value that r.Schema allows, at most
// tries times, and decodes it into v, a pointer. check, if not nil, refuses values
// that the schema cannot; v is then read anew. The Reply returned
// is the last one, with the tokens and the cost of all; it is there also where a
// *NoAnswerError is returned.
func Ask(ctx context.Context, c Client, r Request, tries int, v any, check func() error) (Reply, error) {
	var sum Reply
	var why error
	for try := range max(tries, 1) {
		r.Try = try
		reply, err := c.Complete(ctx, r)
		if err != nil {
			return sum, err
		}
		reply.Usage.Add(sum.Usage)
		reply.USD += sum.USD
		reply.Retries += sum.Retries
		sum = reply
		reflect.ValueOf(v).Elem().SetZero() // of what a refused reply left
		if why = Decode(reply, r.Schema, v); why == nil && check != nil {
			why = check()
		}
		if why == nil {
			return sum, nil
		}
		if reply.Finish == chat.FinishLength {
			r.MaxTokens *= 2 // or it would be cut again
		}
	}
	return sum, &NoAnswerError{max(tries, 1), why}
}

// Decode reads a reply as one JSON value and nothing else, mending nothing. It
// may stand in one Markdown fence, which is how models write a document, and
// after a block of reasoning, which some servers leave in. Fields that v does
// not have, and what schema (if not nil) does not allow, are refused.
func Decode(reply Reply, schema *Schema, v any) error {
	if reply.Finish != chat.FinishStop {
		return fmt.Errorf("the reply is cut (finish reason %s)", reply.Finish)
	}
	text := unfenced(afterThought(strings.TrimSpace(reply.Text)))
	if text == "" {
		return errors.New("the reply is empty")
	}
	if schema != nil {
		if err := schema.Check([]byte(text)); err != nil {
			return err
		}
	}
	return decodeWhole([]byte(text), v)
}

// afterThought is text without a block of reasoning at its beginning.
func afterThought(text string) string {
	if thought, rest, ok := strings.Cut(text, "</think>"); ok && strings.HasPrefix(thought, "<think>") {
		return strings.TrimSpace(rest)
	}
	return text
}

// unfenced takes text out of a fence that holds all of it.
func unfenced(text string) string {
	head, body, ok := strings.Cut(text, "\n")
	inside, closed := strings.CutSuffix(body, "```")
	if !ok || !closed || head != "```" && head != "```json" || strings.Contains(inside, "```") {
		return text
	}
	return strings.TrimSpace(inside)
}

// decodeWhole reads data as exactly one value of known fields.
func decodeWhole(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("the reply is not the JSON asked for: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the reply goes on after its JSON value")
	}
	return nil
}
