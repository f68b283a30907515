package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"agentmill/internal/agent"
	"agentmill/internal/traj"
)

// Stragglers says when a run stops waiting for its last attempts: once the share
// All of all attempts is done, and the share Group of each question's. All 0 waits
// for every one. Those left become failed attempts; which they are depends on how
// fast others were.
type Stragglers struct{ All, Group float64 }

// check refuses shares that are none, and those that leave nobody out.
func (s Stragglers) check(attempts int) error {
	switch {
	case !(s.All >= 0 && s.All < 1):
		return fmt.Errorf("stragglers %g: want a share from 0 to 1, 1 left out", s.All)
	case s.All == 0:
		return nil
	case !(s.Group >= 0 && s.Group <= 1):
		return fmt.Errorf("straggler group %g: want a share from 0 to 1", s.Group)
	case shareOf(s.Group, attempts) == attempts:
		return fmt.Errorf("stragglers %g, straggler group %g: of %d attempts at each question all must be done, so nobody is left out; want more attempts, or a smaller share of a group", s.All, s.Group, attempts)
	}
	return nil
}

// shareOf is how many of n are a share of them, rounded up.
func shareOf(share float64, n int) int { return int(math.Ceil(share*float64(n) - 1e-9)) }

// A race counts who is done, and ends the attempts that are left once that is
// enough. It is safe for concurrent use; a nil one waits for all.
type race struct {
	late context.Context //nolint:containedctx // it lives as long as the run
	stop context.CancelCauseFunc

	mu      sync.Mutex
	missing int            // attempts that must still be done
	groups  int            // questions whose share is not done
	of      map[string]int // attempts done by question
	share   int            // of a question's attempts
}

func newRace(s Stragglers, questions, attempts int) *race {
	if s.All == 0 {
		return nil
	}
	r := &race{missing: shareOf(s.All, questions*attempts), groups: questions, of: map[string]int{}, share: shareOf(s.Group, attempts)}
	if r.share == 0 {
		r.groups = 0
	}
	r.late, r.stop = context.WithCancelCause(context.Background())
	return r
}

// enter is the context of one attempt, which ends when nobody waits any more.
func (r *race) enter(ctx context.Context) (context.Context, func()) {
	if r == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(r.late, func() { cancel(context.Cause(r.late)) })
	return ctx, func() { release(); cancel(nil) }
}

// done takes in one attempt at question id that is over, however it ended.
func (r *race) done(id string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing--
	if r.of[id]++; r.of[id] == r.share {
		r.groups--
	}
	if r.missing <= 0 && r.groups == 0 {
		r.stop(&agent.Error{Boundary: "rollout", Kind: traj.KindStraggler, Err: errStraggler})
	}
}

var errStraggler = errors.New("not waited for: enough of all attempts, and of those at this question, were done")

// end frees what the race holds.
func (r *race) end() {
	if r != nil {
		r.stop(nil)
	}
}
