// Command judge gives trajectories a verdict and a reward.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/cli"
	"agentmill/internal/journal"
	"agentmill/internal/judge"
	"agentmill/internal/match"
	"agentmill/internal/reward"
	"agentmill/internal/seed"
)

func main() { cli.Main(command()) }

const description = `Reads trajectories (or scored rows, to judge them anew) and writes scored rows in the same order.

examples, after make demo:
  bin/judge runs/demo/rollouts-test-sft.jsonl.zst --out runs/scored.jsonl
  bin/judge runs/demo/rollouts-test-sft.jsonl.zst --reward binary --out runs/binary.parquet
  bin/rollout runs/demo/questions.parquet --index runs/demo/inbox.db --policy heuristic --limit 20 | bin/judge > runs/20.jsonl
  bin/judge rewards    # the rewards that are built in, and all terms`

// options are the flags as they are typed.
type options struct {
	in                                   ufcli.StringSlice
	judge, match, sources, reward, shard string
}

func command() *cli.Command {
	var cfg judge.Config
	var o options
	return &cli.Command{
		Name:        "judge",
		Usage:       "give each attempt a verdict and a reward",
		ArgsUsage:   "[FILE ...]",
		Description: description,
		Flags: []ufcli.Flag{
			&ufcli.StringSliceFlag{Name: "in", Usage: "read trajectories from `FILE` (repeatable; - is standard input)", Destination: &o.in},
			&ufcli.StringFlag{Name: "out", Usage: "write scored rows to `FILE` (.jsonl, .jsonl.gz, .jsonl.zst, .parquet)", Destination: &cfg.Out},
			&ufcli.StringFlag{Name: "judge", Value: "match", Usage: "`NAME` of who judges: match (no model)", Destination: &o.judge},
			&ufcli.StringFlag{Name: "match", Value: string(match.Values), Usage: "`RULE` of the match judge: values, or containment (the plain rule of the first trials)", Destination: &o.match},
			&ufcli.StringFlag{Name: "reward", Value: reward.Default, Usage: "a reward that is built in, or a YAML `FILE`", Destination: &o.reward},
			&ufcli.StringFlag{Name: "sources", Value: string(judge.Covered), Usage: "`RULE` of right sources: covered (every gold mail and nothing else) or first (the first gold mail is cited)", Destination: &o.sources},
			&ufcli.StringFlag{Name: "shard", Usage: "only part `I/N` of the groups", Destination: &o.shard},
			&ufcli.StringFlag{Name: "journal", Usage: "keep what is judged in `FILE` until the output is whole (default: beside --out)", Destination: &cfg.Journal},
			&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &cfg.In.MaxErrors, Action: cli.NotNegative("max-errors")},
			&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &cfg.In.Rejects},
		},
		Run: func(ctx context.Context, env *cli.Env) error {
			if len(env.Args) == 1 && env.Args[0] == "rewards" {
				return listRewards(env.Stdout)
			}
			if err := o.resolve(&cfg, env); err != nil {
				return err
			}
			st, err := judge.Run(ctx, cfg)
			if err != nil {
				return err
			}
			env.Notef("%s", st)
			if st.Bad > 0 {
				return cli.Partialf("%d bad records left out", st.Bad)
			}
			return nil
		},
	}
}

// resolve turns names into what they name.
func (o *options) resolve(cfg *judge.Config, env *cli.Env) error {
	if o.judge != "match" {
		return cli.Usagef("--judge %q: want match", o.judge)
	}
	rule, err := match.ParseRule(o.match)
	if err != nil {
		return cli.Usagef("--match: %w", err)
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
	cfg.Judge = judge.Match{Rule: rule}
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

func listRewards(w io.Writer) error {
	var text strings.Builder
	for _, s := range reward.Builtins() {
		fmt.Fprintf(&text, "%s\t\t%s\n", s.Name, s.About)
		names, weights := s.Weights()
		for i, name := range names {
			fmt.Fprintf(&text, "  %s\t%g\t\n", name, weights[i])
		}
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
