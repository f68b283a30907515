package reward

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/match"
	"agentmill/internal/traj"
)

// SupportField is the field of a row in which a model's word on the support of
// the answer stands.
const SupportField = "support"

// Support is what a model says of the claims of an answer. Without claims it
// could not say.
type Support struct {
	Judge  string  `json:"judge"`
	Claims []Claim `json:"claims"`
}

// A Claim is one thing that an answer says.
type Claim struct {
	Claim     string `json:"claim"`
	Supported bool   `json:"supported"`
}

// supported is 1 where every number, date and name of the answer stands in a
// mail that this attempt read, and where it only says that it does not know. A
// model's word, where there is one, takes the place of the comparison; it is NaN
// where the model could not say.
func (a *attempt) supported() float64 {
	switch {
	case a.row.Stop != traj.Answered && a.row.Stop != traj.Abstained:
		return 0
	case a.row.Verdict.Abstained:
		return 1
	}
	if raw, ok := a.row.Extra[SupportField]; ok {
		return heard(raw)
	}
	return one(Supported(&a.row.Trajectory))
}

// heard is a model's word as a value.
func heard(raw json.RawMessage) float64 {
	var s Support
	if json.Unmarshal(raw, &s) != nil || len(s.Claims) == 0 {
		return math.NaN()
	}
	return one(!slices.ContainsFunc(s.Claims, func(c Claim) bool { return !c.Supported }))
}

// Supported says whether every number, date, time and name of the final answer
// stands in a mail that the attempt read, or in the question.
func Supported(t *traj.Trajectory) bool {
	read := ReadTexts(t)
	return len(read) > 0 && len(match.Unsupported(t.Question.Question, t.Answer.Text, read)) == 0
}

// ReadTexts returns the results of the calls that read a mail: what stands between
// the assistant's turn that called and its next.
func ReadTexts(t *traj.Trajectory) []string {
	reads := map[int]bool{}
	for _, c := range t.Calls {
		if strings.HasPrefix(c.Tool, "read") && c.Error == "" && len(c.IDs) > 0 {
			reads[c.Turn] = true
		}
	}
	var out []string
	turn := -1
	for i := range t.Messages {
		switch m := &t.Messages[i]; m.Role {
		case chat.Assistant:
			turn++
		case chat.User, chat.ToolRole, chat.System:
			if reads[turn] {
				out = append(out, m.Content)
			}
		}
	}
	return out
}
