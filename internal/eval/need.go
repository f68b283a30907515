package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"agentmill/internal/condition"
)

// figure is an estimate as a condition sees it: NaN, which meets no bar, where
// there is none.
type figure struct {
	Value float64 `expr:"value"`
	Low   float64 `expr:"low"`
	High  float64 `expr:"high"`
}

// figures are what a condition may ask of a policy.
type figures struct {
	Accuracy         figure  `expr:"accuracy"`
	Completed        figure  `expr:"completed"`
	Answerable       figure  `expr:"answerable"`
	Unanswerable     figure  `expr:"unanswerable"`
	Hallucinated     figure  `expr:"hallucinated"`
	Abstained        figure  `expr:"abstained"`
	Reward           figure  `expr:"reward"`
	RewardAnswerable figure  `expr:"reward_answerable"`
	Found            figure  `expr:"gold_found"`
	Read             figure  `expr:"gold_read"`
	Sources          figure  `expr:"sources_correct"`
	Turns            float64 `expr:"turns"`
	PromptTokens     float64 `expr:"prompt_tokens"`
	CompletionTokens float64 `expr:"completion_tokens"`
	Seconds          float64 `expr:"seconds"`
	USDPer1000       float64 `expr:"usd_per_1000"`
	Attempts         int     `expr:"attempts"`
	Questions        int     `expr:"questions"`
	Failed           int     `expr:"failed"`
}

// A Need is the bar that makes training unnecessary.
type Need = condition.Condition[figures]

// ParseNeed reads a condition on a policy's figures, such as
// "accuracy.low >= 0.9".
func ParseNeed(text string) (*Need, error) { return condition.Parse[figures](text) }

// gate checks a bar that every policy but the baselines must meet.
func (r *Result) gate(bar *Need, baselines []string) error {
	for _, p := range r.Policies {
		if slices.Contains(baselines, p.Name) {
			continue
		}
		ok, err := bar.Holds(p.figures())
		if err != nil {
			return fmt.Errorf("--gate of %s: %w", p.Name, err)
		}
		if !ok {
			r.GateMissed = append(r.GateMissed, fmt.Sprintf("%s does not meet %s", p.Name, bar))
		}
	}
	return nil
}

// A Met says whether untrained policies meet what is needed, and which does so
// best. Looked at are the baselines, or all policies where none is named.
type Met struct {
	Need   string `json:"need"`
	Policy string `json:"policy,omitempty"` // "": none does
}

// String is the answer in words.
func (m *Met) String() string {
	if m.Policy == "" {
		return fmt.Sprintf("No policy meets %s: there is something to train.", m.Need)
	}
	return fmt.Sprintf("%s meets %s: prompting is enough, nothing to train.", m.Policy, m.Need)
}

func (r *Result) meet(need *Need, baselines []string) error {
	r.Need = &Met{Need: need.String()}
	for _, p := range slices.SortedStableFunc(slices.Values(r.Policies), func(a, b *Policy) int { return cmp.Compare(b.Accuracy.Value, a.Accuracy.Value) }) {
		if len(baselines) > 0 && !slices.Contains(baselines, p.Name) {
			continue
		}
		ok, err := need.Holds(p.figures())
		if err != nil {
			return fmt.Errorf("--need of %s: %w", p.Name, err)
		}
		if ok {
			r.Need.Policy = p.Name
			return nil
		}
	}
	return nil
}

func (p *Policy) figures() figures {
	return figures{
		Accuracy: p.Accuracy.figure(), Completed: p.Completed.figure(), Answerable: p.Answerable.figure(), Unanswerable: p.Unanswerable.figure(),
		Hallucinated: p.Wrong.figure(), Abstained: p.Abstained.figure(), Reward: p.Reward.figure(), RewardAnswerable: p.RewardAnswerable.figure(),
		Found: p.Found.figure(), Read: p.Read.figure(), Sources: p.Sources.figure(),
		Turns: p.Turns, PromptTokens: p.PromptTokens, CompletionTokens: p.CompletionTokens, Seconds: p.Seconds, USDPer1000: p.USDPer1000,
		Attempts: p.Attempts, Questions: p.Questions, Failed: p.Failed,
	}
}

func (e *Estimate) figure() figure {
	none := math.NaN()
	if e == nil {
		return figure{none, none, none}
	}
	if e.Interval == nil {
		return figure{e.Value, none, none}
	}
	return figure{e.Value, e.Interval.Lo, e.Interval.Hi}
}

// lead is the report in a sentence or two: the newest policy that was set
// against a baseline and what it gained, or else the best policy.
func (r *Result) lead() string {
	best := slices.MaxFunc(r.Policies, func(a, b *Policy) int { return cmp.Compare(a.Accuracy.Value, b.Accuracy.Value) })
	subject := best
	for _, p := range r.Policies {
		if len(r.gainsOf(p.Name)) > 0 {
			subject = p
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s answers %s %% of %s right", subject.Name, percent(subject.Accuracy.Value), plural(r.clusters(), "question"))
	if i := subject.Accuracy.Interval; i != nil {
		fmt.Fprintf(&b, " (95 %%: %s to %s)", percent(i.Lo), percent(i.Hi))
	}
	for _, g := range r.gainsOf(subject.Name) {
		fmt.Fprintf(&b, ", %s points against %s (p %s)", minus("%+.1f", 100*g.Accuracy.Value), g.Baseline, equals(g.P))
	}
	if best.Accuracy.Value > subject.Accuracy.Value {
		fmt.Fprintf(&b, "; %s is ahead with %s %%", best.Name, percent(best.Accuracy.Value))
	}
	return b.String() + "."
}

func (r *Result) gainsOf(policy string) []Gain {
	return slices.DeleteFunc(slices.Clone(r.Gains), func(g Gain) bool { return g.Policy != policy })
}

func equals(p float64) string {
	if s := pValue(p); strings.HasPrefix(s, "<") {
		return s
	}
	return "= " + pValue(p)
}
