package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"agentmill/internal/cli"
	"agentmill/internal/eval"
)

// A point is one policy of a sweep.
type point struct {
	name, family    string
	parameters      float64
	base, sft, grpo *eval.Policy
	gain            *eval.Gain // of GRPO over SFT
	sftMinutes      float64
	grpoMinutes     float64 // training alone
}

// readSweep reads one unit a policy; points come by family, then by size.
func readSweep(paths []string) ([]point, error) {
	var out []point
	for _, path := range paths {
		u, err := readUnit(path)
		if err != nil {
			return nil, err
		}
		p := point{name: u.Name, base: u.policy("prompted"), sft: u.policy("sft"), grpo: u.policy("grpo")}
		if p.base == nil || p.sft == nil || p.grpo == nil || u.Model == nil {
			return nil, cli.Usagef("%s: want a unit with a model and the policies prompted, sft and grpo", path)
		}
		p.family, p.parameters = u.Model.Family, float64(u.Model.Parameters)
		for i, g := range u.Result.Gains {
			if g.Policy == "grpo" && g.Baseline == "sft" {
				p.gain = &u.Result.Gains[i]
			}
		}
		for _, s := range u.Made {
			if s.Method == "sft" {
				p.sftMinutes += s.Seconds / 60
			} else {
				p.grpoMinutes += s.Seconds / 60
			}
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, cli.Usagef("want one FILE or more")
	}
	slices.SortFunc(out, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.parameters, b.parameters), cmp.Compare(a.name, b.name))
	})
	return out, nil
}

// tableSweep writes the points as Markdown.
func tableSweep(points []point) string {
	var b strings.Builder
	b.WriteString("| family | policy | weights, M | prompted, % right | SFT | GRPO | GRPO over SFT, points [95 %] | won–lost | training, min: SFT | GRPO | answer, s |\n")
	b.WriteString("| :--- | :--- |" + strings.Repeat(" ---: |", 9) + "\n")
	for _, p := range points {
		gain, pairs := "–", "–"
		if g := p.gain; g != nil {
			pairs = fmt.Sprintf("%d–%d", g.Won, g.Lost)
			gain = fmt.Sprintf("%+.1f", 100*g.Accuracy.Value)
			if i := g.Accuracy.Interval; i != nil {
				gain += fmt.Sprintf(" [%+.1f, %+.1f]", 100*i.Lo, 100*i.Hi)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %.3g | %.1f | %.1f | %.1f | %s | %s | %.1f | %.1f | %.2f |\n", p.family, p.name, p.parameters/1e6,
			100*p.base.Accuracy.Value, 100*p.sft.Accuracy.Value, 100*p.grpo.Accuracy.Value, gain, pairs, p.sftMinutes, p.grpoMinutes, p.grpo.Seconds)
	}
	return b.String()
}

// The chart is a box of this size; sizes grow to the right by powers.
const (
	chartWidth, chartHeight             = 640.0, 360.0
	chartLeft, chartRight, chartTop     = 56.0, 120.0, 24.0
	chartBottom                         = 44.0
	plotRight, plotLow                  = chartWidth - chartRight, chartHeight - chartBottom
	beforeColour, sftColour, gainColour = "#8a8f98", "#4c78a8", "#d1642e"
)

// drawSweep draws what is right after each stage against size: a grey dot for the
// prompted policy, a blue one after SFT, an orange one after GRPO, joined by a
// line; family and cost stand beside.
func drawSweep(points []point) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		lo, hi = min(lo, p.parameters), max(hi, p.parameters)
	}
	lo, hi = math.Log10(lo)-.2, math.Log10(hi)+.2
	x := func(n float64) float64 { return chartLeft + (plotRight-chartLeft)*(math.Log10(n)-lo)/(hi-lo) }
	y := func(share float64) float64 { return plotLow - (plotLow-chartTop)*share }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12" fill="#333">`+"\n", chartWidth, chartHeight)
	for share := 0.0; share <= 1; share += .25 {
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%.0f %%</text>`+"\n", chartLeft, y(share), plotRight, chartLeft-8, y(share)+4, 100*share)
	}
	for _, p := range points {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1fV%.1f" stroke="#bbb" fill="none"/>`+"\n", x(p.parameters), y(p.base.Accuracy.Value), y(p.sft.Accuracy.Value), y(p.grpo.Accuracy.Value))
		for _, d := range []struct {
			colour, what string
			of           *eval.Policy
		}{{beforeColour, "prompted", p.base}, {sftColour, "after SFT", p.sft}, {gainColour, "after GRPO", p.grpo}} {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"><title>%s %s: %.1f %% right</title></circle>`+"\n",
				x(p.parameters), y(d.of.Accuracy.Value), d.colour, html.EscapeString(p.name), d.what, 100*d.of.Accuracy.Value)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f">%s %s, %.0f min</text>`+"\n", x(p.parameters)+7, y(p.grpo.Accuracy.Value)-6, html.EscapeString(p.family), html.EscapeString(p.name), p.sftMinutes+p.grpoMinutes)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.3gM</text>`+"\n", x(p.parameters), plotLow+18, p.parameters/1e6)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g">right of the test questions, by weights: <tspan fill="%s">● prompted</tspan> <tspan fill="%s">● SFT</tspan> <tspan fill="%s">● GRPO</tspan></text>`+"\n",
		chartLeft, chartHeight-8, beforeColour, sftColour, gainColour)
	b.WriteString("</svg>\n")
	return b.String()
}
