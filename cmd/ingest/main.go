// Command ingest turns mail files into Email records and an inbox database.
package main

import (
	"context"
	"os"
	"runtime/debug"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/cli"
	"agentmill/internal/ingest"
	"agentmill/internal/mailsource"
	"agentmill/internal/seed"
)

func main() { cli.Main(command()) }

func command() *cli.Command {
	var (
		cfg   ingest.Config
		in    ufcli.StringSlice
		match ufcli.StringSlice
		shard string
		kind  string
		table bool
	)
	return &cli.Command{
		Name:      "ingest",
		Usage:     "turn mail files into records and an inbox database",
		ArgsUsage: "[FILE|FOLDER ...]",
		Commands:  []*cli.Command{searchCommand(), showCommand()},
		Description: `Reads archives (tar, zip, also compressed by gzip, zstd or bzip2) as they are, trees of mail files such
as CMU's Enron corpus, Maildirs, mbox files, Gmail's Takeout, single messages, Kaggle's emails.csv, and
tables of messages (Parquet, JSON lines), its own among them. What a file is is told from its content.
Copies of a message within a mailbox become one record. A damaged message is a record with warnings.

examples, after make demo:
  bin/ingest runs/demo/mail.tar.gz | head -1
  bin/ingest runs/demo/mail.tar.gz --match crane-v --match patel-d --index runs/two.db --out runs/two.parquet --stats
and of other mail:
  bin/ingest ~/Maildir --index runs/mine.db --out runs/mine.parquet --stats
  bin/ingest ~/Maildir --index runs/mine.db --append --out runs/mine-new.parquet    # every night: what came since`,
		Flags: []ufcli.Flag{
			&ufcli.StringSliceFlag{Name: "in", Usage: "read mail from `FILE` or folder (as an argument; repeatable)", Destination: &in},
			&ufcli.StringFlag{Name: "out", Usage: "write records to `FILE` (.parquet, .jsonl, .jsonl.gz, .jsonl.zst); JSON lines on standard output without", Destination: &cfg.Out},
			&ufcli.StringFlag{Name: "index", Usage: "write the database that an agent searches to `FILE`", Destination: &cfg.Index},
			&ufcli.BoolFlag{Name: "append", Usage: "add mail to the database that is there, and write only records that it lacked", Destination: &cfg.Append},
			&ufcli.StringSliceFlag{Name: "match", Usage: "read only mailboxes whose folder (crane-v) matches `GLOB`; repeatable", Destination: &match},
			&ufcli.StringFlag{Name: "owners", Usage: "`FILE` with the owner of each mailbox, lines of NAME<tab>ADDRESS; found from the headers without", Destination: &cfg.Owners},
			&ufcli.StringFlag{Name: "source", Value: "auto", Usage: "what the files hold, `KIND` auto (told from their content), tar, zip, maildir, eml, mbox, mboxrd, mboxo, mboxcl, mboxcl2, csv, parquet or jsonl", Destination: &kind},
			&ufcli.Int64Flag{Name: "max-message-bytes", Value: mailsource.DefaultMaxMessage, Usage: "cut messages longer than `N` bytes, with a warning", Destination: &cfg.MaxMessage},
			&ufcli.BoolFlag{Name: "stem", Usage: "index word stems, so that trading finds trade", Destination: &cfg.Stem},
			&ufcli.StringFlag{Name: "shard", Usage: "write only owners of part `I/N`", Destination: &shard},
			&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` entries of which no message can be made", Destination: &cfg.MaxErrors, Action: cli.NotNegative("max-errors")},
			&ufcli.StringFlag{Name: "rejects", Usage: "keep such entries in `FILE`", Destination: &cfg.Rejects},
			&ufcli.BoolFlag{Name: "stats", Usage: "print mailboxes, folders, years and warnings on standard error", Destination: &table},
		},
		Run: func(ctx context.Context, env *cli.Env) (err error) {
			if cfg.Shard, err = seed.ParseShard(shard); err != nil {
				return cli.Usagef("--shard: %w", err)
			}
			if cfg.Source, err = mailsource.ParseKind(kind); err != nil {
				return cli.Usagef("--source: %w", err)
			}
			cfg.Match = match.Value()
			cfg.Paths = append(in.Value(), env.Args...)
			return run(ctx, env, cfg, table)
		},
	}
}

// memoryAim is where the collector begins to work harder. It costs a twentieth of
// the time; only a mailbox that is larger needs more.
const memoryAim = 200 << 20

func run(ctx context.Context, env *cli.Env, cfg ingest.Config, table bool) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryAim)
	}
	if err := cfg.Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	if err := cli.Apart(append([]string{cfg.Owners}, cfg.Paths...), cli.Output{Flag: "out", Path: cfg.Out},
		cli.Output{Flag: "index", Path: cfg.Index}, cli.Output{Flag: "rejects", Path: cfg.Rejects}); err != nil {
		return err
	}
	cfg.Stdin, cfg.Stdout, cfg.Clock, cfg.Log, cfg.Progress = env.Stdin, env.Stdout, env.Clock, env.Log, env.Progress
	stats, err := ingest.Run(ctx, cfg)
	if err != nil {
		return err
	}
	if table {
		if _, err := stats.WriteTo(env.Stderr); err != nil {
			return err
		}
	}
	damaged := 0
	for _, w := range stats.Warnings {
		damaged += w.Records
	}
	env.Notef("read %d messages, wrote %d records in %d mailboxes, %d copies merged, %d warnings, %d bad",
		stats.Messages, stats.Records, len(stats.Mailboxes), stats.Copies, damaged, stats.Bad)
	if stats.Bad > 0 {
		return cli.Partialf("%d entries were no mail messages", stats.Bad)
	}
	return nil
}
