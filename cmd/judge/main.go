// Command judge gives trajectories a verdict and a reward.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"agentmill/internal/cli"
	"agentmill/internal/journal"
	"agentmill/internal/judge"
	"agentmill/internal/reward"
	"agentmill/internal/seed"
)

func main() { cli.Main(command()) }

const description = `Reads trajectories (or scored rows, to judge them anew) and writes scored rows in the same order.
--calibrate compares the judge with what people said; --monitor looks for signs of hacking in scored rows.

examples, after make demo:
  bin/judge runs/demo/rollouts-test-sft.jsonl.zst --out runs/scored.jsonl
  bin/judge runs/demo/rollouts-test-sft.jsonl.zst --reward binary --out runs/binary.parquet
  bin/rollout runs/demo/questions.parquet --index runs/demo/inbox.db --policy heuristic --limit 20 | bin/judge > runs/20.jsonl
  bin/judge --monitor runs/demo/scored-test-sft.jsonl.zst
  bin/judge rewards    # the rewards that are built in, and all terms

examples with a server:
  bin/judge rows.jsonl --judge llm --base-url http://localhost:8000/v1 --model NAME --votes 3 --cache replies
  bin/judge --calibrate labels.jsonl --judge llm --base-url http://localhost:8000/v1 --model NAME --again 3`

func command() *cli.Command {
	var cfg judge.Config
	var o options
	return &cli.Command{
		Name:        "judge",
		Usage:       "give each attempt a verdict and a reward",
		ArgsUsage:   "[FILE ...]",
		Description: description,
		Flags:       append(o.flags(&cfg), o.llm.Flags()...),
		Commands: []*cli.Command{{
			Name: "rewards", Usage: "list the rewards that are built in, and all terms",
			Run: func(_ context.Context, env *cli.Env) error { return listRewards(env.Stdout) },
		}},
		Run: func(ctx context.Context, env *cli.Env) error {
			switch {
			case o.calibrate != "" && o.monitor:
				return cli.Usagef("--calibrate and --monitor: want one of them")
			case o.calibrate != "":
				return o.runCalibrate(ctx, env)
			case o.monitor:
				return o.runMonitor(ctx, env)
			}
			if err := o.resolve(&cfg, env); err != nil {
				return err
			}
			st, err := judge.Run(ctx, cfg)
			if err = o.remote.Close(env, err); err != nil {
				return o.llm.Exit(err)
			}
			env.Notef("%s", st)
			switch {
			case st.Bad > 0:
				return cli.Partialf("%d bad records left out", st.Bad)
			case st.Unmet > 0:
				return cli.Partialf("%d questions to the model without an answer", st.Unmet)
			}
			return nil
		},
	}
}

// resolve turns names into what they name.
func (o *options) resolve(cfg *judge.Config, env *cli.Env) error {
	var err error
	o.llm.Out = cfg.Out
	if cfg.Judge, err = o.openJudge(env); err != nil {
		return err
	}
	if o.again != 1 || o.json || len(o.second.Value())+len(o.validation.Value()) > 0 {
		return cli.Usagef("--again, --json, --second and --validation belong to --calibrate or --monitor")
	}
	if cfg.Sources, err = judge.ParseSourceRule(o.sources); err != nil {
		return cli.Usagef("--sources: %w", err)
	}
	if cfg.Shard, err = seed.ParseShard(o.shard); err != nil {
		return cli.Usagef("--shard: %w", err)
	}
	if cfg.Reward, err = loadReward(o.reward); err != nil {
		return cli.Usagef("%w", err)
	}
	for _, name := range o.without.Value() {
		if cfg.Reward, err = cfg.Reward.Without(name); err != nil {
			return cli.Usagef("--without: %w", err)
		}
	}
	if cfg.Group, err = o.openGroup(env); err != nil {
		return err
	}
	if cfg.Support, err = o.openSupport(env, cfg.Reward); err != nil {
		return err
	}
	cfg.Concurrency, cfg.MaxFailed = o.concurrency(), o.llm.MaxFailed
	if o.remote != nil {
		cfg.Tick = o.remote.Tick(env)
	}
	cfg.In.Paths, cfg.In.Stdin, cfg.Stdout = append(o.in.Value(), env.Args...), env.Stdin, env.Stdout
	cfg.In.Report = func(err error) { env.Log.Warn(err.Error()) }
	cfg.Progress = env.Progress
	if cfg.Journal == "" {
		cfg.Journal = journal.Beside(cfg.Out)
	}
	return cli.Apart(append([]string{o.reward}, cfg.In.Paths...), cli.Output{Flag: "out", Path: cfg.Out},
		cli.Output{Flag: "journal", Path: cfg.Journal}, cli.Output{Flag: "rejects", Path: cfg.In.Rejects})
}

// loadReward takes a name without a dot or slash for one that is built in.
func loadReward(name string) (*reward.Set, error) {
	if !strings.ContainsAny(name, "./") {
		return reward.Builtin(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read reward: %w", err)
	}
	defer func() { _ = f.Close() }()
	return reward.Load(name, f)
}
