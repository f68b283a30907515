// Package ordered runs work concurrently and hands on the results in the order
// of the inputs, so that output does not depend on timing.
package ordered

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// Map calls do for each input, at most limit at a time, and emit with each
// result in input order, from the calling goroutine. The first error in input
// order stops everything and is returned; what came before it was emitted.
func Map[I, O any](ctx context.Context, limit int, in []I, do func(ctx context.Context, i int, x I) (O, error), emit func(i int, y O) error) error {
	return MapSeq(ctx, limit, slices.Values(in), do, emit)
}

// MapAhead is Map, but ahead results may wait for their turn: work does not stop
// behind an input that takes long.
func MapAhead[I, O any](ctx context.Context, limit, ahead int, in []I, do func(ctx context.Context, i int, x I) (O, error), emit func(i int, y O) error) error {
	return mapSeq(ctx, limit, ahead, slices.Values(in), do, emit)
}

type result[O any] struct {
	value O
	err   error
}

// MapSeq is Map over a sequence, which is drawn from the calling goroutine. At
// most 2·limit results wait for their turn.
func MapSeq[I, O any](ctx context.Context, limit int, in iter.Seq[I], do func(ctx context.Context, i int, x I) (O, error), emit func(i int, y O) error) error {
	return mapSeq(ctx, limit, 2*max(limit, 1), in, do, emit)
}

func mapSeq[I, O any](ctx context.Context, limit, ahead int, in iter.Seq[I], do func(ctx context.Context, i int, x I) (O, error), emit func(i int, y O) error) error {
	limit = max(limit, 1)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	slots := make(chan struct{}, limit)
	var queue []chan result[O]
	emitted := 0
	pop := func() error {
		r := <-queue[0]
		queue = queue[1:]
		if r.err != nil {
			return r.err
		}
		emitted++
		return emit(emitted-1, r.value)
	}
	started := 0
	for x := range in {
		if err := ctx.Err(); err != nil {
			return err
		}
		for len(queue) >= max(ahead, limit) {
			if err := pop(); err != nil {
				return err
			}
		}
		for ready(queue) { // hand on early what is done
			if err := pop(); err != nil {
				return err
			}
		}
		done := make(chan result[O], 1)
		queue = append(queue, done)
		i := started
		started++
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			y, err := do(ctx, i, x)
			done <- result[O]{y, err}
		})
	}
	for len(queue) > 0 {
		if err := pop(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// ready says whether the first result waits to be taken.
func ready[O any](queue []chan result[O]) bool { return len(queue) > 0 && len(queue[0]) > 0 }
