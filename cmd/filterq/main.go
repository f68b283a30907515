// Command filterq keeps good questions and gives each its split.
package main

import (
	"context"
	"errors"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/filterq"
	"agentmill/internal/journal"
	"agentmill/internal/mailstore"
)

func main() { cli.Main(command()) }

const description = `Reads questions, checks them against the mailboxes of the index, and writes those that can be
answered in one way, with the verdict of every check and a split by mailbox. With a model
(--base-url, --model) questions that it answers without any mail are dropped too.

examples, after make demo:
  bin/filterq runs/demo/candidates.jsonl.zst --index runs/demo/inbox.db --out runs/kept.jsonl
  bin/synthq runs/demo/emails.parquet | bin/filterq --index runs/demo/inbox.db --keep-drops runs/drops.jsonl > runs/kept.jsonl
  bin/filterq runs/demo/questions.parquet --difficulty runs/demo/scored-01.jsonl.zst --max-pass .9 --order weighted > runs/next.jsonl
  bin/filterq runs/demo/candidates.jsonl.zst --index runs/demo/inbox.db \
    --explain "$(zstdcat runs/demo/candidates.jsonl.zst | head -1 | jq -r .id)" > /dev/null`

func command() *cli.Command {
	cfg := filterq.Config{}
	var in ufcli.StringSlice
	var index string
	var model catalog.LLM
	var scored ufcli.StringSlice
	return &cli.Command{
		Name:        "filterq",
		Usage:       "keep the questions that a mailbox can answer in one way, and split them",
		ArgsUsage:   "[FILE ...]",
		Description: description,
		Flags: append([]ufcli.Flag{
			&ufcli.StringSliceFlag{Name: "in", Usage: "read questions from `FILE` (repeatable; - is standard input)", Destination: &in},
			&ufcli.StringFlag{Name: "out", Usage: "write questions to `FILE` (.jsonl, .jsonl.gz, .jsonl.zst, .parquet)", Destination: &cfg.Out},
			&ufcli.StringFlag{Name: "keep-drops", Usage: "write dropped questions, with their checks, to `FILE`", Destination: &cfg.Drops},
			&ufcli.StringFlag{Name: "index", Usage: "check against the mails of the database `FILE`; without it such checks are skipped", Destination: &index},
			&ufcli.StringFlag{Name: "splits", Usage: "`FILE` with the split of each mailbox: read if it is there, written with what is new", Destination: &cfg.Splits},
			&ufcli.Float64Flag{Name: "test", Value: 0.25, Usage: "`SHARE` of the mailboxes for test", Destination: &cfg.Shares.Test},
			&ufcli.Float64Flag{Name: "val", Value: 0.125, Usage: "`SHARE` of the mailboxes for val", Destination: &cfg.Shares.Val},
			&ufcli.IntFlag{Name: "hits", Value: 5, Usage: "a source mail counts as reached within `N` hits", Destination: &cfg.Hits},
			&ufcli.IntFlag{Name: "max-rank", Usage: "drop a question whose source mail is not within `N` hits (0: keep)", Destination: &cfg.MaxRank},
			&ufcli.Float64Flag{Name: "min-realistic", Usage: "drop questions whose how_realistic is below `X`", Destination: &cfg.Realism},
			&ufcli.StringSliceFlag{Name: "difficulty", Usage: "choose training questions by the scored attempts in `FILE` (repeatable, the latest last)", Destination: &scored},
			&ufcli.IntFlag{Name: "recent", Value: 16, Usage: "difficulty: the last `N` attempts at a question count", Destination: &cfg.Difficulty.Recent},
			&ufcli.Float64Flag{Name: "min-pass", Usage: "difficulty: drop training questions that are right less often than `SHARE`", Destination: &cfg.Difficulty.Low},
			&ufcli.Float64Flag{Name: "max-pass", Value: 1, Usage: "difficulty: drop training questions that are right more often than `SHARE`", Destination: &cfg.Difficulty.High},
			&ufcli.StringFlag{Name: "order", Value: filterq.InputOrder, Usage: "difficulty: training questions come first, in `ORDER`: input, hard-first, or weighted (drawn by p(1-p))", Destination: &cfg.Difficulty.Order},
			&ufcli.Float64Flag{Name: "floor", Value: 0.02, Usage: "weighted: no question weighs less than `W`, so that solved and hopeless ones are tried again", Destination: &cfg.Difficulty.Floor},
			&ufcli.Uint64Flag{Name: "order-seed", Value: 1, Usage: "weighted: seed `N` of the draw", Destination: &cfg.Difficulty.Seed},
			&ufcli.StringFlag{Name: "explain", Usage: "tell the checks of the question `ID` on standard error", Destination: &cfg.Explain},
			&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &cfg.In.MaxErrors, Action: cli.NotNegative("max-errors")},
			&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &cfg.In.Rejects},
			&ufcli.StringFlag{Name: "journal", Usage: "keep the model's answers in `FILE` until the output is written (default: beside --out)", Destination: &cfg.Journal},
		}, model.Flags()...),
		Run: func(ctx context.Context, env *cli.Env) error {
			cfg.Difficulty.Scored = scored.Value()
			if err := cfg.Check(); err != nil {
				return cli.Usagef("%w", err)
			}
			cfg.In.Paths = append(in.Value(), env.Args...)
			if err := apart(&cfg, index); err != nil {
				return err
			}
			if index != "" {
				store, err := mailstore.Open(index)
				if err != nil {
					return err
				}
				defer func() { _ = store.Close() }()
				cfg.Index = store
			}
			cfg.In.Stdin, cfg.Stdout = env.Stdin, env.Stdout
			cfg.In.Report = func(err error) { env.Log.Warn(err.Error()) }
			cfg.Progress, cfg.Tell = env.Progress, env.Notef
			var remote *catalog.Remote
			if model.Wanted() {
				model.Out = cfg.Out
				var err error
				if remote, err = model.Open(env); err != nil {
					return err
				}
				cfg.Model, cfg.Concurrency, cfg.MaxFailed, cfg.Tick = remote, model.Concurrency, model.MaxFailed, remote.Tick(env)
				if cfg.Journal == "" {
					cfg.Journal = journal.Beside(cfg.Out)
				}
			}
			return model.Exit(run(ctx, env, cfg, remote))
		},
	}
}

// apart refuses to overwrite what is read.
func apart(cfg *filterq.Config, index string) error {
	return cli.Apart(append([]string{index}, cfg.In.Paths...), cli.Output{Flag: "out", Path: cfg.Out}, cli.Output{Flag: "keep-drops", Path: cfg.Drops},
		cli.Output{Flag: "splits", Path: cfg.Splits}, cli.Output{Flag: "rejects", Path: cfg.In.Rejects})
}

func run(ctx context.Context, env *cli.Env, cfg filterq.Config, remote *catalog.Remote) error {
	st, err := filterq.Run(ctx, cfg)
	if err = remote.Close(env, err); errors.Is(err, filterq.ErrNoSignal) {
		return cli.Stoppedf("%w", err)
	}
	if err != nil {
		return err
	}
	if len(st.Dropped) > 0 {
		env.Notef("%s", st.Table())
	}
	env.Notef("%s", st)
	switch {
	case st.Bad > 0:
		return cli.Partialf("%d bad records left out", st.Bad)
	case st.Unmet > 0:
		return cli.Partialf("%d questions that the model did not answer", st.Unmet)
	}
	return nil
}
