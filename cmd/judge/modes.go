package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/dataset"
	"agentmill/internal/judge"
	"agentmill/internal/llm"
	"agentmill/internal/match"
	"agentmill/internal/reward"
)

// openJudge makes the judge that the flags name.
func (o *options) openJudge(env *cli.Env) (judge.Judge, error) {
	rule, err := match.ParseRule(o.match)
	switch {
	case err != nil:
		return nil, cli.Usagef("--match: %w", err)
	case o.judge == "match" && o.llm.Wanted() && !o.relative && o.support != "llm":
		return nil, cli.Usagef("--base-url and --model belong to --judge llm, --relative or --support llm")
	case o.judge == "match":
		return judge.Match{Rule: rule}, nil
	case o.judge != "llm":
		return nil, cli.Usagef("--judge %q: want match or llm", o.judge)
	}
	prompt, err := judge.LoadPrompt(o.prompt, "question", "answers")
	if err != nil {
		return nil, cli.Usagef("--judge-prompt: %w", err)
	}
	remote, err := o.open(env)
	if err != nil {
		return nil, err
	}
	return &judge.Model{Client: remote, Prompt: prompt, Votes: o.votes}, nil
}

// openGroup makes the comparison of attempts, nil where it is not wanted.
func (o *options) openGroup(env *cli.Env) (*judge.Relative, error) {
	if !o.relative {
		return nil, nil
	}
	prompt, err := judge.LoadPrompt(o.groupPrompt, "question", "attempts")
	if err != nil {
		return nil, cli.Usagef("--relative-prompt: %w", err)
	}
	remote, err := o.open(env)
	if err != nil {
		return nil, err
	}
	return &judge.Relative{Client: remote, Prompt: prompt}, nil
}

// openSupport makes the check of claims by a model, nil where it is not wanted.
func (o *options) openSupport(env *cli.Env, set *reward.Set) (*judge.Grounding, error) {
	switch {
	case o.support == "match":
		return nil, nil
	case o.support != "llm":
		return nil, cli.Usagef("--support %q: want match or llm", o.support)
	case !set.Weighs("supported"):
		return nil, cli.Usagef("--support llm: the reward has no term supported; --reward grounded has")
	}
	prompt, err := judge.LoadPrompt(o.supportPrompt, "question", "answer", "mails")
	if err != nil {
		return nil, cli.Usagef("--support-prompt: %w", err)
	}
	remote, err := o.open(env)
	if err != nil {
		return nil, err
	}
	return &judge.Grounding{Client: remote, Prompt: prompt}, nil
}

// open opens the one client of all.
func (o *options) open(env *cli.Env) (*catalog.Remote, error) {
	if o.remote != nil {
		return o.remote, nil
	}
	if !o.llm.Wanted() {
		return nil, cli.Usagef("--judge llm, --relative and --support llm need --base-url and --model")
	}
	var err error
	o.remote, err = o.llm.Open(env)
	return o.remote, err
}

// concurrency is 1 for the judge that needs no waiting.
func (o *options) concurrency() int {
	if o.remote == nil {
		return 1
	}
	return o.llm.Concurrency
}

func (o *options) runCalibrate(ctx context.Context, env *cli.Env) error {
	if len(env.Args) > 0 || len(o.in.Value()) > 0 {
		return cli.Usagef("--calibrate reads its own file only")
	}
	j, err := o.openJudge(env)
	if err != nil {
		return err
	}
	labels, leftOut, err := judge.ReadLabels(o.calibrate)
	if err != nil {
		return err
	}
	var tick func(llm.Tally)
	if o.remote != nil {
		tick = o.remote.Tick(env)
	}
	c, err := judge.Calibrate(ctx, j, labels, judge.Times{Again: o.again, Concurrency: o.concurrency(), Tick: tick})
	if err = o.remote.Close(env, err); err != nil {
		return o.llm.Exit(err)
	}
	c.LeftOut = leftOut
	if !o.json {
		_, err = io.WriteString(env.Stdout, c.String())
		return err
	}
	return json.NewEncoder(env.Stdout).Encode(c)
}

func (o *options) runMonitor(ctx context.Context, env *cli.Env) error {
	alarms, steps, err := judge.Monitor(ctx, judge.MonitorConfig{
		In:     dataset.Source{Paths: append(o.in.Value(), env.Args...), Stdin: env.Stdin},
		Second: o.second.Value(), Validation: o.validation.Value(),
	})
	if err != nil {
		return err
	}
	data, err := judge.MarshalAlarms(alarms)
	if err != nil {
		return err
	}
	if !o.json {
		data = []byte(alarmText(alarms))
	}
	if _, err := env.Stdout.Write(data); err != nil {
		return err
	}
	if len(alarms) > 0 {
		return cli.Stoppedf("%d alarms in %d steps: %s", len(alarms), steps, alarmNames(alarms))
	}
	env.Notef("%d steps, 0 alarms", steps)
	return nil
}

func alarmText(alarms []judge.Alarm) string {
	var b strings.Builder
	for _, a := range alarms {
		fmt.Fprintf(&b, "%s: %s: %s (limit %.3g)\n", a.Step, a.Name, a.Text, a.Limit)
		for _, e := range a.Examples {
			fmt.Fprintf(&b, "  %s  %q -> %q\n", e.ID, e.Question, e.Answer)
		}
		for _, e := range a.Before {
			fmt.Fprintf(&b, "  before: %s  %q -> %q\n", e.ID, e.Question, e.Answer)
		}
	}
	return b.String()
}

func alarmNames(alarms []judge.Alarm) string {
	var names []string
	for _, a := range alarms {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

func extraNames() string {
	var names []string
	for _, e := range reward.Extras() {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

func listRewards(w io.Writer) error {
	var text strings.Builder
	for _, s := range reward.Builtins() {
		fmt.Fprintf(&text, "%s\t\t%s\n", s.Name, s.About)
		names, weights := s.Weights()
		for i, name := range names {
			fmt.Fprintf(&text, "  %s\t%g\t\n", name, weights[i])
		}
	}
	text.WriteString("\nextras, each switched off by --without\t\t\n")
	for _, e := range reward.Extras() {
		fmt.Fprintf(&text, "  %s\t\t%s: %s\n", e.Name, e.About, strings.Join(e.Terms, ", "))
	}
	text.WriteString("\nterms\t\t\n")
	for _, term := range reward.Catalogue() {
		fmt.Fprintf(&text, "  %s\t\t%s\n", term.Name, term.About)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(t, text.String()); err != nil {
		return err
	}
	return t.Flush()
}
