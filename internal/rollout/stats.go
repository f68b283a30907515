package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// Stats counts what a run did.
type Stats struct {
	Read, Bad          int            // question records
	OtherSplit, Absent int            // questions that were not to be played, or could not
	Questions          int            // played
	Rows, Resumed      int            // attempts written; of them found in the journal
	Declined           map[string]int // attempts that the policy did not play, by reason
	Stops              map[traj.StopReason]int
	Passing            int        // failures that may pass by themselves
	Stragglers         int        // failures of those that were not waited for
	Played             chat.Usage // of attempts played in this run
	Seconds            float64
	firstFailure       string
}

func newStats() *Stats {
	return &Stats{Stops: map[traj.StopReason]int{}, Declined: map[string]int{}}
}

// Failed is the number of failed attempts.
func (s *Stats) Failed() int { return s.Stops[traj.Failed] }

func (s *Stats) add(r result) {
	if len(r.rows) == 0 {
		s.Declined[r.declined]++
		return
	}
	row := r.rows[0] // all parts tell the same of their attempt
	s.Rows++
	s.Stops[row.Stop]++
	if f := row.Failure; f != nil {
		if f.Passing() {
			s.Passing++
		}
		if f.Kind == traj.KindStraggler {
			s.Stragglers++
		} else if s.firstFailure == "" {
			s.firstFailure = f.Message
		}
	}
	if r.resumed {
		s.Resumed++
		return
	}
	u := row.Usage
	s.Played.PromptTokens += u.PromptTokens
	s.Played.CompletionTokens += u.CompletionTokens
	s.Played.CachedTokens += u.CachedTokens
	s.Played.Turns += u.Turns
}

// verdict is the error that the counts amount to, if any.
func (s *Stats) verdict(maxFailed float64) error {
	failed := s.Failed() - s.Stragglers // how many may be left out was said
	switch {
	case failed == 0:
		return nil
	case failed == s.Rows-s.Stragglers && s.Passing == failed:
		return fmt.Errorf("%w; the first: %s", ErrUnreachable, s.firstFailure)
	case float64(failed) > maxFailed*float64(s.Rows):
		return fmt.Errorf("%w: %d of %d, allowed %g; the first: %s", ErrTooManyFailed, failed, s.Rows, maxFailed, s.firstFailure)
	}
	return nil
}

// stops is the order in which stop reasons are told.
var stops = []traj.StopReason{traj.Answered, traj.Abstained, traj.MaxTurns, traj.Length, traj.BadCall, traj.Failed}

// brief is the remark beside the progress bar.
func (s *Stats) brief() string {
	var parts []string
	for _, stop := range stops {
		if n := s.Stops[stop]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, stop))
		}
	}
	return strings.Join(parts, ", ")
}

// String is the summary line.
func (s *Stats) String() string {
	parts := []string{fmt.Sprintf("%d attempts at %d questions: %s", s.Rows, s.Questions, s.brief())}
	parts = append(parts, s.declined()...)
	for _, c := range []struct {
		n    int
		text string
	}{
		{s.Resumed, "%d of them played before"},
		{s.Stragglers, "%d not waited for"},
		{s.Absent, "%d questions whose mailbox the index does not hold"},
		{s.OtherSplit, "%d questions of other splits passed over"},
		{s.Bad, "%d bad records"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf(c.text, c.n))
		}
	}
	return strings.Join(append(parts, s.speed()), "; ")
}

// declined tells how many attempts the policy did not play, and why.
func (s *Stats) declined() (parts []string) {
	for _, why := range slices.Sorted(maps.Keys(s.Declined)) {
		parts = append(parts, fmt.Sprintf("%d declined: %s", s.Declined[why], why))
	}
	return parts
}

// speed tells tokens, and a rate where time passed.
func (s *Stats) speed() string {
	text := fmt.Sprintf("%d turns", s.Played.Turns)
	if s.Played.CompletionTokens == 0 {
		return text
	}
	text += fmt.Sprintf(", %d tokens run, %d sampled", s.Played.PromptTokens-s.Played.CachedTokens+s.Played.CompletionTokens, s.Played.CompletionTokens)
	if s.Seconds > 0 {
		text += fmt.Sprintf(", %.0f sampled a second", float64(s.Played.CompletionTokens)/s.Seconds)
	}
	return text
}
