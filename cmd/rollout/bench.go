package main

import (
	"context"
	"encoding/json"
	"errors"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/catalog"
	"agentmill/internal/cli"
)

// benchOptions are the flags as they are typed.
type benchOptions struct {
	local  catalog.LocalConfig
	rounds int
	json   bool
}

func benchCommand() *cli.Command {
	var o benchOptions
	return &cli.Command{
		Name:  "bench",
		Usage: "measure how fast a policy folder plays on this machine",
		Description: `Prints tokens a second: of a prompt, and of 1, 8 and 32 sequences that decode at once; beside them the
share of what the machine allows, which is measured in the same process. Nothing else should run.

examples:
  bin/rollout bench --policy models/smollm2
  bin/rollout bench --policy models/smollm2 --precision f32 --json`,
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "policy", Required: true, Usage: "measure the policy `FOLDER`", Destination: &o.local.Dir},
			&ufcli.StringFlag{Name: "base", Usage: "`FOLDER` that replaces the base of an adapter", Destination: &o.local.Base},
			&ufcli.StringFlag{Name: "precision", Value: "w16", Usage: "compute with weights of this `TYPE`: f32, w16 (bfloat16), bf16 (bfloat16 multiplied in pairs, where the processor can) or w8 (8-bit whole numbers with a step for each output: half the memory of w16, answers differ)", Destination: &o.local.Precision},
			&ufcli.StringFlag{Name: "device", Value: "cpu", Usage: "`NAME` of the device that computes", Destination: &o.local.Device},
			&ufcli.IntFlag{Name: "threads", Usage: "use `N` threads (0: one a processor)", Destination: &o.local.Threads},
			&ufcli.IntFlag{Name: "rounds", Value: 5, Usage: "the median of `N` measurements", Destination: &o.rounds},
			&ufcli.BoolFlag{Name: "json", Usage: "print one JSON object", Destination: &o.json},
		},
		Run: o.run,
	}
}

func (o *benchOptions) run(ctx context.Context, e *cli.Env) error {
	switch {
	case len(e.Args) > 0:
		return cli.Usagef("%q: bench takes no arguments", e.Args[0])
	case o.rounds < 1 || o.rounds > 1000:
		return cli.Usagef("--rounds %d: want 1 to 1000", o.rounds)
	case o.local.Threads < 0 || o.local.Threads > catalog.MaxThreads:
		return cli.Usagef("--threads %d: want 0 to %d", o.local.Threads, catalog.MaxThreads)
	case catalog.Unweighted(o.local.Dir):
		return cli.Usagef("--policy %s has no weights; want a policy folder", o.local.Dir)
	}
	r, err := catalog.MeasureSpeed(ctx, o.local, o.rounds)
	if _, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(e.Stdout).Encode(r)
	}
	_, err = r.WriteTo(e.Stdout)
	return err
}
