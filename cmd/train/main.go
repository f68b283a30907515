// Train makes the next policy from scored rows: by imitation of good attempts or
// by policy gradients.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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
  bin/judge runs/demo/rollouts-01.jsonl.zst | bin/train --policy runs/demo/policy-00 --lora-rank 16 --out runs/adapter

--method grpo needs rows that the parent itself sampled: each attempt is compared with the others at
the same question, and pushed up or down as it did better or worse (REINFORCE, no clipping). Without
any difference of rewards within a group the child has the parent's weights and says "updated":
false (status 5 under --require-signal).`

// options are the flags that are no part of the stage's Config.
type options struct {
	device  string
	threads int
	rate    string
	in      ufcli.StringSlice
}

func command() *cli.Command {
	cfg := train.Config{Optimizer: optim.Default(), NewModel: catalog.NewModel}
	var o options
	return &cli.Command{
		Name: "train", Usage: "make the next policy from scored rows", ArgsUsage: "[SCORED ...]", Description: description,
		Flags: append(flags(&cfg), ioFlags(&cfg, &o)...),
		Run: func(ctx context.Context, env *cli.Env) error {
			if o.rate != "" {
				return printRate(env, o.rate)
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
		&ufcli.StringFlag{Name: "rate", Usage: "only print the tokens a second at which the policy in `FOLDER` was trained", Destination: &o.rate},
	}
}

func flags(c *train.Config) []ufcli.Flag {
	return []ufcli.Flag{
		&ufcli.StringFlag{Name: "method", Value: "grpo", Usage: "`NAME` of the method: grpo or sft", Destination: &c.Method},
		&ufcli.StringFlag{Name: "advantage", Value: "rloo", Usage: "grpo: how a group's rewards become advantages, by `NAME`: rloo, grpo, grpo-sample, drgrpo or maxrl", Destination: &c.Advantage},
		&ufcli.StringFlag{Name: "filter", Usage: "sft: train on the rows for which `CONDITION` holds, such as 'correct && turns <= 4', or on all", DefaultText: "correct", Destination: &c.Filter},
		&ufcli.StringFlag{Name: "cut", Value: "mask", Usage: "`WHAT` to do with rows that ran into a token limit: mask or train", Destination: &c.Cut},
		&ufcli.Float64Flag{Name: "lr", Usage: "learning `RATE`", DefaultText: "sft 2e-4; grpo 2e-5, with adapters 2e-4", Destination: &c.LR, Action: cli.Positive("lr")},
		&ufcli.StringFlag{Name: "schedule", Usage: "`NAME` of the schedule: constant, or linear (decay to a tenth)", DefaultText: "sft linear, grpo constant", Destination: &c.Schedule},
		&ufcli.IntFlag{Name: "warmup", Value: -1, Usage: "let the rate rise over `N` steps", DefaultText: "sft 5, grpo 0", Destination: &c.Warmup},
		&ufcli.IntFlag{Name: "epochs", Value: 1, Usage: "make `N` passes over the rows", Destination: &c.Epochs},
		&ufcli.IntFlag{Name: "batch", Usage: "make one update of `N` rows", DefaultText: "sft 8, grpo all", Destination: &c.Batch},
		&ufcli.IntFlag{Name: "tokens-per-batch", Value: 2048, Usage: "compute at most `N` tokens at once", Destination: &c.TokensPerBatch},
		&ufcli.IntFlag{Name: "max-steps", Usage: "stop after `N` updates (0: no limit)", Destination: &c.MaxSteps},
		&ufcli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed `N` of order and new adapters", Destination: &c.Seed},
		&ufcli.Float64Flag{Name: "weight-decay", Usage: "decay the matrices' weights by `RATE`", Destination: &c.Optimizer.WeightDecay},
		&ufcli.Float64Flag{Name: "clip-norm", Value: 1, Usage: "clip the gradient to norm `X` (0: not)", Destination: &c.Optimizer.ClipNorm},
		&ufcli.IntFlag{Name: "lora-rank", Usage: "train adapters of rank `R` (0: all weights)", Destination: &c.LoRARank},
		&ufcli.Float64Flag{Name: "lora-alpha", Usage: "scale adapters by `A`/R (0: A is twice the rank)", Destination: &c.LoRAAlpha},
		&ufcli.IntFlag{Name: "max-staleness", Usage: "accept rows of policies up to `K` steps older", Destination: &c.MaxStaleness},
		&ufcli.BoolFlag{Name: "require-signal", Usage: "write nothing and end with status 5 when there is nothing to learn", Destination: &c.RequireSignal},
	}
}

// gcPercent is low because the heap is a few buffers of gigabytes: to let
// garbage grow to their size would double the memory, and collecting is cheap.
const gcPercent = 15

func run(ctx context.Context, env *cli.Env, cfg train.Config, o options) error {
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
	cfg.Backend, cfg.Clock, cfg.Log = backend, env.Clock, env.Log
	cfg.Source.Paths, cfg.Source.Stdin = append(o.in.Value(), env.Args...), env.Stdin
	cfg.Source.Report = func(err error) { env.Log.Warn("bad record: " + err.Error()) }
	if err := cli.Apart(cfg.Source.Paths, cli.Output{Flag: "rejects", Path: cfg.Source.Rejects}); err != nil {
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
