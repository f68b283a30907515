// Package progress shows how far a long piece of work is: a bar with the time
// left on a terminal, a log line every ten seconds elsewhere. It is talk, never
// data, so it always runs on the real clock.
package progress

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"agentmill/internal/clock"
)

// A Mode says when progress is shown.
type Mode string

// The modes: Auto draws a bar on a terminal and writes log lines elsewhere,
// Always draws a bar everywhere, Never is silent.
const (
	Auto   Mode = "auto"
	Always Mode = "always"
	Never  Mode = "never"
)

const (
	redraw   = 100 * time.Millisecond
	logEvery = 10 * time.Second
	barWidth = 24
)

// A Reporter owns the standard error of a command while bars are drawn on it.
// A nil Reporter is silent.
type Reporter struct {
	mu    sync.Mutex
	w     io.Writer
	log   *slog.Logger
	bar   bool // draw, rather than log
	mute  bool
	drawn bool
	clock clock.Clock
}

// New makes a Reporter that draws on w or logs to log. terminal says whether w
// is one.
func New(w io.Writer, log *slog.Logger, mode Mode, terminal bool) *Reporter {
	return &Reporter{
		w: w, log: log, clock: clock.Real(),
		bar:  mode == Always || (mode == Auto && terminal),
		mute: mode == Never,
	}
}

// SetLog names the logger for progress lines, where New had none yet.
func (r *Reporter) SetLog(log *slog.Logger) { r.log = log }

// Write passes talk through to the terminal, wiping a drawn bar first.
func (r *Reporter) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wipe()
	return r.w.Write(p)
}

func (r *Reporter) wipe() {
	if r.drawn {
		_, _ = fmt.Fprint(r.w, "\r\x1b[K")
		r.drawn = false
	}
}

// Start begins a piece of work of total steps; 0 is unknown.
func (r *Reporter) Start(label string, total int) *Bar {
	if r == nil {
		return nil
	}
	now := r.clock.Now()
	return &Bar{r: r, label: label, total: total, start: now, shown: now}
}

// A Bar is one piece of work. It is safe for concurrent use; a nil Bar is silent.
type Bar struct {
	r     *Reporter
	label string
	total int

	mu    sync.Mutex
	done  int
	msg   string
	start time.Time
	shown time.Time
}

// Add counts n more steps.
func (b *Bar) Add(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += n
	b.show()
}

// Skip counts n steps that were done before (a resumed run): they do not enter
// the time left.
func (b *Bar) Skip(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total -= n
}

// Set changes the remark at the end of the line.
func (b *Bar) Set(msg string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.msg = msg
	b.show()
}

// Done ends the work and wipes the bar.
func (b *Bar) Done() {
	if b == nil {
		return
	}
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	b.r.wipe()
}

func (b *Bar) show() {
	now := b.r.clock.Now()
	every := logEvery
	if b.r.bar {
		every = redraw
	}
	if b.r.mute || now.Sub(b.shown) < every {
		return
	}
	b.shown = now
	line := b.line(now.Sub(b.start))
	if !b.r.bar {
		if b.r.log != nil {
			b.r.log.Info(line)
		}
		return
	}
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	_, _ = fmt.Fprintf(b.r.w, "\r%s\x1b[K", line)
	b.r.drawn = true
}

// line is what a reader sees: label, bar, count, time left, remark.
func (b *Bar) line(elapsed time.Duration) string {
	parts := []string{b.label}
	if b.total > 0 {
		parts = append(parts, b.gauge(), fmt.Sprintf("%d/%d", b.done, b.total))
		if b.done > 0 && b.done < b.total {
			left := time.Duration(float64(elapsed) / float64(b.done) * float64(b.total-b.done))
			parts = append(parts, "left "+left.Round(time.Second).String())
		}
	} else {
		parts = append(parts, strconv.Itoa(b.done)+" done")
	}
	if b.msg != "" {
		parts = append(parts, b.msg)
	}
	return strings.Join(parts, "  ")
}

func (b *Bar) gauge() string {
	if !b.r.bar {
		return fmt.Sprintf("%d%%", 100*min(b.done, b.total)/b.total)
	}
	full := barWidth * min(b.done, b.total) / b.total
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}
