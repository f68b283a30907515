package toolformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// A schema is what is understood of a JSON schema. What is not is any value.
type schema struct {
	Type        any               `json:"type"` // a name, or several
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *schema           `json:"items"`
	MinItems    int               `json:"minItems"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	Properties  properties        `json:"properties"`
	Required    []string          `json:"required"`
}

// A property is one field of an object; properties keep the schema's order.
type property struct {
	name string
	schema
}

type properties []property

// UnmarshalJSON implements json.Unmarshaler.
func (p *properties) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return errors.New("properties: want an object")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		field := property{name: fmt.Sprint(name)}
		if err := dec.Decode(&field.schema); err != nil {
			return err
		}
		*p = append(*p, field)
	}
	return nil
}

// deepest is how far values may be nested in each other.
const deepest = 3

// mostListed bounds the numbers of a range that are listed one by one.
const mostListed = 100

// pattern is the regular expression of the values that s allows. Text is that of
// strings.
func (s *schema) pattern(text string, depth int) string {
	if len(s.Enum) > 0 {
		return s.oneOf()
	}
	switch kind := s.Type.(type) {
	case []any:
		each := make([]string, len(kind))
		for i, k := range kind {
			one := *s
			one.Type = k
			each[i] = one.pattern(text, depth)
		}
		return `(` + strings.Join(each, "|") + `)`
	case string:
		return s.value(kind, text, depth)
	}
	return anything(text, depth)
}

func (s *schema) value(kind, text string, depth int) string {
	switch {
	case kind == "string" && (s.Format == "date" || s.Description == "YYYY-MM-DD"):
		return jsonDay
	case kind == "string":
		return text
	case kind == "integer":
		return s.integer()
	case kind == "number":
		return jsonNumber
	case kind == "boolean":
		return `(true|false)`
	case kind == "null":
		return `null`
	case kind == "array" && depth < deepest:
		items := schema{}
		if s.Items != nil {
			items = *s.Items
		}
		return list(items.pattern(text, depth+1), s.MinItems)
	case kind == "object" && depth < deepest && len(s.Properties) > 0:
		return s.object(text, depth)
	case kind == "array":
		return `\[\]`
	case kind == "object":
		return `\{\}`
	}
	return anything(text, depth)
}

// integer lists the numbers of a small range. Counts begin at 1.
func (s *schema) integer() string {
	low := 1.0
	if s.Minimum != nil {
		low = *s.Minimum
	}
	if s.Maximum == nil || *s.Maximum < low || *s.Maximum-low > mostListed {
		return wholeNumber
	}
	var all []string
	for n := low; n <= *s.Maximum; n++ {
		all = append(all, fmt.Sprintf("%.0f", n))
	}
	return `(` + strings.Join(all, "|") + `)`
}

// oneOf is the pattern of an enumeration.
func (s *schema) oneOf() string {
	all := make([]string, len(s.Enum))
	for i, raw := range s.Enum {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			all[i] = literal(text)
		} else {
			all[i] = regexp.QuoteMeta(string(raw))
		}
	}
	return `(` + strings.Join(all, "|") + `)`
}

// list is the pattern of an array of at least least items.
func list(item string, least int) string {
	more := `(` + comma + item + `)`
	if least <= 0 {
		return `\[(` + item + more + `*)?\]`
	}
	return `\[` + item + strings.Repeat(more, min(least, mostListed)-1) + more + `*\]`
}

// object is the pattern of an object: what it requires, then what it may have.
func (s *schema) object(text string, depth int) string {
	var need, may []string
	for _, p := range s.Properties {
		field := literal(p.name) + `: ?` + p.pattern(text, depth+1)
		if slices.Contains(s.Required, p.name) {
			need = append(need, field)
		} else {
			may = append(may, field)
		}
	}
	optional := func(fields []string) string {
		var b strings.Builder
		for _, f := range fields {
			b.WriteString(`(` + comma + f + `)?`)
		}
		return b.String()
	}
	if len(need) > 0 {
		return `\{` + strings.Join(need, comma) + optional(may) + `\}`
	}
	var first []string // each field can be the first
	for i, f := range may {
		first = append(first, f+optional(may[i+1:]))
	}
	return `\{(` + strings.Join(first, "|") + `)?\}`
}

// anything is the pattern of any value, nested a little.
func anything(text string, depth int) string {
	value := text + `|` + jsonNumber + `|true|false|null`
	if depth < deepest {
		inner := anything(text, depth+1)
		field := text + `: ?` + inner
		value += `|` + list(inner, 0) + `|\{(` + field + `(` + comma + field + `)*)?\}`
	}
	return `(` + value + `)`
}

func utf16Of(r rune) []uint16 { return utf16.AppendRune(nil, r) }
