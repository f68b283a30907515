package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"agentmill/internal/jsonl"
)

var known = jsonl.Names(reflect.TypeFor[Question]())

// MarshalJSON writes Extra beside the known fields, and missing lists as [].
func (q Question) MarshalJSON() ([]byte, error) {
	q.Aliases, q.MessageIDs, q.AlsoIn = list(q.Aliases), list(q.MessageIDs), list(q.AlsoIn)
	q.Spans = list(q.Spans)
	type plain Question
	data, err := jsonl.Marshal(plain(q))
	if err != nil {
		return nil, err
	}
	return jsonl.Splice(data, q.Extra)
}

// UnmarshalJSON keeps unknown fields in Extra. A question is answerable unless
// it says otherwise; an id may be a number; one without an id gets its hash.
func (q *Question) UnmarshalJSON(data []byte) error {
	type plain Question
	row := struct {
		*plain
		ID         json.RawMessage `json:"id"`
		Answerable *bool           `json:"answerable"`
	}{plain: (*plain)(q)}
	if err := json.Unmarshal(data, &row); err != nil {
		return err
	}
	q.Answerable = row.Answerable == nil || *row.Answerable
	q.Extra = jsonl.Extra(data, known)
	id, err := text(row.ID)
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	if q.ID = id; id == "" {
		q.ID = q.Hash()
	}
	return nil
}

// text reads a string, or a number as its digits.
func text(raw json.RawMessage) (s string, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", nil
	}
	if raw[0] != '"' {
		var n json.Number
		if json.Unmarshal(raw, &n) != nil {
			return "", fmt.Errorf("is %s, want a string or a number", raw)
		}
		return n.String(), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
