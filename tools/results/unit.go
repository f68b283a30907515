package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agentmill/internal/atomicfile"
	"agentmill/internal/checkpoint"
	"agentmill/internal/cli"
	"agentmill/internal/eval"
)

// A unit is one comparison: what eval says of it, and what made it.
type unit struct {
	Name     string `json:"unit"`
	About    string `json:"about,omitempty"`
	Command  string `json:"command,omitempty"`
	Settings string `json:"settings,omitempty"`
	// Baselines are the policies that are there to be compared with.
	Baselines []string     `json:"baselines"`
	Model     *model       `json:"model,omitempty"`
	Made      []stage      `json:"made,omitempty"` // training of this unit's run, in order
	Result    *eval.Result `json:"result"`         // as eval --json
}

// A model is the policy that a run started from.
type model struct {
	Family     string `json:"family"`
	Parameters int64  `json:"parameters"`
	Hash       string `json:"hash"`
}

// A stage is consecutive training by one method.
type stage struct {
	Method  string            `json:"method"`
	Policy  string            `json:"policy"` // hash of the last one
	Runs    int               `json:"runs"`   // of train
	Updates int               `json:"updates"`
	Idle    int               `json:"idle,omitempty"` // runs that had nothing to learn
	Rows    int               `json:"rows"`
	Tokens  float64           `json:"tokens"` // computed
	Seconds float64           `json:"seconds"`
	Flags   map[string]string `json:"flags,omitempty"` // of the last run
}

// measure reads scored rows as eval does.
func measure(ctx context.Context, names, baselines []string) (*eval.Result, error) {
	cfg := eval.Config{Baselines: baselines}
	for _, s := range names {
		in, err := eval.ParseName(s)
		if err != nil {
			return nil, cli.Usagef("--name %w", err)
		}
		cfg.Inputs = append(cfg.Inputs, in)
	}
	if len(cfg.Inputs) == 0 {
		return nil, cli.Usagef("--name is missing: want NAME=FILE of scored rows")
	}
	return eval.Run(ctx, cfg)
}

func (u *unit) measure(ctx context.Context, names, baselines []string) (err error) {
	u.Baselines = append([]string{}, baselines...)
	u.Result, err = measure(ctx, names, baselines)
	return err
}

// describe adds what is known of the run's training and of the policy's size.
func (u *unit) describe(run, policy string) (err error) {
	u.Settings = noPlaces(u.Settings)
	if run != "" {
		if u.Made, err = training(run); err != nil {
			return err
		}
	}
	if policy != "" {
		u.Model, err = sizeOf(policy)
	}
	return err
}

// training joins the run's policies in order into stages; run may also be one
// policy's folder.
func training(run string) ([]stage, error) {
	folders, err := filepath.Glob(filepath.Join(run, "policy-[0-9]*"))
	if err != nil {
		return nil, err
	}
	if len(folders) == 0 {
		folders = []string{run}
	}
	slices.Sort(folders)
	var out []stage
	for _, dir := range folders {
		s, err := stageOf(dir)
		if err != nil {
			return nil, err
		}
		if n := len(out); s != nil && n > 0 && out[n-1].Method == s.Method {
			out[n-1].join(*s)
		} else if s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}

// stageOf reads one policy folder; nil if it is not finished.
func stageOf(dir string) (*stage, error) {
	data, err := os.ReadFile(filepath.Join(dir, checkpoint.ManifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var m checkpoint.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, checkpoint.ManifestFile), err)
	}
	s := &stage{Method: m.Method, Policy: m.Hash, Runs: 1, Flags: m.Flags}
	if !m.Updated {
		s.Idle = 1
	}
	for _, d := range m.Data {
		s.Rows += d.Rows
	}
	return s, s.addMetrics(filepath.Join(dir, "metrics.jsonl"))
}

// addMetrics adds up what the run's updates took.
func (s *stage) addMetrics(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var line struct{ Tokens, Seconds float64 }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		s.Updates++
		s.Tokens += line.Tokens
		s.Seconds += line.Seconds
	}
	return nil
}

func (s *stage) join(next stage) {
	s.Policy, s.Flags = next.Policy, next.Flags
	s.Runs += next.Runs
	s.Updates += next.Updates
	s.Idle += next.Idle
	s.Rows += next.Rows
	s.Tokens += next.Tokens
	s.Seconds += next.Seconds
}

// elsewhere matches the folders of a path that leads out of this one.
var elsewhere = regexp.MustCompile(`(^|[ "'=:])(?:\.\.|~)?/[^ "'=:]*/`)

// noPlaces leaves file names of such paths: what is kept says nothing of a
// machine.
func noPlaces(s string) string { return elsewhere.ReplaceAllString(s, "$1") }

// sizeOf opens a policy and counts its weights.
func sizeOf(dir string) (*model, error) {
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	m := &model{Family: p.Config.ModelType, Hash: p.Hash}
	for _, name := range p.Names() {
		shape, err := p.Shape(name)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		n := int64(1)
		for _, d := range shape {
			n *= int64(d)
		}
		m.Parameters += n
	}
	return m, p.Close()
}

func (u *unit) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(u); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.WriteFile(path, b.Bytes())
}

// readUnit reads what write wrote.
func readUnit(path string) (*unit, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var u unit
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if u.Result == nil || len(u.Result.Policies) == 0 {
		return nil, fmt.Errorf("read %s: result: want one with policies, as results unit writes it", path)
	}
	return &u, nil
}

// policy is the one called name; nil if there is none.
func (u *unit) policy(name string) *eval.Policy {
	i := slices.IndexFunc(u.Result.Policies, func(p *eval.Policy) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return u.Result.Policies[i]
}

// own are the policies that the unit is about: those that are no baseline.
func (u *unit) own() []*eval.Policy {
	return slices.DeleteFunc(slices.Clone(u.Result.Policies), func(p *eval.Policy) bool { return slices.Contains(u.Baselines, p.Name) })
}

func (u *unit) summary() string {
	var parts []string
	for _, p := range u.Result.Policies {
		parts = append(parts, fmt.Sprintf("%s %.1f %% right of %d", p.Name, 100*p.Accuracy.Value, p.Attempts))
	}
	return strings.Join(parts, ", ")
}
