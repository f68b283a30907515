// Command samplemail writes the project's sample mail: the mail of an invented
// company, laid out like the Enron corpus.
package main

import (
	"context"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/atomicfile"
	"agentmill/internal/cli"
	"agentmill/internal/samplemail"
)

func main() { cli.Main(command()) }

func command() *cli.Command {
	var out string
	cfg := samplemail.Default
	return &cli.Command{
		Name:  "samplemail",
		Usage: "write the mail of an invented company as an Enron-like maildir archive",
		Description: `The same seed and sizes give the same bytes.

examples:
  bin/samplemail --out runs/sample.tar.gz
  bin/samplemail --out runs/small.tar.gz --seed 7 --inboxes 3 --messages 300`,
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "out", Usage: "write the archive to `FILE`", Destination: &out},
			&ufcli.Uint64Flag{Name: "seed", Value: cfg.Seed, Usage: "seed `N` of all choices", Destination: &cfg.Seed},
			&ufcli.IntFlag{Name: "inboxes", Value: cfg.Inboxes, Usage: "write `N` mailboxes", Destination: &cfg.Inboxes},
			&ufcli.IntFlag{Name: "messages", Value: cfg.Messages, Usage: "write `N` messages in all mailboxes together", Destination: &cfg.Messages},
		},
		Run: func(ctx context.Context, env *cli.Env) error {
			if len(env.Args) > 0 {
				return cli.Usagef("samplemail takes no arguments, got %q", env.Args[0])
			}
			if out == "" {
				return cli.Usagef("--out is missing: want the name of a .tar.gz file")
			}
			if err := cfg.Check(); err != nil {
				return cli.Usagef("%v", err)
			}
			return write(env, out, cfg)
		},
	}
}

// write makes the archive appear whole under its name.
func write(env *cli.Env, out string, cfg samplemail.Config) error {
	f, err := atomicfile.Create(out)
	if err != nil {
		return err
	}
	defer f.Abort()
	n, err := samplemail.Write(f, cfg)
	if err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	env.Notef("%d messages in %d inboxes written to %s", n, cfg.Inboxes, out)
	return nil
}
