package eval

import (
	"math"
	"slices"

	"agentmill/internal/reward"
	"agentmill/internal/stats"
	"agentmill/internal/traj"
)

// manyInboxes is from how many inboxes on intervals cluster by inbox too.
const manyInboxes = 10

// An Estimate is a share or mean with its interval, which is missing where the
// clusters are too few to tell.
type Estimate struct {
	Value    float64         `json:"value"`
	Interval *stats.Interval `json:"interval,omitempty"`
	N        int             `json:"n"`
	Clusters int             `json:"clusters"`
}

// A Policy is what was measured of one policy.
type Policy struct {
	Name      string      `json:"name"`
	Policy    traj.Policy `json:"policy"`
	Attempts  int         `json:"attempts"`
	Questions int         `json:"questions"`
	Failed    int         `json:"failed"`
	NoVerdict int         `json:"no_verdict"` // of those that did not fail

	Accuracy     Estimate  `json:"accuracy"`           // over all attempts
	Completed    Estimate  `json:"accuracy_completed"` // over those with a verdict
	Answerable   *Estimate `json:"accuracy_answerable,omitempty"`
	Unanswerable *Estimate `json:"accuracy_unanswerable,omitempty"`
	Wrong        Estimate  `json:"hallucinated"` // answered, and wrong
	Abstained    Estimate  `json:"abstained"`    // said so, rightly or not
	NoAnswer     float64   `json:"no_answer"`    // bad call, out of turns or context
	Outcomes     Outcomes  `json:"outcomes"`

	Reward *Estimate `json:"reward,omitempty"`
	// RewardAnswerable is the reward at questions that have an answer.
	RewardAnswerable *Estimate `json:"reward_answerable,omitempty"`
	Found            *Estimate `json:"gold_found,omitempty"` // of answerable questions
	Read             *Estimate `json:"gold_read,omitempty"`
	// Sources is how often all gold mails were cited and nothing else.
	Sources *Estimate `json:"sources_correct,omitempty"`
	Bad     float64   `json:"bad_calls"` // ended on a bad call

	Turns            float64 `json:"turns"`
	PromptTokens     float64 `json:"prompt_tokens"`
	CompletionTokens float64 `json:"completion_tokens"`
	Seconds          float64 `json:"seconds"`
	USDPer1000       float64 `json:"usd_per_1000"`

	Stops map[traj.StopReason]int `json:"stops"`
	Flags map[string]int          `json:"flags,omitempty"`
}

// Outcomes are the shares of all attempts that add up to one.
type Outcomes struct {
	Right     float64 `json:"right"`
	Abstained float64 `json:"abstained"` // of a question that has an answer
	Wrong     float64 `json:"wrong"`
	NoAnswer  float64 `json:"no_answer"`
	Failed    float64 `json:"failed"` // or without a verdict
}

// measure looks at a set's attempts at the common questions, or at all if there
// are none.
func measure(s *set, common map[string]bool) *Policy {
	rows := s.at(common)
	p := &Policy{Name: s.name, Policy: rows[0].Policy, Attempts: len(rows), Stops: map[traj.StopReason]int{}, Flags: map[string]int{}}
	questions := map[string]bool{}
	for _, row := range rows {
		questions[row.Question.ID] = true
		p.count(row)
	}
	p.Questions = len(questions)
	p.judge(rows)
	p.weigh(rows)
	return p
}

// at returns the attempts at questions of the common ones.
func (s *set) at(common map[string]bool) []*traj.Scored {
	if len(common) == 0 {
		return s.rows
	}
	return filter(s.rows, func(r *traj.Scored) bool { return common[r.Question.ID] })
}

func (p *Policy) count(row *traj.Scored) {
	p.Stops[row.Stop]++
	for _, f := range row.Flags {
		p.Flags[f]++
	}
	one := 1 / float64(p.Attempts)
	switch v := row.Verdict; {
	case row.Stop == traj.Failed:
		p.Failed++
		p.Outcomes.Failed += one
	case v == nil:
		p.NoVerdict++
		p.Outcomes.Failed += one
	case v.Correct:
		p.Outcomes.Right += one
	case v.Hallucinated:
		p.Outcomes.Wrong += one
	case v.Abstained:
		p.Outcomes.Abstained += one
	default:
		p.Outcomes.NoAnswer += one
	}
}

// judge measures what comes of verdicts.
func (p *Policy) judge(rows []*traj.Scored) {
	judged := filter(rows, func(r *traj.Scored) bool { return r.Verdict != nil })
	p.Accuracy = share(rows, correct)
	p.Completed = share(judged, correct)
	p.Wrong = share(rows, func(r *traj.Scored) bool { return r.Verdict != nil && r.Verdict.Hallucinated })
	p.Abstained = share(rows, func(r *traj.Scored) bool { return r.Verdict != nil && r.Verdict.Abstained })
	p.NoAnswer = p.Outcomes.NoAnswer
	with := filter(rows, answerable)
	without := filter(rows, func(r *traj.Scored) bool { return !answerable(r) })
	p.Answerable, p.Unanswerable = maybe(with, correct), maybe(without, correct)
	withGold := filter(with, func(r *traj.Scored) bool { return len(r.Question.MessageIDs) > 0 })
	p.Found, p.Read = maybe(withGold, reward.FoundGold), maybe(withGold, reward.ReadGold)
	p.Sources = maybe(withGold, func(r *traj.Scored) bool { return r.Verdict != nil && r.Verdict.SourcesCorrect })
	p.Bad = share(rows, endedBadly).Value
	p.Reward, p.RewardAnswerable = rewards(judged), rewards(filter(judged, answerable))
}

func rewards(judged []*traj.Scored) *Estimate {
	if len(judged) == 0 {
		return nil
	}
	e := mean(judged, func(r *traj.Scored) float64 { return *r.Reward })
	return &e
}

// weigh measures what attempts cost. Failed ones are left out: how far they got
// is chance.
func (p *Policy) weigh(rows []*traj.Scored) {
	played := filter(rows, func(r *traj.Scored) bool { return r.Stop != traj.Failed })
	of := func(value func(*traj.Scored) float64) float64 {
		if len(played) == 0 {
			return 0
		}
		return mean(played, value).Value
	}
	p.Turns = of(func(r *traj.Scored) float64 { return float64(reward.Turns(&r.Trajectory)) })
	p.PromptTokens = of(func(r *traj.Scored) float64 { return float64(r.Usage.PromptTokens) })
	p.CompletionTokens = of(func(r *traj.Scored) float64 { return float64(r.Usage.CompletionTokens) })
	p.Seconds = of(func(r *traj.Scored) float64 { return r.Cost.Seconds })
	p.USDPer1000 = 1000 * of(func(r *traj.Scored) float64 { return r.Cost.USD })
}

func correct(r *traj.Scored) bool { return r.Verdict != nil && r.Verdict.Correct }

func endedBadly(r *traj.Scored) bool {
	switch reward.OutcomeOf(r) {
	case reward.Unparsable, reward.UnknownTool, reward.BadArguments:
		return true
	case reward.Wrong, reward.Abstained, reward.OutOfTurns, reward.Correct:
	}
	return false
}

func filter(rows []*traj.Scored, keep func(*traj.Scored) bool) []*traj.Scored {
	return slices.DeleteFunc(slices.Clone(rows), func(r *traj.Scored) bool { return !keep(r) })
}

func maybe(rows []*traj.Scored, is func(*traj.Scored) bool) *Estimate {
	if len(rows) == 0 {
		return nil
	}
	e := share(rows, is)
	return &e
}

// share is a share of attempts with its Wilson interval.
func share(rows []*traj.Scored, is func(*traj.Scored) bool) Estimate {
	return estimate(rows, stats.ShareOf, func(r *traj.Scored) float64 {
		if is(r) {
			return 1
		}
		return 0
	})
}

// mean is a mean over attempts with Student's interval.
func mean(rows []*traj.Scored, value func(*traj.Scored) float64) Estimate {
	return estimate(rows, stats.MeanOf, value)
}

// estimate clusters by question and, from ten inboxes on, takes the wider of
// that interval and the one that clusters by inbox.
func estimate(rows []*traj.Scored, of func(stats.Sample) stats.Mean, value func(*traj.Scored) float64) Estimate {
	sample := stats.Sample{}
	var inbox []string
	for _, r := range rows {
		sample.Values = append(sample.Values, value(r))
		sample.Cluster = append(sample.Cluster, r.Question.ID)
		inbox = append(inbox, r.Question.InboxAddress)
	}
	m := of(sample)
	if distinct(inbox) >= manyInboxes {
		m.Interval = stats.Wider(m.Interval, of(stats.Sample{Values: sample.Values, Cluster: inbox}).Interval)
	}
	return asEstimate(m)
}

func asEstimate(m stats.Mean) Estimate {
	e := Estimate{Value: m.Mean, N: m.N, Clusters: m.Clusters}
	if math.IsNaN(e.Value) {
		e.Value = 0
	} else if !math.IsInf(m.Interval.Hi, 0) {
		e.Interval = &m.Interval
	}
	return e
}

func distinct(names []string) int {
	seen := map[string]bool{}
	for _, n := range names {
		seen[n] = true
	}
	return len(seen)
}
