package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"agentmill/internal/agent"
	"agentmill/internal/dataset"
	"agentmill/internal/journal"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// openJournal continues the run's journal; nil where there is none to keep.
func openJournal(cfg *Config, g *agent.Game, qs []question.Question) (*journal.Journal, error) {
	path := cfg.Journal
	if path == "" && cfg.Out != "" && cfg.Out != "-" {
		path = cfg.Out + ".journal"
	}
	if path == "" {
		return nil, nil
	}
	mark, err := fingerprint(cfg, g, qs)
	if err != nil {
		return nil, err
	}
	return journal.Open(path, mark)
}

// fingerprint is a hash of all that decides what the rows say. How many at a
// time, and where to, is not part of it.
func fingerprint(cfg *Config, g *agent.Game, qs []question.Question) (string, error) {
	h := sha256.New()
	err := json.NewEncoder(h).Encode(struct {
		World    string
		Policy   traj.Policy
		Sampling traj.Sampling
		Env      string
		Options  traj.EnvOptions
		Seed     uint64
		Attempts int
		Fixed    bool
	}{cfg.World, g.Policy.Info(), g.Sampling, g.Env.Name(), g.Env.Options(), g.Seed, cfg.Attempts, g.Clock.Fixed()})
	if err != nil {
		return "", fmt.Errorf("fingerprint of the run: %w", err)
	}
	for i := range qs {
		raw, err := dataset.Marshal(&qs[i])
		if err != nil {
			return "", fmt.Errorf("question %s: %w", qs[i].ID, err)
		}
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
