package chattemplate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ardanlabs/jinja"

	"agentmill/internal/chat"
)

// maxDepth bounds nested values.
const maxDepth = 200

var errTooDeep = fmt.Errorf("JSON is nested deeper than %d", maxDepth)

// messageValues are messages as the chat-completions protocol has them, absent
// fields absent: templates ask whether a field is there.
func messageValues(messages []chat.Message) jinja.Value {
	list := make([]jinja.Value, 0, len(messages))
	for _, m := range messages {
		d := jinja.NewDict()
		set := d.AsDict().Set
		set("role", jinja.NewString(string(m.Role)))
		set("content", jinja.NewString(m.Content))
		if len(m.ToolCalls) > 0 {
			set("tool_calls", callValues(m.ToolCalls))
		}
		if m.ToolCallID != "" {
			set("tool_call_id", jinja.NewString(m.ToolCallID))
		}
		list = append(list, d)
	}
	return jinja.NewList(list)
}

func callValues(calls []chat.ToolCall) jinja.Value {
	list := make([]jinja.Value, 0, len(calls))
	for _, c := range calls {
		args, err := parseJSON(c.Arguments)
		if err != nil {
			args = jinja.NewString(string(c.Arguments)) // as the protocol has it: a string
		}
		d := jinja.NewDict()
		if c.ID != "" {
			d.AsDict().Set("id", jinja.NewString(c.ID))
		}
		list = append(list, typed(d, dict(field{"name", jinja.NewString(c.Name)}, field{"arguments", args})))
	}
	return jinja.NewList(list)
}

// toolValues are tools as transformers is given them.
func toolValues(tools []chat.Tool) (jinja.Value, error) {
	list := make([]jinja.Value, 0, len(tools))
	for _, t := range tools {
		schema, err := parseJSON(t.Parameters)
		if err != nil {
			return schema, fmt.Errorf("parameters of tool %s: %w", t.Name, err)
		}
		function := dict(field{"name", jinja.NewString(t.Name)}, field{"description", jinja.NewString(t.Description)}, field{"parameters", schema})
		list = append(list, typed(jinja.NewDict(), function))
	}
	return jinja.NewList(list), nil
}

// typed is {"type": "function", "function": …} added to d.
func typed(d, function jinja.Value) jinja.Value {
	d.AsDict().Set("type", jinja.NewString("function"))
	d.AsDict().Set("function", function)
	return d
}

// A field is one entry of a dictionary.
type field struct {
	name  string
	value jinja.Value
}

func dict(fields ...field) jinja.Value {
	d := jinja.NewDict()
	for _, f := range fields {
		d.AsDict().Set(f.name, f.value)
	}
	return d
}

// parseJSON reads a value with its keys in the order of the text.
func parseJSON(raw json.RawMessage) (jinja.Value, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := readJSON(dec, 0)
	if err != nil {
		return jinja.Undefined(), err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return jinja.Undefined(), errors.New("more than one JSON value")
	}
	return v, nil
}

func readJSON(dec *json.Decoder, depth int) (jinja.Value, error) {
	token, err := dec.Token()
	switch {
	case err != nil:
		return jinja.Undefined(), err
	case depth > maxDepth:
		return jinja.Undefined(), errTooDeep
	case token == json.Delim('['):
		return readList(dec, depth)
	case token == json.Delim('{'):
		return readDict(dec, depth)
	}
	return jinja.FromGoValue(token), nil
}

func readList(dec *json.Decoder, depth int) (jinja.Value, error) {
	var items []jinja.Value
	for dec.More() {
		v, err := readJSON(dec, depth+1)
		if err != nil {
			return v, err
		}
		items = append(items, v)
	}
	_, err := dec.Token()
	return jinja.NewList(items), err
}

func readDict(dec *json.Decoder, depth int) (jinja.Value, error) {
	d := jinja.NewDict()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return jinja.Undefined(), err
		}
		v, err := readJSON(dec, depth+1)
		if err != nil {
			return v, err
		}
		d.AsDict().Set(fmt.Sprint(key), v)
	}
	_, err := dec.Token()
	return d, err
}
