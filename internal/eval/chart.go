package eval

import (
	"fmt"
	"math"
	"strings"
)

// The charts are drawn in a box of fixed width; the page scales them.
const (
	chartWidth = 500.0
	nameWidth  = 116.0 // room for the policies' names
	valueWidth = 66.0  // room for numbers at the right edge
	rowHeight  = 34.0
	axisHeight = 30.0
)

// A chart shows one estimate a policy: a dot with its interval.
type chart struct {
	Title, About string
	Height       float64
	Left, Right  float64
	Rows         []dot
	Ticks        []tick
	Zero         float64 // where 0 lies, if inside
	HasZero      bool
}

type dot struct {
	Name, Label, Title string
	X, Y, Lo, Hi       float64
	HasInterval        bool
}

type tick struct {
	X     float64
	Label string
}

func (r *Result) accuracyChart() chart {
	c := newChart("Right answers", "share of all attempts, with 95 % intervals", 0, 1)
	for _, p := range r.Policies {
		c.add(p.Name, &p.Accuracy, percent(p.Accuracy.Value)+" %", 0, 1)
	}
	c.ticks(0, 0, 1, .25, func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) })
	return c
}

func (r *Result) rewardChart() *chart {
	lo, hi := 0.0, 1.0
	for _, p := range r.Policies {
		if p.Reward == nil {
			return nil
		}
		lo, hi = min(lo, p.Reward.Value), max(hi, p.Reward.Value)
		if i := p.Reward.Interval; i != nil {
			lo, hi = min(lo, i.Lo), max(hi, i.Hi)
		}
	}
	lo, hi = math.Floor(lo*2)/2, math.Ceil(hi*2)/2
	c := newChart("Mean reward", "with 95 % intervals", lo, hi)
	for _, p := range r.Policies {
		c.add(p.Name, p.Reward, minus("%.2f", p.Reward.Value), lo, hi)
	}
	step := .5
	if hi-lo > 2 {
		step = 1
	}
	for hi-lo > 10*step {
		step *= 10
	}
	c.ticks(math.Ceil(lo/step)*step, lo, hi, step, func(v float64) string { return minus("%.1f", v) })
	return &c
}

func newChart(title, about string, lo, hi float64) chart {
	c := chart{Title: title, About: about, Left: nameWidth, Right: chartWidth - valueWidth}
	if lo < 0 && hi > 0 {
		c.HasZero, c.Zero = true, c.x(0, lo, hi)
	}
	return c
}

func (c *chart) x(v, lo, hi float64) float64 {
	return tenth(c.Left + (c.Right-c.Left)*(v-lo)/(hi-lo))
}

// tenth keeps coordinates short.
func tenth(x float64) float64 { return math.Round(x*10) / 10 }

func (c *chart) add(name string, e *Estimate, label string, lo, hi float64) {
	d := dot{Name: shorten(name), Label: label, Title: name + ": " + label, X: c.x(e.Value, lo, hi), Y: rowHeight * (float64(len(c.Rows)) + .5)}
	if i := e.Interval; i != nil {
		d.HasInterval, d.Lo, d.Hi = true, c.x(max(lo, i.Lo), lo, hi), c.x(min(hi, i.Hi), lo, hi)
	}
	c.Rows = append(c.Rows, d)
	c.Height = rowHeight*float64(len(c.Rows)) + axisHeight
}

func (c *chart) ticks(from, lo, hi, step float64, label func(float64) string) {
	for v := from; v <= hi+step/1000; v += step {
		c.Ticks = append(c.Ticks, tick{c.x(v, lo, hi), label(v)})
	}
}

// Width is the width of the drawing.
func (c chart) Width() float64 { return chartWidth }

// AxisY is where the axis' labels stand.
func (c chart) AxisY() float64 { return c.Height - axisHeight + 20 }

// LineEnd is where the grid lines end.
func (c chart) LineEnd() float64 { return c.Height - axisHeight + 4 }

// shorten cuts a name that has no room beside a chart.
func shorten(name string) string {
	const most = 15 // letters beside a chart
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	return string(runes[:most-1]) + "…"
}

// A stack shows each policy's outcomes as one bar.
type stack struct {
	Height float64
	Rows   []stackRow
	Legend []stackPart
}

type stackRow struct {
	Name  string
	Y     float64 // of the text
	Top   float64 // of the bar
	Parts []stackPart
}

type stackPart struct {
	Class, Title, Label string
	X, Width            float64
}

// Width is the width of the drawing.
func (s stack) Width() float64 { return chartWidth }

// Width is the width of the drawing.
func (c curve) Width() float64 { return chartWidth }

// Mid is where a part's number stands.
func (p stackPart) Mid() float64 { return tenth(p.X + p.Width/2) }

// outcomeNames are the parts of a bar, from left to right.
var outcomeNames = []struct {
	class, name string
	share       func(Outcomes) float64
}{
	{"right", "right", func(o Outcomes) float64 { return o.Right }},
	{"abstained", "wrongly says \"I don't know\"", func(o Outcomes) float64 { return o.Abstained }},
	{"none", "no answer", func(o Outcomes) float64 { return o.NoAnswer }},
	{"wrong", "wrong", func(o Outcomes) float64 { return o.Wrong }},
	{"failed", "failed", func(o Outcomes) float64 { return o.Failed }},
}

func (r *Result) stack() stack {
	const barHeight, roomForNumber = 22.0, 26.0
	s := stack{Height: rowHeight * float64(len(r.Policies))}
	used := map[string]bool{}
	for i, p := range r.Policies {
		row := stackRow{Name: shorten(p.Name), Y: rowHeight * (float64(i) + .5)}
		row.Top = row.Y - barHeight/2
		x := nameWidth
		for _, o := range outcomeNames {
			v := o.share(p.Outcomes)
			if v <= 0 {
				continue
			}
			used[o.class] = true
			part := stackPart{Class: o.class, X: tenth(x), Width: tenth(v * (chartWidth - nameWidth))}
			part.Title = fmt.Sprintf("%s: %s %% %s", p.Name, percent(v), o.name)
			if part.Width >= roomForNumber {
				part.Label = fmt.Sprintf("%.0f", 100*v)
			}
			x += v * (chartWidth - nameWidth)
			row.Parts = append(row.Parts, part)
		}
		s.Rows = append(s.Rows, row)
	}
	for _, o := range outcomeNames {
		if used[o.class] {
			s.Legend = append(s.Legend, stackPart{Class: o.class, Title: o.name})
		}
	}
	return s
}

// A curve shows the training steps: accuracy and wrong answers of their own
// attempts.
type curve struct {
	Height         float64
	Left, Right    float64
	Right100, Zero float64 // where 100 % and 0 % lie
	Lines          []curveLine
	Ticks          []tick
	Levels         []tick // X is a height here
}

type curveLine struct {
	Class, Name, Points string
	Dots                []dot
}

func (r *Result) curve() *curve {
	if len(r.Training) < 2 {
		return nil
	}
	const height, top = 200.0, 12.0 // of the drawing, of its upper edge
	c := &curve{Height: height, Left: 44, Right: chartWidth - 12, Right100: top, Zero: height - axisHeight}
	x := func(i int) float64 {
		return tenth(c.Left + (c.Right-c.Left)*float64(i)/float64(len(r.Training)-1))
	}
	y := func(v float64) float64 { return tenth(c.Zero - v*(c.Zero-c.Right100)) }
	for _, line := range []struct {
		class, name string
		of          func(Step) float64
	}{
		{"right", "right", func(s Step) float64 { return s.Accuracy.Value }},
		{"wrong", "wrong", func(s Step) float64 { return s.Wrong.Value }},
	} {
		l := curveLine{Class: line.class, Name: line.name}
		var points []string
		for i, s := range r.Training {
			d := dot{X: x(i), Y: y(line.of(s)), Title: fmt.Sprintf("step %s: %s %% %s", s.Name, percent(line.of(s)), line.name)}
			points = append(points, fmt.Sprintf("%g,%g", d.X, d.Y))
			l.Dots = append(l.Dots, d)
		}
		l.Points = strings.Join(points, " ")
		c.Lines = append(c.Lines, l)
	}
	every := max(1, (len(r.Training)+9)/10)
	for i := 0; i < len(r.Training); i += every {
		c.Ticks = append(c.Ticks, tick{x(i), r.Training[i].Name})
	}
	for _, v := range []float64{0, .5, 1} {
		c.Levels = append(c.Levels, tick{y(v), fmt.Sprintf("%.0f %%", 100*v)})
	}
	return c
}
