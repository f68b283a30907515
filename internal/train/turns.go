package train

import (
	"fmt"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/rl"
	"agentmill/internal/traj"
)

// steps numbers the turns of r, a run of sampled tokens each, and says what was
// seen before each and what was done.
func (a *admission) steps(r *row, t *traj.Trajectory) {
	r.turns, r.credit.Steps = nil, nil
	turn := -1
	for i, trained := range r.Trained {
		if !trained {
			continue
		}
		if i == 0 || !r.Trained[i-1] {
			turn++
		}
		r.turns = append(r.turns, turn)
	}
	if a.cfg.Method != "grpo" {
		return
	}
	first := a.before[r.attempt()]
	a.before[r.attempt()] += turn + 1
	seen := played(t)
	for k := range turn + 1 {
		step := rl.Step{State: fmt.Sprintf("unknown: %s %d", r.id, k)} // like no other
		if first+k < len(seen) {
			step = seen[first+k]
		}
		r.credit.Steps = append(r.credit.Steps, step)
	}
}

// played lists what was seen before each turn of t, and what was done.
func played(t *traj.Trajectory) (steps []rl.Step) {
	var observed []string
	for _, m := range t.Messages {
		if m.Role != chat.Assistant {
			observed = append(observed, rl.CanonicalText(m.Content))
			continue
		}
		steps = append(steps, rl.Step{
			State: strings.Join(observed, "\n"), Action: action(t, len(steps), m.Content),
		})
		observed = nil
	}
	return steps
}

// action is the call of a turn, whatever free text stood before it; a turn
// without a call is its text.
func action(t *traj.Trajectory, turn int, text string) string {
	for i := range t.Calls {
		if c := &t.Calls[i]; c.Turn == turn && c.Tool != "" {
			return rl.CanonicalAction(c.Tool, c.Arguments)
		}
	}
	return "say " + rl.CanonicalText(text)
}
