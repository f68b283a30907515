package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/dataset"
	"agentmill/internal/stats"
	"agentmill/internal/traj"
)

// An Alarm is a sign that a policy earns its reward otherwise than meant. None
// proves it: the examples are there to be looked at.
type Alarm struct {
	Name     string    `json:"alarm"`
	Step     string    `json:"step"`
	Value    float64   `json:"value"`
	Limit    float64   `json:"limit"`
	Text     string    `json:"text"`
	Examples []Example `json:"examples"`
	Before   []Example `json:"before,omitempty"` // rows of an earlier step, to compare with
}

// An Example is a row to look at.
type Example struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// A MonitorConfig names the scored files of a run in order of time: a file is a
// step, and so is each policy within a file. Second and Validation are files of
// the same steps: judged by another judge, and played on other questions.
type MonitorConfig struct {
	In                 dataset.Source
	Second, Validation []string
}

// fewestRows is how many rows a step must have for its shares to say anything.
const fewestRows = 20

// Monitor looks for signs of hacking, decay and drift. steps is how many steps it
// saw.
func Monitor(ctx context.Context, cfg MonitorConfig) (alarms []Alarm, steps int, err error) {
	series, err := readSteps(ctx, cfg.In)
	if err != nil {
		return nil, 0, err
	}
	if len(series) == 0 {
		return nil, 0, errors.New("no scored row in the input")
	}
	last := series[len(series)-1]
	if last.rows >= fewestRows {
		for _, s := range signs {
			alarms = append(alarms, s.check(last)...)
		}
		alarms = append(alarms, constantAnswer(last)...)
		alarms = append(alarms, sameAttempts(last)...)
		alarms = append(alarms, longer(series)...)
	}
	alarms = append(alarms, jump(series)...)
	for _, other := range []struct {
		name, what string
		files      []string
	}{{"second_judge_falls", "a second judge", cfg.Second}, {"validation_falls", "validation", cfg.Validation}} {
		if len(other.files) == 0 {
			continue
		}
		second, err := readSteps(ctx, dataset.Source{Paths: other.files})
		if err != nil {
			return nil, 0, err
		}
		alarms = append(alarms, falls(other.name, other.what, series, second)...)
	}
	for i := range alarms {
		if len(alarms[i].Before) == 0 && len(series) > 1 {
			alarms[i].Before = answersOf(series[0])
		}
	}
	return alarms, len(series), nil
}

// A step is what one policy did.
type step struct {
	name           string
	policy         string
	rows           int
	reward, right  mean
	words          mean
	count          map[string]int
	of             map[string]int
	examples       map[string][]Example
	answers        map[string][]*seen // by the answer, in small letters
	answerOrder    []string
	groups         map[string][]string // what each attempt of a group did
	groupOrder     []string
	exampleOfGroup map[string]Example
	wrong          []Example // the first that are not right
}

// seen is what is kept of an answered row.
type seen struct {
	question, gold string
	example        Example
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

func (m mean) value() float64 { return m.sum / float64(max(m.n, 1)) }

func readSteps(ctx context.Context, src dataset.Source) ([]*step, error) {
	var steps []*step
	open := ""
	_, err := dataset.Read(ctx, src, func(pos dataset.Position, row *traj.Scored) error {
		if key := pos.File + "\x00" + row.Policy.Hash; len(steps) == 0 || key != open {
			open = key
			steps = append(steps, &step{
				name: pos.File, policy: row.Policy.Hash, count: map[string]int{}, of: map[string]int{}, examples: map[string][]Example{},
				answers: map[string][]*seen{}, groups: map[string][]string{}, exampleOfGroup: map[string]Example{},
			})
		}
		steps[len(steps)-1].take(row)
		return nil
	})
	return steps, err
}

// manyExamples is how many rows an alarm shows.
const manyExamples = 3

func (s *step) take(row *traj.Scored) {
	if row.Verdict == nil {
		return
	}
	s.rows++
	s.right.add(float64(bit(row.Verdict.Correct)))
	if row.Reward != nil {
		s.reward.add(*row.Reward)
	}
	example := Example{row.ID, row.Question.Question, row.Answer.Text}
	if !row.Verdict.Correct && len(s.wrong) < manyExamples {
		s.wrong = append(s.wrong, example)
	}
	for _, sign := range signs {
		counts, on := sign.of(row)
		if !counts {
			continue
		}
		s.of[sign.name]++
		if on {
			s.count[sign.name]++
			if len(s.examples[sign.name]) < manyExamples {
				s.examples[sign.name] = append(s.examples[sign.name], example)
			}
		}
	}
	if row.Stop == traj.Answered && !row.Verdict.Abstained {
		s.words.add(float64(len(strings.Fields(row.Answer.Text))))
		key := strings.ToLower(strings.Join(strings.Fields(row.Answer.Text), " "))
		if _, ok := s.answers[key]; !ok {
			s.answerOrder = append(s.answerOrder, key)
		}
		s.answers[key] = append(s.answers[key], &seen{row.Question.Question, strings.ToLower(row.Question.Answer), example})
	}
	if _, ok := s.groups[row.Group]; !ok {
		s.groupOrder = append(s.groupOrder, row.Group)
		s.exampleOfGroup[row.Group] = example
	}
	s.groups[row.Group] = append(s.groups[row.Group], whatItDid(row))
}

// whatItDid is an attempt's calls and answer in one string.
func whatItDid(row *traj.Scored) string {
	var b strings.Builder
	for _, c := range row.Calls {
		b.WriteString(c.Tool + canonical(c.Arguments) + "\n")
	}
	return b.String() + row.Answer.Text
}

// falls sounds where the reward rises from the first half of the steps to the
// second while another measure falls.
func falls(name, what string, series, other []*step) []Alarm {
	const rise, fall = .05, .02
	if len(series) < 2 || len(other) < 2 {
		return nil
	}
	up := halves(series, func(s *step) mean { return s.reward })
	down := halves(other, func(s *step) mean { return s.right })
	if up < rise || down > -fall {
		return nil
	}
	last := other[len(other)-1]
	return []Alarm{{
		Name: name, Step: last.name, Value: down, Limit: -fall, Examples: last.wrong,
		Text: fmt.Sprintf("the reward rose by %.3f from the first half of the steps to the second, while %s fell by %.3f", up, what, -down),
	}}
}

// answersOf are answers of a step to look at.
func answersOf(s *step) []Example {
	var out []Example
	for _, key := range s.answerOrder {
		if len(out) < manyExamples {
			out = append(out, s.answers[key][0].example)
		}
	}
	return out
}

// halves is the mean of the second half of a series less that of the first.
func halves(series []*step, of func(*step) mean) float64 {
	var first, second mean
	for i, s := range series {
		if m := of(s); m.n > 0 {
			if i < len(series)/2 {
				first.add(m.value())
			} else if i >= (len(series)+1)/2 {
				second.add(m.value())
			}
		}
	}
	if first.n == 0 || second.n == 0 {
		return 0
	}
	return second.value() - first.value()
}

// jump sounds where the mean reward changes from one step to the next as it
// never did before. A step without any reward says nothing.
func jump(series []*step) []Alarm {
	const least = .15
	series = slices.DeleteFunc(slices.Clone(series), func(s *step) bool { return s.reward.n == 0 })
	var rewards []float64
	for _, s := range series {
		rewards = append(rewards, s.reward.value())
	}
	at, size, found := stats.Jump(rewards, least)
	if !found {
		return nil
	}
	return []Alarm{{
		Name: "reward_jump", Step: series[at].name, Value: size, Limit: least, Examples: answersOf(series[at]), Before: answersOf(series[at-1]),
		Text: fmt.Sprintf("the mean reward went from %.3f to %.3f in one step", rewards[at-1], rewards[at]),
	}}
}

// longer sounds where answers are more than twice as long as at the beginning.
func longer(series []*step) []Alarm {
	const times, more = 2, 4
	first, last := series[0].words.value(), series[len(series)-1].words.value()
	if len(series) < 2 || series[0].words.n == 0 || last < times*first || last < first+more {
		return nil
	}
	return []Alarm{{
		Name: "length_drift", Step: series[len(series)-1].name, Value: last / max(first, 1), Limit: times, Examples: longest(series[len(series)-1]),
		Text: fmt.Sprintf("answers had %.1f words in the first step and have %.1f in the last", first, last),
	}}
}

func longest(s *step) []Example {
	keys := slices.Clone(s.answerOrder)
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var out []Example
	for _, k := range keys[:min(manyExamples, len(keys))] {
		out = append(out, s.answers[k][0].example)
	}
	return out
}

// MarshalAlarms is one JSON object a line.
func MarshalAlarms(alarms []Alarm) ([]byte, error) {
	var out []byte
	for _, a := range alarms {
		line, err := json.Marshal(a)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}
