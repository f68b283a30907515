package judge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// The flags: oddities of an attempt that a person may want to look at. None of
// them changes a verdict or a reward by itself.
const (
	FlagHedged      = "hedged"                 // refused only because the answer says too much
	FlagEmpty       = "empty_answer"           // answered with nothing
	FlagRepeated    = "repeated_call"          // made one and the same call three times or more
	FlagUnseen      = "cites_unseen"           // cites a mail that no call showed
	FlagIdleSources = "abstained_with_sources" // says that it does not know and cites a mail
	FlagNoGold      = "no_gold"                // an answerable question that names no mail
	FlagCut         = "cut_turn"               // a turn ended by its token limit
	FlagNoVerdict   = "no_verdict"             // the judge could not say
	FlagInjected    = "speaks_to_judge"        // the answer gives its judge orders
)

// sameCalls is how many equal calls make a repetition. Asking twice may be a
// second look.
const sameCalls = 3

// flags returns the flags of an attempt in alphabetical order.
func flags(t *traj.Trajectory, o Opinion) []string {
	answered := t.Stop == traj.Answered || t.Stop == traj.Abstained
	var out []string
	for flag, on := range map[string]bool{
		FlagHedged:      o.Hedged,
		FlagInjected:    o.Injected,
		FlagEmpty:       answered && strings.TrimSpace(t.Answer.Text) == "",
		FlagRepeated:    repeats(t.Calls),
		FlagUnseen:      answered && citesUnseen(t),
		FlagIdleSources: answered && o.Abstained && len(t.Answer.Sources) > 0,
		FlagNoGold:      t.Question.Answerable && len(t.Question.MessageIDs) == 0,
		FlagCut:         slices.ContainsFunc(t.Turns, func(turn chat.Turn) bool { return turn.FinishReason == chat.FinishLength }),
	} {
		if on {
			out = append(out, flag)
		}
	}
	slices.Sort(out)
	return out
}

func repeats(calls []traj.Call) bool {
	count := map[string]int{}
	for _, c := range calls {
		key := c.Tool + "\x00" + canonical(c.Arguments)
		if count[key]++; count[key] >= sameCalls {
			return true
		}
	}
	return false
}

// canonical writes arguments with sorted keys and no blanks.
func canonical(args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return string(bytes.TrimSpace(args))
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(sorted)
}

func citesUnseen(t *traj.Trajectory) bool {
	return slices.ContainsFunc(t.Answer.Sources, func(id string) bool {
		return !slices.ContainsFunc(t.Calls, func(c traj.Call) bool { return slices.Contains(c.IDs, id) })
	})
}
