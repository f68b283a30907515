package llm

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"agentmill/internal/traj"
)

func TestUnanswered(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		err                  error
		own, settled, passes bool
	}{
		{"an answer", nil, false, false, false},
		{"a reply that cannot be read", &NoAnswerError{3, errors.New("no JSON")}, true, true, false},
		{"a filter", &Error{Kind: KindFiltered, Err: errors.New("x")}, true, true, false},
		{"one bad request", &Error{Kind: KindRefused, Status: http.StatusBadRequest, Err: errors.New("x")}, true, true, false},
		{"a server that breaks over it", &Error{Kind: traj.KindServer, Status: 500, Err: errors.New("x")}, true, false, true},
		{"a server that never answers it", &Error{Kind: traj.KindTimeout, Err: errors.New("x")}, true, false, true},
		{"no key", &Error{Kind: KindRefused, Status: http.StatusUnauthorized, Err: errors.New("x")}, false, true, false},
		{"no such model", &Error{Kind: KindRefused, Status: http.StatusNotFound, Err: errors.New("x")}, false, true, false},
		{"nobody there", &Error{Kind: traj.KindUnreachable, Err: errors.New("x")}, false, false, true},
		{"too many requests", &Error{Kind: traj.KindRateLimit, Status: 429, Err: errors.New("x")}, false, false, true},
		{"no money", ErrBudget, false, false, false},
	} {
		if _, own := Unanswered(tt.err); own != tt.own {
			t.Errorf("%s: its own matter %v, want %v", tt.name, own, tt.own)
		}
		if settled, passes := Settled(tt.err), Passing(tt.err); settled != tt.settled || passes != tt.passes {
			t.Errorf("%s: settled %v, passes %v, want %v and %v", tt.name, settled, passes, tt.settled, tt.passes)
		}
	}
}

func TestUnmet(t *testing.T) {
	slow, unread := &Error{Kind: traj.KindTimeout, Err: errors.New("slow")}, &NoAnswerError{3, errors.New("no JSON")}
	for _, tt := range []struct {
		name   string
		errs   []error
		most   float64
		says   string
		passes bool
	}{
		{"nothing was asked", nil, 0, "", false},
		{"all answered", []error{nil, nil}, 0, "", false},
		{"as many as allowed", []error{nil, unread}, .5, "", false},
		{"one too many", []error{nil, unread, slow}, .5, "2 of 3", false},
		{"none, all slow", []error{slow, slow}, .5, "none of 2", true},
		{"none, one of them for good", []error{slow, unread}, .5, "no JSON", false},
	} {
		var u Unmet
		for _, err := range tt.errs {
			u.Count(err)
		}
		err := u.Verdict(tt.most)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || Passing(err) != tt.passes {
			t.Errorf("%s: %v, passing %v; want %q, %v", tt.name, err, Passing(err), tt.says, tt.passes)
		}
	}
}
