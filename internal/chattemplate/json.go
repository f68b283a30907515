package chattemplate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ardanlabs/jinja"
)

// jsonName is what templates call instead of tojson.
const jsonName = "agentmill_tojson"

// toJSON is the filter tojson as transformers defines it: Python's json.dumps
// with ensure_ascii off.
func toJSON(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	if len(args) == 0 {
		return jinja.Undefined(), errors.New("tojson wants a value")
	}
	w := jsonWriter{item: ", ", key: ": ", indent: -1}
	if v, ok := kwargs["indent"]; ok && v.IsInt() {
		w.indent, w.item = int(min(v.AsInt(), 64)), ","
	}
	if v, ok := kwargs["separators"]; ok && v.IsList() {
		if v.AsList().Len() != 2 {
			return jinja.Undefined(), errors.New("tojson: separators must be two")
		}
		w.item, w.key = text(v.AsList().Get(0)), text(v.AsList().Get(1))
	}
	w.ascii = truthy(kwargs["ensure_ascii"])
	w.sorted = truthy(kwargs["sort_keys"])
	if err := w.value(args[0], 0); err != nil {
		return jinja.Undefined(), err
	}
	return jinja.NewString(w.String()), nil
}

func text(v jinja.Value) string {
	if v.IsString() {
		return v.AsString()
	}
	return ""
}

func truthy(v jinja.Value) bool { return v.IsTruthy() }

// A jsonWriter writes as Python's json.dumps does.
type jsonWriter struct {
	strings.Builder
	item, key     string
	indent        int // negative: one line
	ascii, sorted bool
}

func (w *jsonWriter) value(v jinja.Value, depth int) error {
	switch {
	case depth > maxDepth:
		return errTooDeep
	case v.IsNone():
		w.WriteString("null")
	case v.IsBool():
		w.WriteString(strconv.FormatBool(v.AsBool()))
	case v.IsInt():
		w.WriteString(strconv.FormatInt(v.AsInt(), 10))
	case v.IsFloat():
		w.WriteString(pythonFloat(v.AsFloat()))
	case v.IsString():
		w.quote(v.AsString())
	case v.IsList():
		return w.list(v.AsList().Items, depth)
	case v.IsDict():
		return w.dict(v.AsDict(), depth)
	default:
		return fmt.Errorf("tojson: %s cannot be written as JSON", v)
	}
	return nil
}

func (w *jsonWriter) list(items []jinja.Value, depth int) error {
	w.WriteByte('[')
	for i, v := range items {
		w.next(i, depth+1)
		if err := w.value(v, depth+1); err != nil {
			return err
		}
	}
	w.end(len(items), depth)
	w.WriteByte(']')
	return nil
}

func (w *jsonWriter) dict(d *jinja.Dict, depth int) error {
	keys := d.OrderedKeys()
	if w.sorted {
		slices.Sort(keys)
	}
	w.WriteByte('{')
	for i, key := range keys {
		w.next(i, depth+1)
		w.quote(key)
		w.WriteString(w.key)
		if err := w.value(d.Data[key], depth+1); err != nil {
			return err
		}
	}
	w.end(len(keys), depth)
	w.WriteByte('}')
	return nil
}

// next goes on to item i.
func (w *jsonWriter) next(i, depth int) {
	if i > 0 {
		w.WriteString(w.item)
	}
	w.line(depth)
}

// end goes back to the line of the bracket, if anything stood in between.
func (w *jsonWriter) end(items, depth int) {
	if items > 0 {
		w.line(depth)
	}
}

func (w *jsonWriter) line(depth int) {
	if w.indent >= 0 {
		w.WriteString("\n" + strings.Repeat(" ", w.indent*depth))
	}
}

// escapes are the characters that json.dumps writes by a letter.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func (w *jsonWriter) quote(s string) {
	w.WriteByte('"')
	for _, r := range s {
		short, ok := escapes[r]
		switch {
		case ok:
			w.WriteString(short)
		case r < ' ' || w.ascii && r > '~' && r < 0x10000:
			w.WriteString(fmt.Sprintf(`\u%04x`, r))
		case w.ascii && r >= utf8.RuneSelf:
			high, low := utf16.EncodeRune(r)
			w.WriteString(fmt.Sprintf(`\u%04x\u%04x`, high, low))
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}

// pythonFloat is repr of a float.
func pythonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + "inity"
	case f == 0 || math.Abs(f) >= 1e-4 && math.Abs(f) < 1e16:
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	return strconv.FormatFloat(f, 'e', -1, 64)
}

// printName is what every printed value goes through.
const printName = "agentmill_print"

// printed is a value as Python prints it, where the engine does not.
func printed(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	switch {
	case len(args) == 0:
		return jinja.Undefined(), errors.New("nothing to print")
	case args[0].IsNone():
		return jinja.NewString("None"), nil
	case args[0].IsFloat():
		return jinja.NewString(pythonFloat(args[0].AsFloat())), nil
	}
	return args[0], nil
}
