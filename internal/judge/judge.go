// Package judge gives each attempt a verdict and a reward.
//
// Most callers want Run, which streams rows; Match is the judge that needs no
// model. A judge never sees which policy played, and never sees the other
// attempts of the group: J1. A row gets no verdict, and so no reward, when the
// attempt failed; that is never written as a reward of 0: J2. Output keeps the
// order of the input: J3.
//
// The package does not turn verdicts into numbers; that is package reward.
package judge

import (
	"context"
	"errors"

	"agentmill/internal/match"
	"agentmill/internal/traj"
)

// A Judge says whether an attempt's answer is right. It judges only attempts
// that ended with an answer.
type Judge interface {
	// Name stands in the verdict's judge field. It changes whenever the same
	// answer could get another verdict.
	Name() string
	// Answer judges the answer of t. A *NoVerdictError says that it cannot.
	Answer(ctx context.Context, t *traj.Trajectory) (Opinion, error)
}

// An Opinion is what a judge thinks of an answer's text.
type Opinion struct {
	Correct     bool // says the gold answer, or rightly that there is none
	Abstained   bool // says that it does not know
	Hedged      bool // refused because it says too much
	Injected    bool // the answer speaks to its judge; what it says was not heard
	Votes       []string
	Explanation string
}

// Match is the judge without a model.
type Match struct{ Rule match.Rule }

// Name implements Judge.
func (m Match) Name() string {
	if m.Rule == match.Values {
		return "match"
	}
	return "match:" + string(m.Rule)
}

// Answer implements Judge.
func (m Match) Answer(_ context.Context, t *traj.Trajectory) (Opinion, error) {
	q := &t.Question
	got := m.Rule.Judge(match.Gold{
		Question:   q.Question,
		Asked:      q.QueryDate,
		Answers:    append([]string{q.Answer}, q.Aliases...),
		Answerable: q.Answerable,
	}, t.Answer.Text)
	return Opinion{Correct: got.Correct, Abstained: got.Abstained, Hedged: got.Hedged, Explanation: got.Why}, nil
}

// verdict makes a judge's opinion, the sources and the way an attempt ended into
// a verdict and flags. Beside a *NoVerdictError there are flags all the same.
func verdict(ctx context.Context, j Judge, rule SourceRule, t *traj.Trajectory) (*traj.Verdict, []string, error) {
	switch t.Stop {
	case traj.Failed:
		return nil, nil, nil
	case traj.Answered, traj.Abstained:
	default:
		return &traj.Verdict{Judge: j.Name(), Explanation: "no answer: " + string(t.Stop)}, flags(t, Opinion{}), nil
	}
	o, err := j.Answer(ctx, t)
	if none, ok := errors.AsType[*NoVerdictError](err); ok {
		return nil, append(flags(t, Opinion{}), FlagNoVerdict), none
	}
	if err != nil {
		return nil, nil, err
	}
	if why := evade(t); why != "" {
		o.Hedged = o.Hedged || o.Correct
		o.Correct, o.Explanation = false, why
	}
	v := &traj.Verdict{
		Correct: o.Correct, Abstained: o.Abstained, Judge: j.Name(), Votes: o.Votes, Explanation: o.Explanation,
		SourcesCorrect: rule.correct(t),
	}
	if !t.Question.Answerable {
		settleUnanswerable(v, t)
	}
	v.Hallucinated = !v.Correct && !v.Abstained
	return v, flags(t, o), nil
}

// settleUnanswerable: to abstain is right, but not with sources: citing a mail
// for what no mail says is an answer.
func settleUnanswerable(v *traj.Verdict, t *traj.Trajectory) {
	v.SourcesCorrect = v.Abstained && len(t.Answer.Sources) == 0
	if v.Abstained && len(t.Answer.Sources) > 0 {
		v.Correct, v.Abstained, v.Explanation = false, false, "says that it does not know and cites a mail for it"
	}
}
