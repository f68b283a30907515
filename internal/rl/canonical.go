package rl

import (
	"encoding/json"
	"slices"
	"strings"
)

// CanonicalText folds white space and case, so that texts that mean the same are
// equal. JSON is written with sorted keys.
func CanonicalText(s string) string {
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		if c, ok := canonicalJSON([]byte(t)); ok {
			return c
		}
	}
	return fold(s)
}

// CanonicalAction is a tool call without what makes equal calls look different:
// order of keys, case, white space, and order and repetition in lists of words.
func CanonicalAction(tool string, arguments json.RawMessage) string {
	c, ok := canonicalJSON(arguments)
	if !ok {
		c = fold(string(arguments))
	}
	return tool + " " + c
}

func fold(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

func canonicalJSON(data []byte) (string, bool) {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return "", false
	}
	out, err := json.Marshal(canonicalValue(v)) // sorts keys
	return string(out), err == nil
}

func canonicalValue(v any) any {
	switch v := v.(type) {
	case string:
		return fold(v)
	case map[string]any:
		for k := range v {
			v[k] = canonicalValue(v[k])
		}
	case []any:
		return canonicalList(v)
	}
	return v
}

// canonicalList sorts a list of words; other lists keep their order.
func canonicalList(list []any) any {
	words := make([]string, 0, len(list))
	for i := range list {
		list[i] = canonicalValue(list[i])
		if w, ok := list[i].(string); ok {
			words = append(words, w)
		}
	}
	if len(words) < len(list) {
		return list
	}
	slices.Sort(words)
	return slices.Compact(words)
}
