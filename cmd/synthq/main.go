// Command synthq makes questions with answers and source mails.
package main

import (
	"context"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/cli"
	"agentmill/internal/mailstore"
	"agentmill/internal/seed"
	"agentmill/internal/synthq"
)

func main() { cli.Main(command()) }

const description = `Reads emails, as ingest writes them, and writes questions that the owner of the mailbox might
ask. With an index whole mailboxes are searched for mails that answer otherwise.

examples, after make demo:
  bin/synthq runs/demo/emails.parquet --index runs/demo/inbox.db --out runs/candidates.jsonl
  bin/ingest runs/demo/mail.tar.gz | bin/synthq --limit 20
  bin/synthq runs/demo/emails.parquet --kinds date --kinds amount --per-inbox 100 --seed 7 | bin/filterq > runs/kept.jsonl`

// options are the flags as they are typed.
type options struct {
	in, kinds               ufcli.StringSlice
	generator, index, shard string
}

func command() *cli.Command {
	var cfg synthq.Config
	var o options
	return &cli.Command{
		Name:        "synthq",
		Usage:       "make questions with answers and source mails",
		ArgsUsage:   "[FILE ...]",
		Description: description,
		Flags: []ufcli.Flag{
			&ufcli.StringSliceFlag{Name: "in", Usage: "read emails from `FILE` (repeatable; - is standard input)", Destination: &o.in},
			&ufcli.StringFlag{Name: "out", Usage: "write questions to `FILE` (.jsonl, .jsonl.gz, .jsonl.zst, .parquet)", Destination: &cfg.Out},
			&ufcli.StringFlag{Name: "generator", Value: "extractive", Usage: "`NAME` of who makes the questions: extractive (no model)", Destination: &o.generator},
			&ufcli.StringFlag{Name: "index", Usage: "check against the whole mailboxes of the database `FILE`", Destination: &o.index},
			&ufcli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed `N` of all choices", Destination: &cfg.Seed},
			&ufcli.Float64Flag{Name: "unanswerable", Value: 0.12, Usage: "`SHARE` of questions whose answer is in no mail", Destination: &cfg.Unanswerable},
			&ufcli.IntFlag{Name: "per-inbox", Usage: "make at most `N` questions of a mailbox (0: no limit)", Destination: &cfg.PerInbox},
			&ufcli.IntFlag{Name: "per-mail", Value: 2, Usage: "make at most `N` questions of a mail", Destination: &cfg.PerMail},
			&ufcli.IntFlag{Name: "limit", Usage: "write at most `N` questions (0: no limit)", Destination: &cfg.Limit},
			&ufcli.StringSliceFlag{Name: "kinds", Usage: "ask only for facts of this `KIND` (repeatable): date, amount, person … (docs/format/question.md has all)", Destination: &o.kinds},
			&ufcli.StringFlag{Name: "shard", Usage: "only part `I/N` of the mailboxes", Destination: &o.shard},
			&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &cfg.In.MaxErrors, Action: cli.NotNegative("max-errors")},
			&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &cfg.In.Rejects},
		},
		Run: func(ctx context.Context, env *cli.Env) error {
			if err := o.resolve(&cfg, env); err != nil {
				return err
			}
			if o.index != "" {
				store, err := mailstore.Open(o.index)
				if err != nil {
					return err
				}
				defer func() { _ = store.Close() }()
				cfg.Index = store
			}
			st, err := synthq.Run(ctx, cfg)
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

// resolve turns the flags into the stage's settings.
func (o *options) resolve(cfg *synthq.Config, env *cli.Env) (err error) {
	if o.generator != "extractive" {
		return cli.Usagef("--generator %q: want extractive", o.generator)
	}
	if cfg.Shard, err = seed.ParseShard(o.shard); err != nil {
		return cli.Usagef("--shard: %w", err)
	}
	cfg.Kinds = o.kinds.Value()
	if err := cfg.Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	cfg.In.Paths, cfg.In.Stdin, cfg.Stdout = append(o.in.Value(), env.Args...), env.Stdin, env.Stdout
	cfg.In.Report = func(err error) { env.Log.Warn(err.Error()) }
	cfg.Progress = env.Progress
	return cli.Apart(append([]string{o.index}, cfg.In.Paths...), cli.Output{Flag: "out", Path: cfg.Out}, cli.Output{Flag: "rejects", Path: cfg.In.Rejects})
}
