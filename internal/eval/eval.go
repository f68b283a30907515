// Package eval sets scored attempts of several policies side by side: a table,
// JSON, or a report to read in a browser.
//
// Most callers want Run, which reads scored rows and measures; a Result then
// writes itself as Table, Markdown, JSON or HTML. Policies are compared on the
// questions that all of them were asked: E1. An attempt that failed, or that has
// no verdict, is not correct in the accuracy over all attempts: E2. Every
// interval and test treats the question, and from ten inboxes on also the inbox,
// as the unit of chance: E3.
//
// The package judges nothing and knows no policy by name.
package eval

import (
	"context"
	"errors"
	"fmt"

	"agentmill/internal/dataset"
	"agentmill/internal/traj"
)

// An Input is one file of scored rows. Rows of a file with a Name are that
// policy's; else rows belong to the policy that they name.
type Input struct{ Name, Path string }

// A Config says what to compare.
type Config struct {
	Inputs    []Input // none: standard input
	Source    dataset.Source
	Baselines []string
	Need      *Need   // what makes training unnecessary; nil: not asked
	Gate      *Need   // what every policy that is no baseline must meet; nil: nothing
	Tools     bool    // count what the tools said
	Training  []Input // scored rows of training steps, in order, for the curve
}

// A Result is everything that is known of the policies.
type Result struct {
	Questions int       `json:"questions"` // asked of every policy
	Asked     int       `json:"questions_in_any"`
	Inboxes   int       `json:"inboxes"`
	Bad       int       `json:"bad_records"`
	Policies  []*Policy `json:"policies"`
	Gains     []Gain    `json:"gains"`
	Need      *Met      `json:"need,omitempty"`
	Tools     []ToolUse `json:"tools,omitempty"`
	// GateMissed says which policies do not meet the gate.
	GateMissed []string `json:"gate_missed,omitempty"`
	Training   []Step   `json:"training,omitempty"`
	Notes      []string `json:"notes"`

	viewed []viewed
}

// ErrNoRows says that the input held no scored rows.
var ErrNoRows = errors.New("no scored rows in the input")

// Run reads all inputs and measures every policy, in the order of the inputs.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	sets, bad, err := load(ctx, cfg)
	if err != nil {
		return nil, err
	}
	res := &Result{Bad: bad, Gains: []Gain{}, Notes: []string{}}
	common := res.shared(sets)
	res.viewed = view(sets, common)
	for _, set := range sets {
		res.Policies = append(res.Policies, measure(set, common))
	}
	if err := res.compare(sets, common, cfg.Baselines); err != nil {
		return nil, err
	}
	if cfg.Need != nil {
		if err := res.meet(cfg.Need, cfg.Baselines); err != nil {
			return nil, err
		}
	}
	if cfg.Gate != nil {
		if err := res.gate(cfg.Gate, cfg.Baselines); err != nil {
			return nil, err
		}
	}
	if cfg.Tools {
		res.Tools = toolUse(sets, common)
	}
	if res.Training, err = training(ctx, cfg); err != nil {
		return nil, err
	}
	res.note(sets)
	return res, nil
}

// shared finds the questions that every policy was asked. Where there are none,
// each policy stands for itself and nothing is compared.
func (r *Result) shared(sets []*set) map[string]bool {
	asked, inboxes := map[string]int{}, map[string]bool{}
	for _, s := range sets {
		for id := range s.byQuestion {
			asked[id]++
		}
	}
	common := map[string]bool{}
	for id, n := range asked {
		if n == len(sets) {
			common[id] = true
		}
	}
	r.Asked, r.Questions = len(asked), len(common)
	for _, s := range sets {
		for id, rows := range s.byQuestion {
			if len(common) == 0 || common[id] {
				inboxes[rows[0].Question.InboxAddress] = true
			}
		}
	}
	r.Inboxes = len(inboxes)
	return common
}

// note says in words what a reader of the numbers must know.
func (r *Result) note(sets []*set) {
	if r.Need != nil {
		r.Notes = append(r.Notes, r.Need.String())
	}
	switch {
	case r.Questions == 0:
		r.Notes = append(r.Notes, "The policies share no question: each is measured on its own questions, and nothing is compared.")
	case r.Questions < r.Asked:
		r.Notes = append(r.Notes, fmt.Sprintf("Everything here is about the %d questions that all policies were asked, of %d in the files.", r.Questions, r.Asked))
	}
	for i, p := range r.Policies {
		if p.Failed > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %d of %d attempts failed; they count as not right, except under \"of completed\".", p.Name, p.Failed, p.Attempts))
		}
		if p.NoVerdict > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %d of %d attempts have no verdict; they count as not right, except under \"of completed\".", p.Name, p.NoVerdict, p.Attempts))
		}
		if n := sets[i].repeated; n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %d rows stood in the input more than once and count once.", p.Name, n))
		}
		if p.Policy.Oracle != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("%s was played with help (oracle: %s).", p.Name, p.Policy.Oracle))
		}
	}
	if r.Bad > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d records of the input could not be read and are left out.", r.Bad))
	}
}

// answerable says whether a row's question has an answer.
func answerable(row *traj.Scored) bool { return row.Question.Answerable }
