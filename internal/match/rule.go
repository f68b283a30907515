package match

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule decides whether an answer is right.
type Rule string

// The rules: Values is the project's own, Containment that of the trials whose
// figures are compared with.
const (
	Values      Rule = "values"
	Containment Rule = "containment"
)

// ParseRule reads a rule's name.
func ParseRule(s string) (Rule, error) {
	switch r := Rule(s); r {
	case Values, Containment:
		return r, nil
	}
	return "", fmt.Errorf("match rule %q: want values or containment", s)
}

// Gold is what an answer is compared with.
type Gold struct {
	Question   string
	Asked      string   // the day of the question, YYYY-MM-DD; "" if not known
	Answers    []string // the answer and its aliases
	Answerable bool
}

// A Result is what a rule says of an answer. Hedged is true for an answer that
// was refused only because it says too much.
type Result struct {
	Correct   bool
	Abstained bool
	Hedged    bool
	Why       string
}

// Judge compares one answer with the gold.
func (r Rule) Judge(g Gold, answer string) Result {
	if r == Containment {
		return contained(g, answer)
	}
	answer = withoutDisclaimer(answer)
	said := abstention(answer)
	if g.Answerable && slices.ContainsFunc(g.Answers, func(gold string) bool { return abstention(gold) != answers }) {
		said = answers // "it was not found" is what the mail says
	}
	switch {
	case said == plain:
		return Result{Correct: !g.Answerable, Abstained: true, Why: "says that it does not know"}
	case !g.Answerable:
		return Result{Hedged: said == hedged, Why: "answers a question that has no answer"}
	case said == hedged:
		return Result{Hedged: true, Why: "says that it does not know and answers all the same"}
	case strings.TrimSpace(answer) == "":
		return Result{Why: "empty"}
	}
	return judgeValues(g, answer)
}
