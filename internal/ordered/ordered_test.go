package ordered

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestOrderAndLimit(t *testing.T) {
	for _, limit := range []int{0, 1, 3, 100} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			do := func(_ context.Context, i, x int) (string, error) {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				time.Sleep(time.Duration((i*7)%5) * time.Second) // later ones often end first
				return strconv.Itoa(x), nil
			}
			var got []string
			err := Map(t.Context(), limit, numbers(20), do, func(i int, s string) error {
				if i != len(got) {
					t.Errorf("emit(%d) after %d results", i, len(got))
				}
				got = append(got, s)
				return nil
			})
			if err != nil || len(got) != 20 || got[19] != "19" || got[3] != "3" {
				t.Errorf("limit %d: got %v, %v", limit, got, err)
			}
			if int(most.Load()) > max(limit, 1) || (limit == 3 && most.Load() != 3) {
				t.Errorf("limit %d: %d ran at once", limit, most.Load())
			}
		})
	}
}

func TestFirstErrorInInputOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early, late := errors.New("item 5"), errors.New("item 9")
		do := func(_ context.Context, i, _ int) (int, error) {
			switch i {
			case 5:
				time.Sleep(time.Hour)
				return 0, early
			case 9:
				return 0, late
			}
			return i, nil
		}
		var got []int
		err := Map(t.Context(), 20, numbers(20), do, func(_, x int) error { got = append(got, x); return nil })
		if !errors.Is(err, early) || !slices.Equal(got, numbers(5)) {
			t.Errorf("got %v and %v, want 0 to 4 and %v", got, err, early)
		}
	})
}

func TestEmitErrorStops(t *testing.T) {
	full := errors.New("disk full")
	var done atomic.Int32
	err := Map(t.Context(), 2, numbers(1000), func(context.Context, int, int) (int, error) {
		done.Add(1)
		return 0, nil
	}, func(i, _ int) error {
		if i == 3 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || done.Load() > 20 {
		t.Errorf("got %v after %d items, want %v soon", err, done.Load(), full)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Map(ctx, 2, numbers(10), func(ctx context.Context, i, _ int) (int, error) {
		if i == 1 {
			cancel()
		}
		return 0, ctx.Err()
	}, func(int, int) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestResultsAreHandedOnEarly: what is done does not wait for slow work behind it.
func TestResultsAreHandedOnEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, wait := time.Now(), time.Duration(0)
		err := Map(t.Context(), 3, numbers(20), func(_ context.Context, i, _ int) (int, error) {
			if i == 0 {
				time.Sleep(time.Second)
			} else {
				time.Sleep(time.Hour)
			}
			return 0, nil
		}, func(i, _ int) error {
			if i == 0 {
				wait = time.Since(start)
			}
			return nil
		})
		if err != nil || wait > time.Second {
			t.Errorf("the first result waited %v, want 1 s (error %v)", wait, err)
		}
	})
}

// TestAhead: with room for all results, the rest is done while the first is slow.
func TestAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, last := time.Now(), time.Duration(0)
		var order []int
		err := MapAhead(t.Context(), 2, 20, numbers(20), func(_ context.Context, i, _ int) (int, error) {
			if i == 0 {
				time.Sleep(time.Hour)
			}
			if i == 19 {
				last = time.Since(start)
			}
			return i, nil
		}, func(i, y int) error { order = append(order, y); return nil })
		if err != nil || last != 0 || !slices.Equal(order, numbers(20)) {
			t.Errorf("the last began after %v, results %v, error %v", last, order, err)
		}
	})
}

func TestEmpty(t *testing.T) {
	if err := Map(t.Context(), 2, nil, func(context.Context, int, int) (int, error) { return 0, nil }, func(int, int) error { return nil }); err != nil {
		t.Error(err)
	}
}
