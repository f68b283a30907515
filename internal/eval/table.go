package eval

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A grid is a table of texts: the first column is names, the others numbers.
// Head holds a name and a unit for each column.
type grid struct {
	title string
	head  [][2]string
	rows  [][]string
}

func (g *grid) column(name, unit string) { g.head = append(g.head, [2]string{name, unit}) }

// grids are the tables of a result, as the terminal, Markdown and the report show
// them.
func (r *Result) grids() []grid {
	out := []grid{r.outcomes(), r.work()}
	if len(r.Tools) > 0 {
		out = append(out, r.tools())
	}
	for i, g := range r.Gains {
		if i == 0 || g.Baseline != r.Gains[i-1].Baseline {
			out = append(out, r.against(g.Baseline))
		}
	}
	return out
}

func (r *Result) outcomes() grid {
	g := grid{title: "What came of it"}
	for _, c := range [][2]string{
		{"policy", ""},
		{"n", ""},
		{"right", "% [95 %]"},
		{"answerable", "% right"},
		{"unanswerable", "% right"},
		{"wrong", "% [95 %]"},
		{"abstained", "%"},
		{"no answer", "%"},
	} {
		g.column(c[0], c[1])
	}
	for _, p := range r.Policies {
		g.rows = append(g.rows, []string{
			p.Name, strconv.Itoa(p.Attempts), percentOf(&p.Accuracy), value(p.Answerable), value(p.Unanswerable),
			percentOf(&p.Wrong), percent(p.Abstained.Value), percent(p.NoAnswer),
		})
	}
	return g
}

func (r *Result) work() grid {
	g := grid{title: "How it was done"}
	columns := []struct {
		name, unit string
		cell       func(*Policy) string
		shown      bool
	}{
		{"policy", "", func(p *Policy) string { return p.Name }, true},
		{"reward", "mean [95 %]", func(p *Policy) string { return number(p.Reward) }, true},
		{"completed", "% right", func(p *Policy) string { return percent(p.Completed.Value) }, true},
		{"found", "% gold", func(p *Policy) string { return value(p.Found) }, true},
		{"read", "% gold", func(p *Policy) string { return value(p.Read) }, true},
		{"bad calls", "%", func(p *Policy) string { return percent(p.Bad) }, true},
		{"turns", "", func(p *Policy) string { return fmt.Sprintf("%.1f", p.Turns) }, true},
		{"prompt", "tokens", func(p *Policy) string { return tokens(p.PromptTokens) }, true},
		{"sampled", "tokens", func(p *Policy) string { return tokens(p.CompletionTokens) }, true},
		{"time", "s", func(p *Policy) string { return seconds(p.Seconds) }, true},
		{"cost", "$/1,000", func(p *Policy) string { return fmt.Sprintf("%.2f", p.USDPer1000) }, r.any(func(p *Policy) bool { return p.USDPer1000 > 0 })},
		{"failed", "n", func(p *Policy) string { return strconv.Itoa(p.Failed) }, r.any(func(p *Policy) bool { return p.Failed > 0 })},
		{"no verdict", "n", func(p *Policy) string { return strconv.Itoa(p.NoVerdict) }, r.any(func(p *Policy) bool { return p.NoVerdict > 0 })},
	}
	g.rows = make([][]string, len(r.Policies))
	for _, c := range columns {
		if !c.shown {
			continue
		}
		g.column(c.name, c.unit)
		for i, p := range r.Policies {
			g.rows[i] = append(g.rows[i], c.cell(p))
		}
	}
	return g
}

func (r *Result) any(is func(*Policy) bool) bool { return slices.ContainsFunc(r.Policies, is) }

func (r *Result) against(baseline string) grid {
	g := grid{title: "Against " + baseline + ", question by question"}
	for _, c := range [][2]string{
		{"policy", ""},
		{"questions", "n"},
		{"right", "points [95 %]"},
		{"won–lost", "questions"},
		{"p", ""},
		{"errors", "change"},
		{"reward", "[95 %]"},
		{"p", ""},
	} {
		g.column(c[0], c[1])
	}
	for _, gain := range r.Gains {
		if gain.Baseline != baseline {
			continue
		}
		row := []string{gain.Policy, strconv.Itoa(gain.Questions), pointsOf(gain.Accuracy), fmt.Sprintf("%d–%d", gain.Won, gain.Lost), pValue(gain.P), "–", "–", "–"}
		if gain.Errors != nil {
			row[5] = minus("%+.0f %%", -100**gain.Errors)
		}
		if gain.Reward != nil {
			row[6], row[7] = signed(gain.Reward), pValue(gain.RewardP)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// Table writes the result for a terminal.
func (r *Result) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.headline())
	for _, g := range r.grids() {
		fmt.Fprintf(&b, "\n%s\n", g.title)
		g.text(&b)
	}
	fmt.Fprintln(&b)
	for _, n := range append([]string{r.footnote()}, r.Notes...) {
		fmt.Fprintf(&b, "%s\n", wrap(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks a paragraph into lines.
func wrap(s string) string {
	const width = 100
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

const gap = "   " // between columns

// text writes columns that line up: names to the left, numbers to the right.
func (g *grid) text(b *strings.Builder) {
	widths := make([]int, len(g.head))
	lines := append([][]string{g.line(0), g.line(1)}, g.rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, line := range lines {
		var row strings.Builder
		for j, cell := range line {
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j == 0 {
				row.WriteString("  " + cell + pad)
			} else {
				row.WriteString(gap + pad + cell)
			}
		}
		fmt.Fprintln(b, strings.TrimRight(row.String(), " "))
		if i == 1 {
			fmt.Fprintln(b, "  "+strings.Repeat("─", utf8.RuneCountInString(row.String())-2))
		}
	}
}

// line is one of the two lines of the head.
func (g *grid) line(i int) []string {
	out := make([]string, len(g.head))
	for j, h := range g.head {
		out[j] = h[i]
	}
	return out
}

// Markdown writes the result as Markdown.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", r.headline(), r.MarkdownTables(), r.footnote())
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// MarkdownTables are the tables alone, a blank line around each, for a page that
// says by itself what they are about.
func (r *Result) MarkdownTables() string {
	var b strings.Builder
	for _, g := range r.grids() {
		fmt.Fprintf(&b, "\n**%s**\n\n|", g.title)
		for _, h := range g.head {
			fmt.Fprintf(&b, " %s |", strings.TrimSpace(h[0]+" "+h[1]))
		}
		b.WriteString("\n| :--- |" + strings.Repeat(" ---: |", len(g.head)-1) + "\n")
		for _, row := range g.rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(escapeAll(row), " | "))
		}
	}
	return b.String()
}

func escapeAll(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	return out
}

// headline says what was asked of whom.
func (r *Result) headline() string {
	what := fmt.Sprintf("%s of %s", plural(r.clusters(), "question"), plural(r.Inboxes, "inbox"))
	return fmt.Sprintf("%s, %s", what, plural(len(r.Policies), "policy"))
}

func (r *Result) footnote() string {
	s := "Intervals are 95 %, " + r.cluster() + ": Wilson for shares, Student's t for means. "
	s += "Right is of all attempts, failed ones included (completed: without those); wrong is answered and not right; abstained is \"I don't know\", rightly or not; found and read are of answerable questions; tokens, turns and time are means of one attempt, time with others played beside it."
	if len(r.Gains) > 0 {
		s += " p: " + r.Gains[0].Test + ", two-sided; of reward: paired permutation. Errors are attempts that are not right."
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	switch {
	case strings.HasSuffix(what, "x"):
		what += "e"
	case strings.HasSuffix(what, "y"):
		what = what[:len(what)-1] + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func percent(x float64) string { return fmt.Sprintf("%.1f", 100*x) }

func value(e *Estimate) string {
	if e == nil {
		return "–"
	}
	return percent(e.Value)
}

func percentOf(e *Estimate) string {
	if e.Interval == nil {
		return percent(e.Value)
	}
	return fmt.Sprintf("%.1f [%.1f–%.1f]", 100*e.Value, 100*e.Interval.Lo, 100*e.Interval.Hi)
}

func number(e *Estimate) string {
	if e == nil {
		return "–"
	}
	if e.Interval == nil {
		return minus("%.3f", e.Value)
	}
	return minus("%.3f [%.2f, %.2f]", e.Value, e.Interval.Lo, e.Interval.Hi)
}

func signed(e *Estimate) string {
	if e.Interval == nil {
		return minus("%+.3f", e.Value)
	}
	return minus("%+.3f [%+.2f, %+.2f]", e.Value, e.Interval.Lo, e.Interval.Hi)
}

func pointsOf(e Estimate) string {
	if e.Interval == nil {
		return minus("%+.1f", 100*e.Value)
	}
	return minus("%+.1f [%+.1f, %+.1f]", 100*e.Value, 100*e.Interval.Lo, 100*e.Interval.Hi)
}

// minus formats numbers with a minus sign that is as wide as a plus.
func minus(format string, args ...any) string {
	return strings.ReplaceAll(fmt.Sprintf(format, args...), "-", "−")
}

// tokens leaves policies without tokens blank.
func tokens(n float64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", n)
}

func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.2f", s)
	}
	return fmt.Sprintf("%.0f", s)
}

// pValue writes p with three digits, and a small one as what it is: small.
func pValue(p float64) string {
	if p < .001 {
		return "< .001"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", p), "0")
}
