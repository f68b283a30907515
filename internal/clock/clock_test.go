package clock

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	then := time.Unix(100, 0)
	if got := Since(FixedAt(then), time.Unix(0, 0)); got != 0 {
		t.Errorf("fixed clock: %v seconds passed, want 0", got)
	}
	if !FixedAt(then).Now().Equal(then) {
		t.Error("a fixed clock moved")
	}
	c := Real()
	if got := Since(c, c.Now().Add(-time.Hour)); got < 3600 || c.Fixed() {
		t.Errorf("real clock: %v seconds since an hour ago", got)
	}
}
