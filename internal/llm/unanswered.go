package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"agentmill/internal/traj"
)

// Unanswered says why a request has no answer where that is its own matter: the
// reply cannot be read, the server refuses this one request, or broke or took too
// long over it again and again. Other requests may be answered all the same. What
// is wrong with the server or the account (nobody there, too many requests, no
// key) is the matter of all.
func Unanswered(err error) (reason string, ok bool) {
	if none, ok := errors.AsType[*NoAnswerError](err); ok {
		return none.Error(), true
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return "", false
	}
	switch e.Kind {
	case KindFiltered, KindProtocol, traj.KindTimeout, traj.KindServer:
		return e.Error(), true
	case KindRefused:
		own := e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity
		return e.Error(), own
	}
	return "", false
}

// Settled reports whether asking again would bring the same: a reply that cannot
// be read was paid for, and a filter stays as it is.
func Settled(err error) bool {
	if _, none := errors.AsType[*NoAnswerError](err); none {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && !e.Passing()
}

// An Unmet counts what of a run a model was asked, and what it did not answer. It
// is safe for concurrent use.
type Unmet struct {
	mu            sync.Mutex
	asked, failed int
	passing       error // one that may pass
	settled       error // one that will not
}

// Count counts a question and what became of it; nil is an answer.
func (u *Unmet) Count(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	switch {
	case err == nil:
		return
	case !Passing(err):
		u.settled = cmp.Or(u.settled, err)
	default:
		u.passing = cmp.Or(u.passing, err)
	}
	u.failed++
}

// Failed is how many questions have no answer.
func (u *Unmet) Failed() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failed
}

// Verdict is the error that the counts amount to: more than a share of most was
// not answered. It is Passing where nothing was, for reasons that may pass.
func (u *Unmet) Verdict(most float64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if float64(u.failed) <= most*float64(u.asked) {
		return nil
	}
	if u.failed == u.asked && u.settled == nil {
		return fmt.Errorf("none of %d questions to the model was answered; the first: %w", u.asked, u.passing)
	}
	return fmt.Errorf("%d of %d questions to the model were not answered, allowed is a share of %g (--max-failed); one of them: %s", u.failed, u.asked, most, cmp.Or(u.settled, u.passing).Error())
}
