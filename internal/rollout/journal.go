package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"agentmill/internal/agent"
	"agentmill/internal/dataset"
	"agentmill/internal/journal"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// JournalPath is where the run's journal is kept, "" without one.
func (c *Config) JournalPath() string {
	if c.Journal == "" {
		return journal.Beside(c.Out)
	}
	return c.Journal
}

// openJournal continues the run's journal; nil where there is none to keep.
func openJournal(cfg *Config, g *agent.Game, qs []question.Question) (*journal.Journal, error) {
	path := cfg.JournalPath()
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
	for _, path := range cfg.World {
		if err := addFile(h, path); err != nil {
			return "", fmt.Errorf("fingerprint of the run: %w", err)
		}
	}
	err := json.NewEncoder(h).Encode(struct {
		Policy   traj.Policy
		Sampling traj.Sampling
		Env      string
		Options  traj.EnvOptions
		Seed     uint64
		Attempts int
		Fixed    bool
		Mark     string `json:",omitempty"`
	}{g.Policy.Info(), g.Sampling, g.Env.Name(), g.Env.Options(), g.Seed, cfg.Attempts, g.Clock.Fixed(), cfg.Mark})
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

// addFile adds a file's content to a hash.
func addFile(h io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(h, f)
	return err
}
