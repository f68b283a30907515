package toolformat

import (
	"bytes"
	"encoding/json"
	"strings"
)

// spaced writes JSON as Python's json.dumps does, with a blank after colons and
// commas: models of these formats have learnt it so. It is for valid JSON.
func spaced(raw json.RawMessage) string {
	var compacted bytes.Buffer
	if json.Compact(&compacted, raw) != nil {
		return "{}"
	}
	var b strings.Builder
	quoted, escaped := false, false
	for _, c := range compacted.Bytes() {
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = quoted
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ':' || c == ','):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// quoteName writes a tool's name as JSON. A tag in it would be taken for the
// call's own.
func quoteName(name string) string {
	return strings.ReplaceAll(string(compact(name)), "<", `\u003c`)
}
