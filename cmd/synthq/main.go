// Command synthq makes questions with answers and source mails.
package main

import (
	"context"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/journal"
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
  bin/synthq runs/demo/emails.parquet --kinds date --kinds amount --per-inbox 100 --seed 7 | bin/filterq > runs/kept.jsonl

with a model behind a server:
  bin/synthq runs/demo/emails.parquet --index runs/demo/inbox.db --generator llm \
    --base-url http://localhost:8000/v1 --model qwen3-32b --per-inbox 100 --out runs/written.jsonl`

// options are the flags as they are typed.
type options struct {
	in, kinds, forms, shapes         ufcli.StringSlice
	generator, index, shard, prompts string
	llm                              catalog.LLM
	remote                           *catalog.Remote // nil: no model is asked
	writer                           synthq.Writer
}

func command() *cli.Command {
	var cfg synthq.Config
	var o options
	return &cli.Command{
		Name:        "synthq",
		Usage:       "make questions with answers and source mails",
		ArgsUsage:   "[FILE ...]",
		Description: description,
		Flags: append([]ufcli.Flag{
			&ufcli.StringSliceFlag{Name: "in", Usage: "read emails from `FILE` (repeatable; - is standard input)", Destination: &o.in},
			&ufcli.StringFlag{Name: "out", Usage: "write questions to `FILE` (.jsonl, .jsonl.gz, .jsonl.zst, .parquet)", Destination: &cfg.Out},
			&ufcli.StringFlag{Name: "generator", Value: "extractive", Usage: "who makes the questions, by `NAME`: extractive (no model), llm (the model of --base-url)", Destination: &o.generator},
			&ufcli.StringFlag{Name: "index", Usage: "check against the whole mailboxes of the database `FILE`", Destination: &o.index},
			&ufcli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed `N` of all choices", Destination: &cfg.Seed},
			&ufcli.Float64Flag{Name: "unanswerable", Value: 0.1, Usage: "`SHARE` of questions whose answer is in no mail", Destination: &cfg.Unanswerable},
			&ufcli.IntFlag{Name: "per-inbox", Usage: "make at most `N` questions of a mailbox (0: no limit)", Destination: &cfg.PerInbox},
			&ufcli.IntFlag{Name: "per-mail", Value: 5, Usage: "make at most `N` questions of a mail", Destination: &cfg.PerMail},
			&ufcli.IntFlag{Name: "limit", Usage: "write at most `N` questions (0: no limit)", Destination: &cfg.Limit},
			&ufcli.StringSliceFlag{Name: "kinds", Usage: "ask only for facts of this `KIND` (repeatable): date, amount, person … (docs/format/question.md has all)", Destination: &o.kinds},
			&ufcli.StringSliceFlag{Name: "shapes", Usage: "extractive: read mails for this `SHAPE` (repeatable): statement (the default), notice (labelled lines about an event), signature (what stands below the sender's name)", Destination: &o.shapes},
			&ufcli.StringFlag{Name: "shard", Usage: "only part `I/N` of the mailboxes", Destination: &o.shard},
			&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &cfg.In.MaxErrors, Action: cli.NotNegative("max-errors")},
			&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &cfg.In.Rejects},
			&ufcli.StringSliceFlag{Name: "forms", Usage: "llm: ask only for questions of this `FORM` (repeatable): single, several, changed, unanswerable", Destination: &o.forms},
			&ufcli.IntFlag{Name: "per-batch", Value: 8, Usage: "llm: ask for at most `N` questions of twenty mails", Destination: &o.writer.PerBatch},
			&ufcli.Float64Flag{Name: "temperature", Value: 0.5, Usage: "llm: sample at temperature `T`", Destination: &o.writer.Temperature},
			&ufcli.StringFlag{Name: "prompts", Usage: "llm: use the prompts in the folder `DIR` (system.v1.txt, batch.v1.txt) instead of the built-in ones", Destination: &o.prompts},
			&ufcli.StringFlag{Name: "journal", Usage: "llm: keep the model's replies in `FILE` until the output is written (default: beside --out)", Destination: &cfg.Journal},
		}, o.llm.Flags()...),
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
			return o.llm.Exit(o.run(ctx, env, cfg))
		},
	}
}

func (o *options) run(ctx context.Context, env *cli.Env, cfg synthq.Config) error {
	st, err := synthq.Run(ctx, cfg)
	if err = o.remote.Close(env, err); err != nil {
		return err
	}
	env.Notef("%s", st)
	switch {
	case st.Bad > 0:
		return cli.Partialf("%d bad records left out", st.Bad)
	case st.Unread > 0:
		return cli.Partialf("%d batches without a reply that can be read", st.Unread)
	}
	return nil
}

// openWriter sets up the model where one is to be asked.
func (o *options) openWriter(cfg *synthq.Config, env *cli.Env) error {
	if o.generator == "extractive" {
		if o.llm.Wanted() || len(cfg.Forms) > 0 || o.prompts != "" {
			return cli.Usagef("--generator extractive asks no model; want llm for --base-url, --model, --forms and --prompts")
		}
		return nil
	}
	if len(cfg.Shapes) > 0 {
		return cli.Usagef("--shapes is for --generator extractive; --forms is for llm")
	}
	prompts, err := synthq.LoadPrompts(o.prompts)
	if err != nil {
		return err
	}
	o.llm.Out = cfg.Out
	if o.remote, err = o.llm.Open(env); err != nil {
		return err
	}
	o.writer.Model, o.writer.Prompts, o.writer.Concurrency = o.remote, prompts, o.llm.Concurrency
	cfg.Writer, cfg.MaxFailed, cfg.Tick = &o.writer, o.llm.MaxFailed, o.remote.Tick(env)
	if cfg.Journal == "" {
		cfg.Journal = journal.Beside(cfg.Out)
	}
	return nil
}

// resolve turns the flags into the stage's settings.
func (o *options) resolve(cfg *synthq.Config, env *cli.Env) (err error) {
	if o.generator != "extractive" && o.generator != "llm" {
		return cli.Usagef("--generator %q: want extractive or llm", o.generator)
	}
	if cfg.Shard, err = seed.ParseShard(o.shard); err != nil {
		return cli.Usagef("--shard: %w", err)
	}
	cfg.Kinds, cfg.Forms, cfg.Shapes = o.kinds.Value(), o.forms.Value(), o.shapes.Value()
	if err := o.openWriter(cfg, env); err != nil {
		return err
	}
	if err := cfg.Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	cfg.In.Paths, cfg.In.Stdin, cfg.Stdout = append(o.in.Value(), env.Args...), env.Stdin, env.Stdout
	cfg.In.Report = func(err error) { env.Log.Warn(err.Error()) }
	cfg.Progress = env.Progress
	return cli.Apart(append([]string{o.index}, cfg.In.Paths...), cli.Output{Flag: "out", Path: cfg.Out}, cli.Output{Flag: "rejects", Path: cfg.In.Rejects}, cli.Output{Flag: "journal", Path: cfg.Journal})
}
