package synthq

import (
	"fmt"
	"slices"
	"strings"
)

// A Shape is a place of a mail that the extractive generator reads.
type Shape string

// The shapes.
const (
	Statement Shape = "statement" // sentences: "The review is on Friday."
	Notice    Shape = "notice"    // labelled lines of a mail about an event: "Where: room 4"
	Signature Shape = "signature" // what stands below the sender's name
)

// Shapes lists the shapes.
func Shapes() []string { return []string{string(Statement), string(Notice), string(Signature)} }

func checkShapes(names []string) error {
	for _, n := range names {
		if !slices.Contains(Shapes(), n) {
			return fmt.Errorf("shape %q: want one of %s", n, strings.Join(Shapes(), ", "))
		}
	}
	return nil
}

// takes reports whether mails are read for a shape.
func (c *Config) takes(s Shape) bool {
	if len(c.Shapes) == 0 {
		return s == Statement
	}
	return slices.Contains(c.Shapes, string(s))
}
