package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Extra returns the members of the JSON object data whose names are not known
// (in lower case), or nil. data must be valid JSON.
func Extra(data []byte, known map[string]bool) map[string]json.RawMessage {
	var extra map[string]json.RawMessage
	for name, value := range members(data) {
		if known[strings.ToLower(name)] {
			continue
		}
		if extra == nil {
			extra = map[string]json.RawMessage{}
		}
		extra[name] = slices.Clone(value)
	}
	return extra
}

// NullIn returns the first of the named members of the JSON object data that is a
// list with a null in it, and where; names are in lower case. Package json reads
// such a null as 0.
func NullIn(data []byte, names ...string) (name string, index int, found bool) {
	if !bytes.Contains(data, []byte("null")) {
		return "", 0, false
	}
	for member, value := range members(data) {
		if !slices.Contains(names, strings.ToLower(member)) || !bytes.HasPrefix(value, []byte("[")) {
			continue
		}
		if before, _, is := bytes.Cut(value, []byte("null")); is {
			return member, bytes.Count(before, []byte(",")), true
		}
	}
	return "", 0, false
}

// Splice adds members to the end of the JSON object, in order of their names.
func Splice(object []byte, extra map[string]json.RawMessage) ([]byte, error) {
	if len(extra) == 0 {
		return object, nil
	}
	var b bytes.Buffer
	b.Write(object[:len(object)-1])
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, err := Marshal(name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		if err := json.Compact(&b, extra[name]); err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Marshal is json.Marshal without the escaping of <, > and &, which is for web
// pages and makes mail unreadable.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Names are the JSON names of the fields of a struct type, embedded ones
// included, in lower case, as Extra wants them.
func Names(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != "-" && tag != "" {
			names[strings.ToLower(tag)] = true
		}
	}
	return names
}

// members iterates over the members of a valid JSON object. Names are decoded.
func members(data []byte) func(yield func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		i := bytes.IndexByte(data, '{') + 1
		for i > 0 && i < len(data) {
			i = skipTo(data, i, '"')
			if i >= len(data) {
				return
			}
			end := valueEnd(data, i)
			var name string
			if json.Unmarshal(data[i:end], &name) != nil {
				return
			}
			from := skipTo(data, end, ':') + 1
			to := valueEnd(data, from)
			if !yield(name, bytes.TrimSpace(data[from:to])) {
				return
			}
			i = to
		}
	}
}

func skipTo(data []byte, i int, c byte) int {
	for i < len(data) && data[i] != c {
		i++
	}
	return i
}

// valueEnd is where the value that begins at i ends: behind a string, or at the
// comma or bracket that follows the value.
func valueEnd(data []byte, i int) int {
	depth, isString := 0, data[i] == '"'
	for i < len(data) {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
			if depth == 0 && isString {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
