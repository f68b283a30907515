// Train makes the next policy from scored rows: by imitation of good attempts, by
// policy gradients or by a teacher's opinion.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/optim"
	"agentmill/internal/train"
)

func main() { cli.Main(command()) }

const description = `The rows are those that judge wrote. The finished folder appears whole; a run that was stopped goes
on with the same command, from OUT.partial.

examples, after make demo:
  bin/train runs/demo/scored-expert.jsonl.zst --policy models/smollm2 --method sft --out runs/sft
  bin/train runs/demo/scored-01.jsonl.zst --policy runs/demo/policy-00 --method grpo --out runs/grpo
  bin/train runs/demo/scored-01.jsonl.zst --policy runs/demo/policy-00 --method distill --teacher runs/demo/policy-08 --out runs/taught
  bin/train runs/demo/scored-01.jsonl.zst --policy runs/demo/policy-00 --dry-run
  bin/train runs/demo/scored-01.jsonl.zst --policy runs/demo/policy-00 --check
  bin/train --policy runs/adapter --export gguf --out runs/gguf
  bin/judge runs/demo/rollouts-01.jsonl.zst | bin/train --policy runs/demo/policy-00 --lora-rank 16 --out runs/adapter

--method grpo needs rows that the parent itself sampled: each attempt is compared with the others at
the same question, and pushed up or down as it did better or worse (REINFORCE without clipping, each token
weighed by how much likelier it is to the trainer than to the engine that played, at most 2, unless
told otherwise; docs/training.md has every option with its formula). --method distill asks a teacher,
not rewards, how good the parent's own words were. Without
any difference of rewards within a group the child has the parent's weights and says "updated":
false (status 5 under --require-signal).`

// options are the flags that are no part of the stage's Config.
type options struct {
	device  string
	threads int
	rate    string
	dryRun  bool
	check   bool
	drift   float64
	export  string
	alarms  string
	in      ufcli.StringSlice
	terms   ufcli.StringSlice
	targets ufcli.StringSlice
	votes   string
}

func command() *cli.Command {
	cfg := train.Config{Optimizer: optim.Default(), NewModel: catalog.NewModel, RL: train.DefaultRL()}
	var o options
	return &cli.Command{
		Name: "train", Usage: "make the next policy from scored rows", ArgsUsage: "[SCORED ...]", Description: description,
		Flags:    slices.Concat(flags(&cfg, &o), rlFlags(&cfg.RL, &o), ioFlags(&cfg, &o)),
		Commands: []*cli.Command{watchCommand()},
		Run: func(ctx context.Context, env *cli.Env) error {
			if o.rate != "" {
				return printRate(env, o.rate)
			}
			if err := o.apply(&cfg); err != nil {
				return err
			}
			return run(ctx, env, cfg, o)
		},
	}
}

// gcPercent is low because the heap is a few buffers of gigabytes: to let
// garbage grow to their size would double the memory, and collecting is cheap.
const gcPercent = 15

func run(ctx context.Context, env *cli.Env, cfg train.Config, o options) error {
	if err := o.checkModes(); err != nil {
		return err
	}
	cfg.Look = o.dryRun || o.check
	if err := cfg.Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	if o.threads < 0 || o.threads > catalog.MaxThreads {
		return cli.Usagef("--threads %d: want 0 to %d", o.threads, catalog.MaxThreads)
	}
	backend, err := catalog.Device(o.device, o.threads)
	if err != nil {
		return cli.Usagef("--device: %w", err)
	}
	defer func() { _ = backend.Close() }()
	debug.SetGCPercent(gcPercent)
	cfg.Backend, cfg.Clock, cfg.Log, cfg.Version = backend, env.Clock, env.Log, cli.Version()
	cfg.Source.Paths, cfg.Source.Stdin = append(o.in.Value(), env.Args...), env.Stdin
	cfg.Source.Report = func(err error) { env.Log.Warn("bad record: " + err.Error()) }
	if err := cli.Apart(cfg.Source.Paths, cli.Output{Flag: "rejects", Path: cfg.Source.Rejects}); err != nil {
		return err
	}
	if o.looks() {
		return look(ctx, env, cfg, o)
	}
	if err := o.stopOnAlarm(); err != nil {
		return err
	}
	st, err := train.Run(ctx, cfg)
	if errors.Is(err, train.ErrNoSignal) {
		return cli.Stoppedf("%w", err)
	}
	if err != nil {
		return err
	}
	env.Notef("%s", summary(cfg, st))
	if st.Bad > 0 {
		return cli.Partialf("%d of %d records were bad", st.Bad, st.Bad+st.Read)
	}
	return nil
}

// stopOnAlarm ends a run whose rows a monitor has rung over, before anything is done.
func (o *options) stopOnAlarm() error {
	if o.alarms == "" {
		return nil
	}
	alarms, err := train.ReadAlarms(o.alarms)
	switch {
	case err != nil:
		return fmt.Errorf("--stop-on-alarm: %w", err)
	case len(alarms) == 0:
		return nil
	}
	more := ""
	if n := len(alarms) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	first := alarms[0]
	return cli.Stoppedf("%s in %s: %s%s; nothing was trained, see %s", first.Name, first.Step, first.Text, more, o.alarms)
}

func summary(cfg train.Config, st train.Stats) string {
	head := fmt.Sprintf("read %d rows, trained on %d (%d failed, %d cut, %d filtered, %d without a verdict or reward)",
		st.Read, st.Rows, st.Failed, st.Cut, st.Filtered, st.Unjudged+st.Credit.NoReward)
	if st.Unseen > 0 {
		head += fmt.Sprintf("; %d read a mail that no search had shown", st.Unseen)
	}
	if cfg.Method == "grpo" {
		head += fmt.Sprintf("; groups: %d with a signal, %d with equal rewards, %d of one attempt", st.Credit.Groups, st.Credit.Flat, st.Credit.Singletons)
	}
	if !st.Updated {
		return head + "; no signal: the child has the parent's weights"
	}
	steps := fmt.Sprintf("%d steps, loss %.4f to %.4f", st.Updates, st.First, st.Last)
	if st.Updates == 1 {
		steps = fmt.Sprintf("1 step, loss %.4f", st.First)
	}
	if st.Best != "" {
		steps += fmt.Sprintf("; best by %s: %s", cfg.KeepBest, st.Best)
	}
	return head + fmt.Sprintf("; %s, %.0f tokens/s; %s is %.12s", steps, st.Rate, cfg.Out, st.Hash)
}
