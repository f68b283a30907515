package train

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"
)

// A Watch draws the metrics of a run in a terminal.
type Watch struct {
	Run           string // folder of a run, or of one policy
	Width, Height int    // of each chart
	Every         time.Duration
	// Live draws again and again, over what was drawn; else once.
	Live bool
	Out  io.Writer
	Wait func(ctx context.Context, d time.Duration) error
}

// Draw draws until ctx ends, or once.
func (w Watch) Draw(ctx context.Context) error {
	for {
		steps, err := ReadMetrics(w.Run)
		if err != nil {
			return err
		}
		var b strings.Builder
		if w.Live {
			b.WriteString("\x1b[H\x1b[2J") // home, clear
		}
		b.WriteString(w.picture(steps))
		if _, err := io.WriteString(w.Out, b.String()); err != nil {
			return err
		}
		if !w.Live || w.Wait(ctx, w.Every) != nil {
			return nil //nolint:nilerr // told to stop
		}
	}
}

// ReadMetrics are the steps of all policies in a run's folder, those of an
// unfinished one included, by step. Of a step that stands twice the later file
// counts: it was made again.
func ReadMetrics(run string) ([]Metrics, error) {
	files := []string{filepath.Join(run, MetricsFile)}
	if _, err := os.Stat(files[0]); err != nil {
		if files, err = filepath.Glob(filepath.Join(globless(run), "*", MetricsFile)); err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no %s in it or in its folders: want the folder of a run or of a policy", run, MetricsFile)
	}
	byStep := map[int]Metrics{}
	for _, path := range files {
		if err := readMetrics(path, byStep); err != nil {
			return nil, err
		}
	}
	steps := make([]Metrics, 0, len(byStep))
	for _, m := range byStep {
		steps = append(steps, m)
	}
	slices.SortFunc(steps, func(a, b Metrics) int { return a.Step - b.Step })
	return steps, nil
}

// globless is path with what Glob would read as a pattern quoted.
func globless(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func readMetrics(path string, byStep map[int]Metrics) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its policy has just become whole, under another name
	}
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var m Metrics
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		byStep[m.Step] = m
	}
	return lines.Err()
}

// A curve is one chart.
type curve struct {
	name string
	of   func(m *Metrics) float64 // NaN: not known at this step
}

func compared(of func(c *Compared) float64) func(m *Metrics) float64 {
	return func(m *Metrics) float64 {
		if m.Compared == nil || m.Method != "grpo" {
			return math.NaN()
		}
		return of(m.Compared)
	}
}

var curves = []curve{
	{"reward (mean of the rows of a step)", compared(func(c *Compared) float64 { return c.RewardMean })},
	{"loss", func(m *Metrics) float64 { return m.Loss }},
	{"gradient norm", func(m *Metrics) float64 { return m.GradNorm }},
	{"share of groups without spread", compared(func(c *Compared) float64 {
		return float64(c.Flat) / float64(max(1, c.Flat+c.Groups+c.Singletons))
	})},
	{"−log p of sampled tokens", compared(func(c *Compared) float64 { return c.Entropy })},
}

// picture is all charts, with the last step in words.
func (w Watch) picture(steps []Metrics) string {
	if len(steps) == 0 {
		return "no step yet\n"
	}
	var b strings.Builder
	last := steps[len(steps)-1]
	fmt.Fprintf(&b, "%s: step %d, %s, loss %.4f, gradient norm %.3f, lr %.2g\n", w.Run, last.Step, last.Method, last.Loss, last.GradNorm, last.LR)
	if last.Note != "" {
		fmt.Fprintf(&b, "%s\n", last.Note)
	}
	for _, c := range curves {
		var at []int
		var values []float64
		for i := range steps {
			if v := c.of(&steps[i]); !math.IsNaN(v) {
				at, values = append(at, steps[i].Step), append(values, v)
			}
		}
		if len(values) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %.4g at step %d … %.4g at step %d\n", c.name, values[0], at[0], values[len(values)-1], at[len(at)-1])
		if len(values) > 1 {
			b.WriteString(asciigraph.Plot(values, asciigraph.Width(w.Width), asciigraph.Height(w.Height)) + "\n")
		}
	}
	return b.String()
}
