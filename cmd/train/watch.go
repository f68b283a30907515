package main

import (
	"context"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/cli"
	"agentmill/internal/train"
)

// watchCommand draws the curves of a run.
func watchCommand() *cli.Command {
	w := train.Watch{Wait: wait}
	once := false
	return &cli.Command{
		Name: "watch", Usage: "draw reward, loss and gradient norm of a run in the terminal, step by step", ArgsUsage: "RUN",
		Description: `RUN is the folder of a run (runs/demo), whose policies and unfinished policy are read, or one policy's.
On a terminal the charts are drawn again as steps come, until Ctrl-C; elsewhere once.

examples, while make demo runs, or after it:
  bin/train watch runs/demo
  bin/train watch runs/demo/policy-00 --once`,
		Flags: []ufcli.Flag{
			&ufcli.IntFlag{Name: "width", Value: 72, Usage: "of a chart: `N` columns", Destination: &w.Width, Action: cli.NotNegative("width")},
			&ufcli.IntFlag{Name: "height", Value: 8, Usage: "of a chart: `N` lines", Destination: &w.Height, Action: cli.NotNegative("height")},
			&ufcli.DurationFlag{Name: "every", Value: 2 * time.Second, Usage: "look for new steps every `TIME`", Destination: &w.Every},
			&ufcli.BoolFlag{Name: "once", Usage: "draw once", Destination: &once},
		},
		Run: func(ctx context.Context, env *cli.Env) error {
			if len(env.Args) != 1 {
				return cli.Usagef("want the folder of one run, got %d arguments", len(env.Args))
			}
			w.Run, w.Out = env.Args[0], env.Stdout
			w.Live = !once && isatty.IsTerminal(os.Stdout.Fd())
			return w.Draw(ctx)
		},
	}
}

// wait returns after d, or with an error when ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
