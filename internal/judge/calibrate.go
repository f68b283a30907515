package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"agentmill/internal/dataset"
	"agentmill/internal/jsonl"
	"agentmill/internal/llm"
	"agentmill/internal/ordered"
	"agentmill/internal/question"
	"agentmill/internal/stats"
	"agentmill/internal/traj"
)

// A Label is what a person said of an answer.
type Label struct {
	ID         string   `json:"id"`
	Source     string   `json:"source"`
	Question   string   `json:"question"`
	Golds      []string `json:"gold_answers"`
	Answerable *bool    `json:"answerable"` // missing: true
	Candidate  string   `json:"candidate"`
	Correct    *bool    `json:"human_correct"` // missing: people could not say
	Improper   bool     `json:"question_flagged_improper"`
}

// ReadLabels reads labels, one JSON object a line. Those without a word from
// people, and those of questions that people found unfit, are counted as left out.
func ReadLabels(path string) (labels []Label, leftOut int, err error) {
	err = dataset.ReadLines(path, func(pos dataset.Position, line []byte) error {
		var l Label
		if err := jsonl.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%s: %w", pos, err)
		}
		switch {
		case strings.TrimSpace(l.Question) == "":
			return fmt.Errorf("%s: question: missing", pos)
		case len(l.Golds) == 0 && (l.Answerable == nil || *l.Answerable):
			return fmt.Errorf("%s: gold_answers: want at least one, or \"answerable\": false", pos)
		case l.Correct == nil || l.Improper:
			leftOut++
			return nil
		}
		labels = append(labels, l)
		return nil
	})
	if err == nil && len(labels) == 0 {
		err = fmt.Errorf("%s: no row with human_correct true or false", path)
	}
	return labels, leftOut, err
}

// row is the attempt that a judge sees of a label.
func (l *Label) row() *traj.Trajectory {
	t := &traj.Trajectory{ID: l.ID, Stop: traj.Answered}
	t.Question = question.Question{ID: l.ID, Question: l.Question, Answerable: l.Answerable == nil || *l.Answerable}
	if len(l.Golds) > 0 {
		t.Question.Answer, t.Question.Aliases = l.Golds[0], l.Golds[1:]
	}
	t.Answer.Text = l.Candidate
	return t
}

// A Confusion counts verdicts by what people said.
type Confusion struct {
	BothCorrect  int `json:"both_correct"`
	OnlyJudge    int `json:"only_judge_correct"`
	OnlyPeople   int `json:"only_people_correct"`
	NeitherRight int `json:"both_wrong"`
}

// An Agreement is how often two say the same. Accuracy has an interval that
// clusters by question.
type Agreement struct {
	N         int            `json:"n"`
	Accuracy  float64        `json:"accuracy"`
	Interval  stats.Interval `json:"interval"`
	Kappa     float64        `json:"kappa"`
	Confusion Confusion      `json:"confusion"`
}

// A Calibration compares a judge with people. Rows of which it could not say
// anything are in NoVerdict and in nothing else.
type Calibration struct {
	Judge string `json:"judge"`
	Agreement
	NoVerdict int              `json:"no_verdict"`
	LeftOut   int              `json:"left_out"`
	Sources   []SourceAgreeing `json:"sources"`
	Again     *Stability       `json:"again,omitempty"`
}

// A SourceAgreeing is the agreement on the rows of one source.
type SourceAgreeing struct {
	Source string `json:"source"`
	Agreement
}

// Stability is how often a judge says the same of the same row: the share of
// pairs of its verdicts that are equal.
type Stability struct {
	Times     int            `json:"times"`
	Rows      int            `json:"rows"` // with two verdicts at least
	Agreement float64        `json:"agreement"`
	Interval  stats.Interval `json:"interval"`
}

// A Redrawer is a judge that may say something else the next time: Redraw is
// the same judge, asked anew.
type Redrawer interface{ Redraw(time int) Judge }

// Times says how often labels are judged.
type Times struct {
	Again       int // each; 0: 1
	Concurrency int // at a time; 0: 1
	Tick        func(llm.Tally)
}

// repeated is what a judge says of a label, each time, and what it cost.
type repeated struct {
	opinions []*bool // nil: no verdict
	usd      float64
}

// Calibrate judges every label and compares.
func Calibrate(ctx context.Context, j Judge, labels []Label, how Times) (*Calibration, error) {
	times := max(how.Again, 1)
	c := &Calibration{Judge: j.Name()}
	var whole tally
	bySource := map[string]*tally{}
	var pairs stats.Sample
	far := llm.Tally{Total: len(labels)}
	judgeOne := func(ctx context.Context, _ int, l Label) (o repeated, err error) {
		ctx, bill := llm.Billed(ctx)
		o.opinions, err = opinions(ctx, j, &l, times)
		o.usd = bill.Cost().USD
		return o, err
	}
	err := ordered.Map(ctx, how.Concurrency, labels, judgeOne, func(i int, o repeated) error {
		l, said := &labels[i], o.opinions
		far.Done++
		if far.USD += o.usd; how.Tick != nil {
			how.Tick(far)
		}
		if share, ok := samePairs(said); ok {
			pairs.Values, pairs.Cluster = append(pairs.Values, share), append(pairs.Cluster, l.Question)
		}
		if said[0] == nil {
			c.NoVerdict++
			return nil
		}
		if bySource[l.Source] == nil {
			bySource[l.Source] = &tally{}
			c.Sources = append(c.Sources, SourceAgreeing{Source: l.Source})
		}
		whole.add(*said[0], l)
		bySource[l.Source].add(*said[0], l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.Agreement = whole.agreement()
	slices.SortFunc(c.Sources, func(a, b SourceAgreeing) int { return strings.Compare(a.Source, b.Source) })
	for i := range c.Sources {
		c.Sources[i].Agreement = bySource[c.Sources[i].Source].agreement()
	}
	if times > 1 {
		m := stats.MeanOf(pairs)
		c.Again = &Stability{Times: times, Rows: m.N, Agreement: m.Mean, Interval: stats.Interval{Lo: max(0, m.Interval.Lo), Hi: min(1, m.Interval.Hi)}}
	}
	return c, nil
}

// opinions are what a judge says each time, nil where it cannot say.
func opinions(ctx context.Context, j Judge, l *Label, times int) ([]*bool, error) {
	out := make([]*bool, times)
	for time := range times {
		again := j
		if r, ok := j.(Redrawer); ok && time > 0 {
			again = r.Redraw(time)
		}
		o, err := again.Answer(ctx, l.row())
		if _, none := errors.AsType[*NoVerdictError](err); none {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("judge row %s: %w", l.ID, err)
		}
		out[time] = &o.Correct
	}
	return out, nil
}

// samePairs is the share of equal pairs among verdicts, if there is a pair.
func samePairs(said []*bool) (share float64, ok bool) {
	yes, n := 0, 0
	for _, s := range said {
		if s != nil {
			n++
			if *s {
				yes++
			}
		}
	}
	if n < 2 {
		return 0, false
	}
	no := n - yes
	return float64(yes*(yes-1)+no*(no-1)) / float64(n*(n-1)), true
}

// A tally collects verdicts beside what people said.
type tally struct {
	table  [2][2]int // [people][judge]
	sample stats.Sample
}

func (t *tally) add(judge bool, l *Label) {
	t.table[bit(*l.Correct)][bit(judge)]++
	t.sample.Values = append(t.sample.Values, float64(bit(judge == *l.Correct)))
	t.sample.Cluster = append(t.sample.Cluster, l.Question)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *tally) agreement() Agreement {
	if len(t.sample.Values) == 0 {
		return Agreement{Interval: stats.Interval{Lo: 0, Hi: 1}}
	}
	m := stats.ShareOf(t.sample)
	return Agreement{
		N: m.N, Accuracy: m.Mean, Interval: m.Interval, Kappa: stats.Kappa(t.table),
		Confusion: Confusion{BothCorrect: t.table[1][1], OnlyJudge: t.table[0][1], OnlyPeople: t.table[1][0], NeitherRight: t.table[0][0]},
	}
}

// String is the table for people.
func (c *Calibration) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "source\tn\taccuracy\t95 %% interval\tkappa\tboth correct\tonly judge\tonly people\tboth wrong\n")
	line := func(name string, a Agreement) {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f to %.3f\t%.3f\t%d\t%d\t%d\t%d\n", name, a.N, a.Accuracy, a.Interval.Lo, a.Interval.Hi,
			a.Kappa, a.Confusion.BothCorrect, a.Confusion.OnlyJudge, a.Confusion.OnlyPeople, a.Confusion.NeitherRight)
	}
	for _, s := range c.Sources {
		line(s.Source, s.Agreement)
	}
	if len(c.Sources) > 1 {
		line("all", c.Agreement)
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "\njudge %s; %d rows without a verdict; %d left out (people could not say, or found the question unfit)\n", c.Judge, c.NoVerdict, c.LeftOut)
	if a := c.Again; a != nil {
		fmt.Fprintf(&b, "judged %d times, %d rows: the same in %.3f of pairs, %.3f to %.3f\n", a.Times, a.Rows, a.Agreement, a.Interval.Lo, a.Interval.Hi)
	}
	return b.String()
}
