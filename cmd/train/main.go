// Train makes the next policy from scored rows: by imitation of good attempts, by
// policy gradients or by a teacher's opinion.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/catalog"
	"agentmill/internal/checkpoint"
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
the same question, and pushed up or down as it did better or worse (REINFORCE, no clipping, unless
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

func ioFlags(c *train.Config, o *options) []ufcli.Flag {
	return []ufcli.Flag{
		&ufcli.StringSliceFlag{Name: "in", Usage: "read rows from `FILE` (as an argument; repeatable)", Destination: &o.in},
		&ufcli.StringFlag{Name: "policy", Usage: "`FOLDER` of the parent", Destination: &c.Policy},
		&ufcli.StringFlag{Name: "base", Usage: "`FOLDER` that replaces the base of an adapter", Destination: &c.Base},
		&ufcli.StringFlag{Name: "out", Usage: "`FOLDER` of the child", Destination: &c.Out},
		&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &c.Source.MaxErrors, Action: cli.NotNegative("max-errors")},
		&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &c.Source.Rejects},
		&ufcli.StringFlag{Name: "device", Value: "cpu", Usage: "`NAME` of the device that computes", Destination: &o.device},
		&ufcli.IntFlag{Name: "threads", Usage: "use `N` threads (0: one a processor)", Destination: &o.threads},
		&ufcli.DurationFlag{Name: "save-every", Value: 5 * time.Minute, Usage: "keep the state of an unfinished run every `TIME`", Destination: &c.SaveEvery},
		&ufcli.IntFlag{Name: "save-steps", Usage: "keep it every `N` steps too (0: by time alone)", Destination: &c.SaveSteps},
		&ufcli.BoolFlag{Name: "dry-run", Usage: "train nothing: print rewards, every kind of advantage, tokens, time and memory (no --out)", Destination: &o.dryRun},
		&ufcli.BoolFlag{Name: "check", Usage: "train nothing: compare rows with tokenizer and template, and the engine's numbers with the trainer's; status 1 where they drift (no --out)", Destination: &o.check},
		&ufcli.Float64Flag{Name: "max-drift", Value: 0.05, Usage: "check: engine and trainer may differ by `X` in the mean", Destination: &o.drift, Action: cli.Positive("max-drift")},
		&ufcli.IntFlag{Name: "keep-checkpoints", Usage: "keep the last `N` policies of a run in OUT.steps, one each --save-steps", Destination: &c.KeepCheckpoints},
		&ufcli.StringFlag{Name: "keep-best", Usage: "keep the best of them too, by the mean of `METRIC` since the one before: " + strings.Join(train.BestMetrics(), ", "), Destination: &c.KeepBest},
		&ufcli.StringFlag{Name: "tensorboard", Usage: "write an event file into `DIR` too, one a run of train, for tensorboard --logdir", Destination: &c.TensorBoard},
		&ufcli.StringFlag{Name: "export", Usage: "train nothing: write --policy to --out as `WHAT`: merged (no adapter, bf16) or gguf (a folder with model.gguf), and compare both", Destination: &o.export},
		&ufcli.StringFlag{Name: "rate", Usage: "only print the tokens a second at which the policy in `FOLDER` was trained", Destination: &o.rate},
	}
}

// gcPercent is low because the heap is a few buffers of gigabytes: to let
// garbage grow to their size would double the memory, and collecting is cheap.
const gcPercent = 15

func run(ctx context.Context, env *cli.Env, cfg train.Config, o options) error {
	if o.dryRun && o.check {
		return cli.Usagef("--dry-run and --check: want one of them")
	}
	cfg.Look = o.dryRun || o.check
	if o.export != "" && (cfg.Look || !slices.Contains(train.Exports(), o.export)) {
		return cli.Usagef("--export %q: want one of %v, without --dry-run and --check", o.export, train.Exports())
	}
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
	switch {
	case o.export != "":
		return export(ctx, env, cfg, o.export)
	case o.dryRun:
		_, err := train.DryRun(ctx, cfg, env.Stdout)
		return err
	case o.check:
		_, err := train.CheckRows(ctx, cfg, o.drift, env.Stdout)
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

func export(ctx context.Context, env *cli.Env, cfg train.Config, what string) error {
	if len(cfg.Source.Paths) > 0 {
		return cli.Usagef("--export: takes no rows, got %v", cfg.Source.Paths)
	}
	e, err := train.Export(ctx, cfg, what)
	if err != nil {
		return err
	}
	env.Notef("wrote %s, %.12s; log-probabilities of random tokens differ from the policy's by %.3g in the mean, %.3g at most", train.ExportPath(cfg.Out, what), e.Hash, e.Mean, e.Max)
	return nil
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

// printRate is for pipelines that fit the work to the machine.
func printRate(env *cli.Env, dir string) error {
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	_, err = fmt.Fprintf(env.Stdout, "%.0f\n", p.Manifest.Metrics[train.RateMetric])
	return err
}
