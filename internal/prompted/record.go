package prompted

import (
	"slices"

	"agentmill/internal/agent"
	"agentmill/internal/llm"
	"agentmill/internal/traj"
)

// A record puts the tokens of turns together. It gives up, and stays empty, at
// the first turn that has none, or whose prompt does not begin with the tokens
// so far: the server's template rewrote them.
type record struct {
	tokens agent.Trace
	broken bool
}

func (r *record) add(reply *llm.Reply, s traj.Sampling) {
	// Servers give log-probs of the untruncated distribution at temperature 1.
	plain := s.Temperature == 1 && (s.TopP == 0 || s.TopP == 1) && s.TopK == 0
	t := &r.tokens
	known := len(t.TokenIDs)
	if r.broken || !plain || len(reply.TokenIDs) == 0 || len(reply.TokenIDs) != len(reply.LogProbs) ||
		len(reply.PromptTokenIDs) < max(known, 1) || !slices.Equal(reply.PromptTokenIDs[:known], t.TokenIDs) {
		*r = record{broken: true}
		return
	}
	shown := reply.PromptTokenIDs[known:]
	t.TokenIDs = append(append(t.TokenIDs, shown...), reply.TokenIDs...)
	t.Trained = append(t.Trained, make([]bool, len(shown))...)
	t.LogProbs = append(append(t.LogProbs, make([]float32, len(shown))...), reply.LogProbs...)
	t.Trained = append(t.Trained, slices.Repeat([]bool{true}, len(reply.TokenIDs))...)
}

func (r *record) trace() agent.Trace { return r.tokens }
