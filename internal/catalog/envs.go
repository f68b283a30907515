package catalog

import (
	"errors"

	"agentmill/internal/env"
	"agentmill/internal/env/email"
	"agentmill/internal/mailstore"
	"agentmill/internal/traj"
)

// An EnvConfig says which world to open and under which rules.
type EnvConfig struct {
	Name    string // of the environment
	Index   string // inbox.db
	Options traj.EnvOptions
}

// envs maps --env to what opens it.
var envs = map[string]func(EnvConfig) (env.Env, error){
	email.Name: openEmail,
}

// DefaultOptions are the rules of the game where nobody says otherwise.
func DefaultOptions() traj.EnvOptions { return email.Defaults() }

// CheckOptions refuses rules that no environment can play by.
func CheckOptions(o traj.EnvOptions) error { return email.Check(o) }

// OpenEnv opens the environment called c.Name.
func OpenEnv(c EnvConfig) (env.Env, error) {
	open, ok := envs[c.Name]
	if !ok {
		return nil, &UnknownError{"environment", c.Name, oneOf(envs)}
	}
	return open(c)
}

func openEmail(c EnvConfig) (env.Env, error) {
	store, err := mailstore.Open(c.Index)
	if err != nil {
		return nil, err
	}
	e, err := email.New(store, c.Options)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return e, nil
}
