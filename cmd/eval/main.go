// Command eval sets the scored attempts of several policies side by side.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/atomicfile"
	"agentmill/internal/cli"
	"agentmill/internal/eval"
)

func main() { cli.Main(command()) }

const description = `Reads scored rows of any number of policies and prints how they did, with intervals, and with paired
tests against --baseline. Policies are compared on the questions that all of them were asked.

examples, after make demo (eval without bin/ is the shell's own):
  bin/eval --run runs/demo --baseline prompted --report runs/report.html
  bin/eval --name before=runs/demo/scored-test-sft.jsonl.zst --name after=runs/demo/scored-test-grpo.jsonl.zst \
    --baseline before
  bin/eval runs/demo/scored-test-grpo.jsonl.zst --json | jq '.policies[].accuracy'`

// options are the flags as they are typed.
type options struct {
	in, names, baselines  ufcli.StringSlice
	table, json, markdown bool
	run, report, title    string
	need, gate            string
	rollouts              int
}

func command() *cli.Command {
	var cfg eval.Config
	var o options
	return &cli.Command{
		Name:        "eval",
		Usage:       "compare policies by their scored attempts",
		ArgsUsage:   "[FILE ...]",
		Description: description,
		Flags: []ufcli.Flag{
			&ufcli.StringSliceFlag{Name: "in", Usage: "read scored rows from `FILE` (repeatable; - is standard input)", Destination: &o.in},
			&ufcli.StringSliceFlag{Name: "name", Usage: "read `NAME=FILE`: all its rows are policy NAME's (repeatable)", Destination: &o.names},
			&ufcli.StringFlag{Name: "run", Usage: "read the scored-* files of the run in `FOLDER`", Destination: &o.run},
			&ufcli.StringSliceFlag{Name: "baseline", Usage: "test every policy against policy `NAME`, paired by question (repeatable)", Destination: &o.baselines},
			&ufcli.StringFlag{Name: "need", Usage: "say whether a baseline (without --baseline: any policy) meets `CONDITION`, such as 'accuracy.low >= 0.9', so that there is nothing to train", Destination: &o.need},
			&ufcli.StringFlag{Name: "gate", Usage: "exit with status 4 unless every policy that is no baseline meets `CONDITION`", Destination: &o.gate},
			&ufcli.BoolFlag{Name: "tools", Usage: "count what the tools said: calls, errors, empty results", Destination: &cfg.Tools},
			&ufcli.BoolFlag{Name: "table", Usage: "print a table (the default)", Destination: &o.table},
			&ufcli.BoolFlag{Name: "json", Usage: "print JSON", Destination: &o.json},
			&ufcli.BoolFlag{Name: "markdown", Usage: "print Markdown", Destination: &o.markdown},
			&ufcli.StringFlag{Name: "report", Usage: "write a report for a browser to `FILE`", Destination: &o.report},
			&ufcli.StringFlag{Name: "title", Value: "How the policies did", Usage: "`TITLE` of the report", Destination: &o.title},
			&ufcli.IntFlag{Name: "rollouts", Value: 200, Usage: "show the attempts at `N` questions in the report (-1: all)", Destination: &o.rollouts},
			&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &cfg.Source.MaxErrors, Action: cli.NotNegative("max-errors")},
			&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &cfg.Source.Rejects},
		},
		Run: func(ctx context.Context, env *cli.Env) error {
			if err := o.resolve(&cfg, env); err != nil {
				return err
			}
			res, err := eval.Run(ctx, cfg)
			if err != nil {
				return err
			}
			return o.write(res, env)
		},
	}
}

func (o *options) resolve(cfg *eval.Config, env *cli.Env) error {
	if o.table && (o.json || o.markdown) || o.json && o.markdown {
		return cli.Usagef("--table, --json and --markdown: want one of them")
	}
	if err := o.bars(cfg); err != nil {
		return err
	}
	for _, s := range o.names.Value() {
		in, err := eval.ParseName(s)
		if err != nil {
			return cli.Usagef("--name %w", err)
		}
		cfg.Inputs = append(cfg.Inputs, in)
	}
	for _, path := range append(o.in.Value(), env.Args...) {
		cfg.Inputs = append(cfg.Inputs, eval.Input{Path: path})
	}
	if o.run != "" {
		if err := cfg.FromRun(o.run); err != nil {
			return err
		}
	}
	cfg.Baselines, cfg.Source.Stdin = o.baselines.Value(), env.Stdin
	cfg.Source.Report = func(err error) { env.Log.Warn(err.Error()) }
	var paths []string
	for _, in := range slices.Concat(cfg.Inputs, cfg.Training) {
		paths = append(paths, in.Path)
	}
	return cli.Apart(paths, cli.Output{Flag: "report", Path: o.report}, cli.Output{Flag: "rejects", Path: cfg.Source.Rejects})
}

// bars reads the conditions on policies.
func (o *options) bars(cfg *eval.Config) (err error) {
	if o.need != "" {
		if cfg.Need, err = eval.ParseNeed(o.need); err != nil {
			return cli.Usagef("--need %w", err)
		}
	}
	if o.gate != "" {
		if cfg.Gate, err = eval.ParseNeed(o.gate); err != nil {
			return cli.Usagef("--gate %w", err)
		}
	}
	return nil
}

// write prints the result and makes the report.
func (o *options) write(res *eval.Result, env *cli.Env) error {
	show := res.Table
	if o.json {
		show = res.JSON
	} else if o.markdown {
		show = res.Markdown
	}
	// The report comes first: it is to be there even where the table goes to a
	// reader such as head, which closes early.
	if o.report != "" {
		if err := o.writeReport(res, env); err != nil {
			return err
		}
	}
	if err := show(env.Stdout); err != nil {
		return err
	}
	if o.report != "" {
		env.Notef("report in %s", o.report)
	}
	if len(res.GateMissed) > 0 {
		return cli.Gatef("gate: %s", strings.Join(res.GateMissed, "; "))
	}
	if res.Bad > 0 {
		return cli.Partialf("%d bad records left out", res.Bad)
	}
	return nil
}

func (o *options) writeReport(res *eval.Result, env *cli.Env) error {
	dress := eval.Page{Title: o.title, Rollouts: o.rollouts}
	if !env.Clock.Fixed() {
		dress.Date = env.Clock.Now().Format("2 January 2006, 15:04")
	}
	f, err := atomicfile.Create(o.report)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer f.Abort()
	if err := res.HTML(f, dress); err != nil {
		return err
	}
	return f.Commit()
}
