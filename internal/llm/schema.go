package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A rule is the part of JSON Schema that Check knows. Keywords beyond it are a
// hint to the server only.
type rule struct {
	Type       types           `json:"type"`
	Properties map[string]rule `json:"properties"`
	Required   []string        `json:"required"`
	Additional *bool           `json:"additionalProperties"`
	Items      *rule           `json:"items"`
	Enum       []any           `json:"enum"`
	Minimum    *float64        `json:"minimum"`
	Maximum    *float64        `json:"maximum"`
	MinItems   int             `json:"minItems"`
	MaxItems   *int            `json:"maxItems"`
	MinLength  int             `json:"minLength"`
}

// types is one name of a type, or a list of them.
type types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// Check returns an error that names the first place where data, one JSON value,
// is not what the schema allows.
func (s *Schema) Check(data []byte) error {
	var r rule
	if err := json.Unmarshal(s.JSON, &r); err != nil {
		return fmt.Errorf("schema %s: %w", s.Name, err)
	}
	v, err := value(data)
	if err != nil {
		return err
	}
	return r.check("reply", v)
}

// value is data as one JSON value in which no object has a key twice.
func value(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := next(dec, maxDepth)
	if err != nil {
		return nil, fmt.Errorf("the reply is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the reply goes on after its JSON value")
	}
	return v, nil
}

// maxDepth is how deep lists and objects may stand in each other.
const maxDepth = 200

func next(dec *json.Decoder, depth int) (any, error) {
	if depth == 0 {
		return nil, errors.New("it is nested too deep")
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			x, err := next(dec, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		_, err := dec.Token()
		return list, err
	case json.Delim('{'):
		return object(dec, depth)
	}
	return tok, nil
}

func object(dec *json.Decoder, depth int) (any, error) {
	fields := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(key)
		if _, ok := fields[name]; ok {
			return nil, fmt.Errorf("%q stands twice in an object", name)
		}
		if fields[name], err = next(dec, depth-1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return fields, err
}

func (r *rule) check(at string, v any) error {
	if len(r.Type) > 0 && !slices.ContainsFunc(r.Type, func(t string) bool { return isA(v, t) }) {
		return fmt.Errorf("%s: want %s", at, strings.Join(r.Type, " or "))
	}
	if len(r.Enum) > 0 && !slices.ContainsFunc(r.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) }) {
		return fmt.Errorf("%s: %v is none of %v", at, v, r.Enum)
	}
	switch x := v.(type) {
	case json.Number:
		return r.checkNumber(at, x)
	case string:
		if utf8.RuneCountInString(x) < r.MinLength {
			return fmt.Errorf("%s: is shorter than %d characters", at, r.MinLength)
		}
	case []any:
		return r.checkList(at, x)
	case map[string]any:
		return r.checkObject(at, x)
	}
	return nil
}

func (r *rule) checkNumber(at string, n json.Number) error {
	x, err := n.Float64()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", at, err)
	case r.Minimum != nil && x < *r.Minimum:
		return fmt.Errorf("%s: %s is less than %g", at, n, *r.Minimum)
	case r.Maximum != nil && x > *r.Maximum:
		return fmt.Errorf("%s: %s is more than %g", at, n, *r.Maximum)
	}
	return nil
}

func (r *rule) checkList(at string, list []any) error {
	if len(list) < r.MinItems || r.MaxItems != nil && len(list) > *r.MaxItems {
		return fmt.Errorf("%s: has %d entries", at, len(list))
	}
	if r.Items == nil {
		return nil
	}
	for i, x := range list {
		if err := r.Items.check(fmt.Sprintf("%s[%d]", at, i), x); err != nil {
			return err
		}
	}
	return nil
}

func (r *rule) checkObject(at string, fields map[string]any) error {
	for _, name := range r.Required {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("%s: %s is missing", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p, ok := r.Properties[name]
		if !ok && r.Additional != nil && !*r.Additional {
			return fmt.Errorf("%s: %q is not asked for", at, name)
		}
		if err := p.check(at+"."+name, fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// isA says whether v has a type of JSON Schema.
func isA(v any, name string) bool {
	switch x := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		_, err := x.Int64()
		return name == "number" || name == "integer" && err == nil
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}
