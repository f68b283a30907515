package reward

import (
	"strings"

	"agentmill/internal/traj"
)

// A Term measures one thing of a judged attempt, as a number from 0 to 1, or NaN
// where it cannot say.
type Term struct {
	Name  string
	About string
	value func(*attempt) float64
}

// Catalogue returns every term that a reward can weigh.
func Catalogue() []Term { return catalogue }

// catalogue holds the terms in the order in which rewards add them.
var catalogue = []Term{
	{"unparsable", "ended on a call that does not parse, or on a turn cut before its call was complete", is(Unparsable)},
	{"unknown_tool", "ended on a call of a tool that does not exist", is(UnknownTool)},
	{"bad_arguments", "ended on a call with bad arguments, or without any call", is(BadArguments)},
	{"wrong", "answered and wrong (on an unanswerable question: any answer)", is(Wrong)},
	{"abstained", "said that it does not know, of a question that has an answer", is(Abstained)},
	{"out_of_turns", "ran out of turns or of context", is(OutOfTurns)},
	{"correct", "correct (on an unanswerable question: said so, without sources)", is(Correct)},
	{"correct_sources", "correct, and cites the right mails and no others", onlyCorrect((*attempt).sources)},
	{"few_sources", "correct: 1 / number of cited mails, 0 without any", onlyCorrect((*attempt).fewSources)},
	{"few_turns", "correct: 1 - turns / turns allowed", onlyCorrect((*attempt).fewTurns)},
	{"partial_found", "not correct, but a right mail was among the hits", onlyPartial((*attempt).found)},
	{"partial_read", "not correct, but a right mail was read", onlyPartial((*attempt).read)},
	{"partial_ids", "not correct, but never asked for a mail that does not exist", onlyPartial((*attempt).ids)},
	{"partial_sources", "not correct, but cites the right mails and no others", onlyPartial((*attempt).sources)},
	{"found", "a right mail was among the hits, whatever the outcome", (*attempt).found},
	{"read", "a right mail was read, whatever the outcome", (*attempt).read},
	{"ids", "never asked for a mail that does not exist, whatever the outcome", (*attempt).ids},
	{"sources", "cites the right mails and no others, whatever the outcome", (*attempt).sources},
	{"supported", "every number, date and name of the answer stands in a mail that was read; 1 also for \"I don't know\"", (*attempt).supported},
	{"bad_call", "ended on any bad call: unparsable, unknown_tool or bad_arguments", (*attempt).badCall},
}

func termNames() []string {
	var out []string
	for _, t := range catalogue {
		out = append(out, t.Name)
	}
	return out
}

// An Extra is what a reward may say beside right and wrong: one or more terms
// that are switched on and off together.
type Extra struct {
	Name, About string
	Terms       []string
}

// Extras returns the eight of ART-E.
func Extras() []Extra { return extras }

var extras = []Extra{
	{"found", "a right mail was among the hits", []string{"partial_found", "found"}},
	{"read", "a right mail was read", []string{"partial_read", "read"}},
	{"ids", "no mail was asked for that does not exist", []string{"partial_ids", "ids"}},
	{"sources", "the right mails are cited", []string{"correct_sources", "partial_sources", "sources"}},
	{"few_sources", "few mails are cited", []string{"few_sources"}},
	{"few_turns", "few turns were needed", []string{"few_turns"}},
	{"calls", "every call is well formed", []string{"unparsable", "unknown_tool", "bad_arguments", "bad_call"}},
	{"abstain", "rather no answer than a wrong one", []string{"wrong", "abstained"}},
}

func extraNames() []string {
	var out []string
	for _, e := range extras {
		out = append(out, e.Name)
	}
	return out
}

// An Outcome is the row of the rubric that an attempt belongs to.
type Outcome string

// The rows of the rubric, in the order in which they are tried.
const (
	Unparsable   Outcome = "unparsable"
	UnknownTool  Outcome = "unknown_tool"
	BadArguments Outcome = "bad_arguments"
	Wrong        Outcome = "wrong"
	Abstained    Outcome = "abstained"
	OutOfTurns   Outcome = "out_of_turns"
	Correct      Outcome = "correct"
)

// OutcomeOf returns the row of the rubric of a judged attempt, and "" for one
// without a verdict. Correct is looked at before Abstained: "I don't know" is
// correct where nothing is known.
func OutcomeOf(row *traj.Scored) Outcome {
	if row.Verdict == nil {
		return ""
	}
	switch row.Stop {
	case traj.Length:
		return OutOfTurns
	case traj.MaxTurns:
		if bad := lastBadCall(&row.Trajectory); bad != "" {
			return bad
		}
		return OutOfTurns
	case traj.BadCall:
		return badCallOf(&row.Trajectory)
	case traj.Answered, traj.Abstained, traj.Failed: // the verdict tells
	}
	switch v := row.Verdict; {
	case v.Correct:
		return Correct
	case v.Abstained:
		return Abstained
	}
	return Wrong
}

// lastBadCall is the row of an attempt whose last call was bad. Earlier bad
// calls, which the policy was told of and got over, do not count.
func lastBadCall(t *traj.Trajectory) Outcome {
	if len(t.Calls) == 0 || t.Calls[len(t.Calls)-1].Turn < len(t.Turns)-1 {
		return ""
	}
	switch t.Calls[len(t.Calls)-1].Error {
	case traj.ErrUnparsable:
		return Unparsable
	case traj.ErrUnknownTool:
		return UnknownTool
	case traj.ErrBadArgs, traj.ErrNoCall:
		return BadArguments
	}
	return ""
}

// badCallOf also covers rows of other programs that stopped on a bad call
// without recording it: a cut turn is row 1, prose is row 3.
func badCallOf(t *traj.Trajectory) Outcome {
	if bad := lastBadCall(t); bad != "" {
		return bad
	}
	if n := len(t.Turns); n > 0 && t.Turns[n-1].FinishReason == "length" {
		return Unparsable
	}
	return BadArguments
}

// An attempt is what terms look at.
type attempt struct {
	row     *traj.Scored
	outcome Outcome
	gold    map[string]bool
}

func view(row *traj.Scored) *attempt {
	return &attempt{row: row, outcome: OutcomeOf(row), gold: Gold(row)}
}

// Gold returns the ids of the mails that carry the answer, other carriers of
// the same evidence included. It is empty for an unanswerable question.
func Gold(row *traj.Scored) map[string]bool {
	gold := map[string]bool{}
	if row.Question.Answerable {
		for _, ids := range [][]string{row.Question.MessageIDs, row.Question.AlsoIn} {
			for _, id := range ids {
				gold[id] = true
			}
		}
	}
	return gold
}

// FoundGold says whether a search showed a right mail.
func FoundGold(row *traj.Scored) bool { return showed(row, "search", Gold(row)) }

// ReadGold says whether a right mail was read.
func ReadGold(row *traj.Scored) bool { return showed(row, "read", Gold(row)) }

// ReadsUnseen says whether an attempt read a mail that no search of it had
// shown: whoever learns from it learns to invent ids.
func ReadsUnseen(t *traj.Trajectory) bool {
	shown := map[string]bool{}
	for _, c := range t.Calls {
		for _, id := range c.IDs {
			if strings.HasPrefix(c.Tool, "read") && !shown[id] {
				return true
			}
			shown[id] = true
		}
	}
	return false
}

// showed looks at calls of tools whose names begin with kind.
func showed(row *traj.Scored, kind string, gold map[string]bool) bool {
	for _, c := range row.Calls {
		if !strings.HasPrefix(c.Tool, kind) {
			continue
		}
		for _, id := range c.IDs {
			if gold[id] {
				return true
			}
		}
	}
	return false
}

func is(want Outcome) func(*attempt) float64 {
	return func(a *attempt) float64 { return one(a.outcome == want) }
}

func onlyCorrect(value func(*attempt) float64) func(*attempt) float64 {
	return func(a *attempt) float64 { return one(a.outcome == Correct) * value(a) }
}

func onlyPartial(value func(*attempt) float64) func(*attempt) float64 {
	return func(a *attempt) float64 { return one(a.outcome != Correct) * value(a) }
}

func (a *attempt) found() float64   { return one(showed(a.row, "search", a.gold)) }
func (a *attempt) read() float64    { return one(showed(a.row, "read", a.gold)) }
func (a *attempt) sources() float64 { return one(a.row.Verdict.SourcesCorrect) }

func (a *attempt) ids() float64 {
	for _, c := range a.row.Calls {
		if c.Error == traj.ErrNoSuchMail {
			return 0
		}
	}
	return 1
}

func (a *attempt) badCall() float64 {
	return one(a.outcome == Unparsable || a.outcome == UnknownTool || a.outcome == BadArguments)
}

func (a *attempt) fewSources() float64 {
	if n := len(a.row.Answer.Sources); n > 0 {
		return 1 / float64(n)
	}
	return 0
}

// fewTurns is 0 where the row does not say how many turns were allowed.
func (a *attempt) fewTurns() float64 {
	if a.row.EnvOptions.MaxTurns <= 0 {
		return 0
	}
	return max(0, 1-float64(Turns(&a.row.Trajectory))/float64(a.row.EnvOptions.MaxTurns))
}

// Turns returns the assistant turns of an attempt, the answering one included.
func Turns(t *traj.Trajectory) int {
	if len(t.Turns) > 0 {
		return len(t.Turns)
	}
	return t.Usage.Turns
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
