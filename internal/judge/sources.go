package judge

import (
	"fmt"
	"slices"

	"agentmill/internal/traj"
)

// A SourceRule decides whether an answer cites the right mails.
type SourceRule string

// The rules: Covered wants every gold mail, by itself or by another carrier of
// its evidence, and nothing else. First is the reference's: the first gold mail
// is among those cited.
const (
	Covered SourceRule = "covered"
	First   SourceRule = "first"
)

// ParseSourceRule reads a rule's name.
func ParseSourceRule(s string) (SourceRule, error) {
	switch r := SourceRule(s); r {
	case Covered, First:
		return r, nil
	}
	return "", fmt.Errorf("source rule %q: want covered or first", s)
}

// correct looks at an answerable question. Rows hold the ids of the copy that
// stands for a mail, so equal ids are equal mails.
func (r SourceRule) correct(t *traj.Trajectory) bool {
	gold, cited := t.Question.MessageIDs, t.Answer.Sources
	if r == First {
		return len(gold) > 0 && slices.Contains(cited, gold[0])
	}
	return len(cited) > 0 && covered(gold, t.Question.AlsoIn, cited)
}

// covered pairs each gold mail that is not cited itself with a cited mail that
// carries the same evidence. also does not say whose evidence it carries, so the
// numbers must suffice.
func covered(gold, also, cited []string) bool {
	spare := map[string]bool{}
	for _, id := range cited {
		if slices.Contains(gold, id) {
			continue
		}
		if !slices.Contains(also, id) {
			return false
		}
		spare[id] = true
	}
	missing := 0
	for _, id := range gold {
		if !slices.Contains(cited, id) {
			missing++
		}
	}
	return missing <= len(spare)
}
