package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentmill/internal/agent"
	"agentmill/internal/chattemplate"
	"agentmill/internal/checkpoint"
	"agentmill/internal/env"
	"agentmill/internal/heuristic"
	"agentmill/internal/jsonl"
	"agentmill/internal/prompted"
	"agentmill/internal/scripted"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// A PolicyConfig says who plays: a policy without weights by its name, a model on
// a server where Remote has a client, else the folder Local.Dir.
type PolicyConfig struct {
	Name   string
	Env    env.Env
	Remote prompted.Config // Client is nil without a server
	Local  LocalConfig
}

// policies maps --policy to what makes a policy without weights.
var policies = map[string]func(env.Env) (agent.Policy, error){
	"expert":       func(e env.Env) (agent.Policy, error) { return agent.NewExpert(e) },
	"heuristic":    withFormat(func(f toolformat.Format) agent.Policy { return heuristic.New(f) }),
	"null-abstain": withFormat(scripted.Abstain),
	"null-empty":   withFormat(scripted.Empty),
	"null-paste":   withFormat(scripted.Paste),
	"null-repeat":  withFormat(scripted.Repeat),
}

// withFormat makes a policy that needs nothing but the format of its calls.
func withFormat(open func(toolformat.Format) agent.Policy) func(env.Env) (agent.Policy, error) {
	return func(e env.Env) (agent.Policy, error) {
		format, err := toolformat.ByName(e.Options().ToolFormat)
		if err != nil {
			return nil, err
		}
		return open(format), nil
	}
}

// replayPrefix marks a policy that is a file of recorded play.
const replayPrefix = "replay:"

// OpenPolicy makes the policy that c names.
func OpenPolicy(c PolicyConfig) (agent.Policy, error) {
	if c.Remote.Client != nil {
		c.Remote.Native = c.Env.Options().ToolFormat == toolformat.Native{}.Name()
		return prompted.New(c.Remote), nil
	}
	if c.Name == "" {
		return nil, fmt.Errorf("no policy is named: want %s, replay:FILE, or a policy folder", oneOf(policies))
	}
	if open, ok := policies[c.Name]; ok {
		return open(c.Env)
	}
	if file, ok := strings.CutPrefix(c.Name, replayPrefix); ok {
		return scripted.Open(file, c.Env)
	}
	return openFolder(c, oneOf(policies)+", replay:FILE, or a policy folder")
}

// Unweighted reports whether name is that of a policy without a model.
func Unweighted(name string) bool {
	_, named := policies[name]
	return named || strings.HasPrefix(name, replayPrefix)
}

// OpenText makes a policy that writes text, for use outside of any environment: a
// policy folder, or a model on a server.
func OpenText(c PolicyConfig) (agent.Policy, error) {
	if c.Remote.Client != nil {
		return prompted.New(c.Remote), nil
	}
	return openFolder(c, "a policy folder")
}

func openFolder(c PolicyConfig, want string) (agent.Policy, error) {
	c.Local.Dir = c.Name
	local, err := OpenLocal(c.Local)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, checkpoint.ErrNotPolicy) {
		return nil, fmt.Errorf("policy %q: want %s: %w", c.Name, want, err)
	}
	if err != nil {
		return nil, err
	}
	return local, nil
}

// Rules are the rules of the game that the policy folder name was trained under.
// Trained is false where it records none: then they are the defaults, with the
// tool format of the folder's chat template. Base is as in LocalConfig.
func Rules(name, base string) (rules traj.EnvOptions, trained bool, err error) {
	rules = DefaultOptions()
	if name == "" || Unweighted(name) {
		return rules, false, nil
	}
	path := filepath.Join(name, checkpoint.ManifestFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		rules.ToolFormat, err = familyFormat(name, base)
		return rules, false, err
	}
	if err != nil {
		return rules, false, fmt.Errorf("open policy: %w", err)
	}
	var m checkpoint.Manifest
	if err := jsonl.Unmarshal(data, &m); err != nil {
		return rules, false, fmt.Errorf("open policy: %s: %w", path, err)
	}
	if m.EnvOptions == nil {
		rules.ToolFormat, err = familyFormat(name, base)
		return rules, false, err
	}
	return *m.EnvOptions, true, nil
}

// familyFormat is the tool format in which a folder's chat template writes calls.
// A folder that is none is not told here: OpenPolicy says more.
func familyFormat(dir, base string) (string, error) {
	source, tokens, err := checkpoint.ReadTemplate(dir, base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && source == "" {
		return DefaultOptions().ToolFormat, nil
	}
	if err != nil {
		return "", fmt.Errorf("open policy %s: %w", dir, err)
	}
	t, err := chattemplate.Compile(source, tokens)
	if err != nil {
		return "", fmt.Errorf("open policy %s: %w", dir, err)
	}
	return toolformat.Family(t.ToolCall).Name(), nil
}
