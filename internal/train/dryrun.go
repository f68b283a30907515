package train

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"agentmill/internal/rl"
)

// DryRun says on w what Run would train on: rewards and advantages of each group
// under every estimator, tokens, and a forecast of time and memory. It loads no
// weights and writes nothing.
func DryRun(ctx context.Context, cfg Config, w io.Writer) (Stats, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return Stats{}, err
	}
	s, err := open(ctx, cfg)
	if err != nil {
		return Stats{}, err
	}
	defer func() { _ = s.parent.Close() }()
	samples := s.choose()
	var b strings.Builder
	if cfg.Method == "grpo" {
		s.tellGroups(&b)
	}
	s.tellRows(&b, samples)
	s.tellForecast(&b, plan(cfg, samples))
	_, err = io.WriteString(w, b.String())
	return s.stats, err
}

// A column is what one estimator says of all rows.
type column struct {
	name    string
	credits []rl.Credit
	report  rl.Report
}

// columns are all estimators, and the chosen one first if it has options of its
// own.
func (s *stage) columns() (rows []*row, all []column) {
	chosen := s.cfg.RL.crediting()
	for _, name := range AdvantageNames() {
		c := rl.Crediting{Advantage: name, PerTerm: chosen.PerTerm, TermWeights: chosen.TermWeights}
		if slices.Contains(stepAdvantages, name) {
			c.Advantage, c.Steps = "rloo", s.cfg.RL.Steps
			c.Steps.Kind = name
			if chosen.Steps.Kind == name {
				c = chosen
			}
		}
		if c.Check() != nil { // maxrl, reinforce++ by term
			continue
		}
		col := column{name: name}
		rows, col.credits, col.report = s.credits(c)
		all = append(all, col)
	}
	return rows, all
}

// tellGroups writes one line an attempt, group by group.
func (s *stage) tellGroups(b *strings.Builder) {
	rows, all := s.columns()
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{"group", "attempt", "reward", "trained", "masked"}
	for _, c := range all {
		head = append(head, c.name)
	}
	tell(t, append(head, "remark"))
	order := make([]int, len(rows))
	first := map[string]int{}
	for i, r := range rows {
		order[i] = i
		if _, ok := first[r.credit.Group]; !ok {
			first[r.credit.Group] = i
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := rows[x].credit, rows[y].credit
		if d := first[a.Group] - first[b.Group]; d != 0 {
			return d
		}
		if d := a.Attempt - b.Attempt; d != 0 {
			return d
		}
		return a.Part - b.Part
	})
	for _, i := range order {
		tell(t, s.groupLine(rows[i], i, all))
	}
	_ = t.Flush()
	for _, c := range all {
		if slices.Contains(stepAdvantages, c.name) {
			fmt.Fprintf(b, "%s merges %d of %d turns (%.1f %%)\n", c.name, c.report.Merged, c.report.StepsInAll, 100*c.report.MergeShare())
		}
	}
	b.WriteByte('\n')
}

func tell(w io.Writer, cells []string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") }

func (s *stage) groupLine(r *row, i int, all []column) []string {
	trained, masked := r.Targets(), 0
	remark := ""
	chosen := all[0].credits[i]
	switch {
	case r.credit.Reward == nil:
		remark = "no reward"
	case r.cut && s.cfg.Cut == "mask":
		trained, masked, remark = 0, trained, "cut"
	case !chosen.OK:
		trained, masked, remark = 0, trained, "no signal"
	}
	reward := "-"
	if r.credit.Reward != nil {
		reward = fmt.Sprintf("%.3f", *r.credit.Reward)
	}
	cells := []string{short(r.credit.Group), strconv.Itoa(r.credit.Attempt), reward, strconv.Itoa(trained), strconv.Itoa(masked)}
	for _, c := range all {
		cells = append(cells, worth(c.credits[i]))
	}
	return append(cells, remark)
}

func short(id string) string { return id[:min(8, len(id))] }

// worth is an advantage, or the least and greatest of a row's turns.
func worth(c rl.Credit) string {
	if c.Turns == nil {
		return signed(c.Advantage)
	}
	low, high := slices.Min(c.Turns), slices.Max(c.Turns)
	if signed(low) == signed(high) {
		return signed(low)
	}
	return signed(low) + "…" + signed(high)
}

func signed(x float64) string {
	if math.Abs(x) < 5e-4 {
		return "0"
	}
	return fmt.Sprintf("%+.3f", x)
}

// tellRows writes what is trained on and what is not.
func (s *stage) tellRows(b *strings.Builder, samples []sample) {
	c := s.stats.Credit
	in, all, trained := map[*row]bool{}, 0, 0
	for _, x := range samples {
		in[x.row] = true
		trained += x.Targets()
	}
	masked := 0
	for i := range s.rows {
		r := &s.rows[i]
		all += len(r.IDs)
		if !in[r] {
			masked += r.Targets()
		}
	}
	fmt.Fprintf(b, "rows     %d read, %d trained on; %d failed, %d cut, %d filtered or without signal\n", len(s.rows), len(samples), s.stats.Failed, s.stats.Cut, s.stats.Filtered)
	fmt.Fprintf(b, "tokens   %d trained, %d of the policy masked, %d of prompts and results\n", trained, masked, all-trained-masked)
	if s.cfg.Method != "grpo" {
		return
	}
	groups := c.Groups + c.Flat + c.Singletons
	fmt.Fprintf(b, "groups   %d: %d with a signal, %d with equal rewards (%.0f %%), %d of one attempt; %d rows without a reward\n",
		groups, c.Groups, c.Flat, 100*float64(c.Flat)/float64(max(1, groups)), c.Singletons, c.NoReward)
	fmt.Fprintf(b, "sample   the gradient is that of %.1f attempts of equal weight (%d rows)\n", effective(samples), len(samples))
}

// effective is how many rows of equal weight have the spread of weights
// |A|·tokens: (Σx)²/Σx².
func effective(samples []sample) float64 {
	sum, squares := 0.0, 0.0
	for _, s := range samples {
		x := 0.0
		for _, turn := range s.turns {
			x += math.Abs(s.credit.Of(turn))
		}
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}
