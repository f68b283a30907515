package train

import (
	"fmt"

	"agentmill/internal/condition"
	"agentmill/internal/reward"
	"agentmill/internal/traj"
)

// All is the filter that lets every row pass, also one without a verdict.
const All = "all"

// facts are what a filter may ask of a row.
type facts struct {
	Correct        bool               `expr:"correct"`
	Abstained      bool               `expr:"abstained"`
	Hallucinated   bool               `expr:"hallucinated"`
	SourcesCorrect bool               `expr:"sources_correct"`
	Reward         float64            `expr:"reward"`
	Terms          map[string]float64 `expr:"terms"`
	Stop           string             `expr:"stop"`
	Turns          int                `expr:"turns"`
	Attempt        int                `expr:"attempt"`
	Policy         string             `expr:"policy"`
	Answerable     bool               `expr:"answerable"`
	Kind           string             `expr:"kind"`
	Hops           int                `expr:"hops"`
	Inbox          string             `expr:"inbox"`
	Realistic      float64            `expr:"how_realistic"`
}

// ofVerdict are the facts that a row without a verdict does not have.
var ofVerdict = []string{"correct", "abstained", "hallucinated", "sources_correct", "reward", "terms"}

// A filter chooses rows. A row without a verdict is never chosen by what the
// verdict would say; the zero filter chooses all.
type filter struct{ *condition.Condition[facts] }

func parseFilter(text string) (filter, error) {
	if text == "" || text == All {
		return filter{}, nil
	}
	c, err := condition.Parse[facts](text)
	if err != nil {
		return filter{}, fmt.Errorf("--filter %w", err)
	}
	return filter{c}, nil
}

// choice is what a filter says of a row.
type choice uint8

const (
	chosen choice = iota
	passedOver
	unjudged // the filter asks what nobody knows
)

func (f filter) choose(rec *traj.Scored) (choice, error) {
	if f.Condition == nil {
		return chosen, nil
	}
	if rec.Verdict == nil && f.Names(ofVerdict...) {
		return unjudged, nil
	}
	holds, err := f.Holds(factsOf(rec))
	if err != nil || !holds {
		return passedOver, err
	}
	return chosen, nil
}

func factsOf(rec *traj.Scored) facts {
	q := &rec.Question
	out := facts{
		Terms: rec.RewardTerms, Stop: string(rec.Stop), Turns: reward.Turns(&rec.Trajectory), Attempt: rec.Attempt, Policy: rec.Policy.Name,
		Answerable: q.Answerable, Kind: q.Kind, Hops: q.Hops, Inbox: q.InboxAddress, Realistic: q.HowRealistic,
	}
	if v := rec.Verdict; v != nil {
		out.Correct, out.Abstained, out.Hallucinated, out.SourcesCorrect = v.Correct, v.Abstained, v.Hallucinated, v.SourcesCorrect
	}
	if rec.Reward != nil {
		out.Reward = *rec.Reward
	}
	return out
}
