// Package condition reads the conditions that users type: "correct && turns <= 4"
// chooses rows, "accuracy.low >= 0.9" is a bar.
//
// A condition is an expression of the language of github.com/expr-lang/expr
// without its functions: names of the fields of a struct, numbers, 'texts',
// comparison, arithmetic, in, contains, matches, and, or, not (&&, ||, !). An
// unknown name and a comparison of unlike types are refused when it is read.
package condition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// A Condition asks something of a T, a struct whose fields are tagged with the
// names that users know: `expr:"turns"`.
type Condition[T any] struct {
	text    string
	program *vm.Program
	names   names
}

// Parse reads text. An error says in one line what is wrong where.
func Parse[T any](text string) (*Condition[T], error) {
	c := &Condition[T]{text: text}
	var none T
	program, err := expr.Compile(text, expr.Env(none), expr.AsBool(), expr.DisableAllBuiltins(), expr.Patch(&c.names))
	if err != nil {
		return nil, fmt.Errorf("%q: %s (names: %s)", text, firstLine(err), strings.Join(fields[T](), ", "))
	}
	c.program = program
	return c, nil
}

// Holds evaluates the condition.
func (c *Condition[T]) Holds(x T) (bool, error) {
	out, err := expr.Run(c.program, x)
	if err != nil {
		return false, fmt.Errorf("%q: %s", c.text, firstLine(err))
	}
	holds, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("%q: is %v, want true or false", c.text, out)
	}
	return holds, nil
}

// Names reports whether the condition speaks of one of these fields.
func (c *Condition[T]) Names(some ...string) bool {
	return slices.ContainsFunc(some, func(name string) bool { return slices.Contains(c.names, name) })
}

// String is the condition as it was typed.
func (c *Condition[T]) String() string { return c.text }

// names collects the identifiers of an expression.
type names []string

// Visit implements ast.Visitor.
func (n *names) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok {
		*n = append(*n, id.Value)
	}
}

// firstLine leaves out the picture that the package draws below its message.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// fields are the names that a condition about a T may use.
func fields[T any]() []string { return fieldsOf(reflect.TypeFor[T](), "") }

func fieldsOf(t reflect.Type, prefix string) (out []string) {
	for _, f := range reflect.VisibleFields(t) {
		switch name := f.Tag.Get("expr"); {
		case name == "":
		case f.Type.Kind() == reflect.Struct:
			out = append(out, fieldsOf(f.Type, prefix+name+".")...)
		default:
			out = append(out, prefix+name)
		}
	}
	return out
}
