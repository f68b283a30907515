package progress

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A stepClock moves on by hand.
type stepClock struct{ t time.Time }

func (c *stepClock) Now() time.Time { return c.t }
func (c *stepClock) Fixed() bool    { return false }

func newTest(mode Mode, terminal bool) (*Reporter, *bytes.Buffer, *stepClock) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	r := New(&out, log, mode, terminal)
	c := &stepClock{time.Unix(0, 0)}
	r.clock = c
	return r, &out, c
}

func TestBar(t *testing.T) {
	r, out, c := newTest(Auto, true)
	b := r.Start("rollout", 8)
	c.t = c.t.Add(10 * time.Second)
	b.Add(2)
	want := "\rrollout  [######..................]  2/8  left 30s\x1b[K"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out, want)
	}
	out.Reset()
	r.Write([]byte("warn\n"))
	if want := "\r\x1b[Kwarn\n"; out.String() != want {
		t.Errorf("talk: got %q, want %q", out, want)
	}
	out.Reset()
	b.Add(1) // at once: not drawn again
	if out.Len() > 0 {
		t.Errorf("drawn within %v: %q", redraw, out)
	}
}

func TestLogLines(t *testing.T) {
	r, out, c := newTest(Auto, false)
	b := r.Start("train", 4)
	c.t = c.t.Add(5 * time.Second)
	b.Add(1)
	if out.Len() > 0 {
		t.Errorf("logged after 5 s: %q", out)
	}
	c.t = c.t.Add(5 * time.Second)
	b.Set("loss 2.1")
	if want := "level=INFO msg=\"train  25%  1/4  left 30s  loss 2.1\"\n"; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
	b.Done()
}

func TestResumedWorkDoesNotSpoilTheTimeLeft(t *testing.T) {
	r, out, c := newTest(Always, false)
	b := r.Start("train", 100)
	b.Skip(90)
	c.t = c.t.Add(10 * time.Second)
	b.Add(5)
	if !strings.Contains(out.String(), "5/10  left 10s") {
		t.Errorf("got %q", out)
	}
}

func TestSilent(t *testing.T) {
	r, out, c := newTest(Never, true)
	b := r.Start("x", 2)
	c.t = c.t.Add(time.Hour)
	b.Add(1)
	b.Done()
	var none *Reporter
	none.Start("x", 1).Add(1)
	if out.Len() > 0 {
		t.Errorf("got %q", out)
	}
}
