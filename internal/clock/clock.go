// Package clock passes the time to those who need it, so that a run can be
// repeated to the byte: the only caller of time.Now.
package clock

import "time"

// A Clock tells the time. A fixed one never moves: measured fields are then
// written as 0.
type Clock interface {
	Now() time.Time
	Fixed() bool
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }
func (realClock) Fixed() bool    { return false }

// Real is the machine's clock.
func Real() Clock { return realClock{} }

type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }
func (fixedClock) Fixed() bool      { return true }

// FixedAt is a clock that always shows t.
func FixedAt(t time.Time) Clock { return fixedClock(t) }

// Since is the seconds that passed from t to now; 0 on a fixed clock.
func Since(c Clock, t time.Time) float64 {
	if c.Fixed() {
		return 0
	}
	return c.Now().Sub(t).Seconds()
}
