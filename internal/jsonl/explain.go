package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Unmarshal is json.Unmarshal with errors in words for people: the field first,
// what it is and what is wanted.
func Unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return errors.New(Mismatch(kind))
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %s", kind.Field, Mismatch(kind))
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON: %w (byte %d)", syntax, syntax.Offset)
	}
	return err
}

// Mismatch says what a value is and what is wanted in its place.
func Mismatch(e *json.UnmarshalTypeError) string {
	article := "a "
	if strings.IndexByte("aeiou", e.Value[0]) >= 0 {
		article = "an "
	}
	return "is " + article + e.Value + ", want " + typeName(e.Type)
}

// typeName says what a Go type looks like in JSON.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
