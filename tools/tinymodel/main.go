// Command tinymodel writes a policy folder with a very small model of random
// weights, for trying the pipeline without a download:
//
//	tinymodel --out DIR [--shape LIKE] [--seed N]
package main

import (
	"context"
	"slices"
	"strings"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/cli"
)

func main() { cli.Main(command()) }

func command() *cli.Command {
	var out, shape string
	var run uint64
	return &cli.Command{
		Name:  "tinymodel",
		Usage: "write a policy folder with a tiny model of random weights",
		Description: `For tests and for make smoke: it answers nothing, but fast. The same seed gives the same bytes.

examples:
  bin/tinymodel --out runs/tiny
  bin/tinymodel --out runs/tiny-qwen3 --shape tiny-qwen3
  bin/tinymodel --out runs/half-b --shape qwen2.5-0.5b    (1 GB)`,
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "out", Usage: "the policy `FOLDER` to write", Destination: &out},
			&ufcli.StringFlag{Name: "shape", Value: tinypolicy.Tiny, Usage: "what the model is `LIKE`: " + strings.Join(tinypolicy.Shapes(), ", "), Destination: &shape},
			&ufcli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that the weights follow from", Destination: &run},
		},
		Run: func(_ context.Context, env *cli.Env) error {
			if out == "" {
				return cli.Usagef("--out is missing: name the folder to write")
			}
			if len(env.Args) > 0 {
				return cli.Usagef("unexpected argument %q", env.Args[0])
			}
			if !slices.Contains(tinypolicy.Shapes(), shape) {
				return cli.Usagef("--shape %s: want one of %s", shape, strings.Join(tinypolicy.Shapes(), ", "))
			}
			m, err := tinypolicy.WriteShape(out, shape, run)
			if err != nil {
				return err
			}
			env.Notef("wrote %s, hash %s", out, m.Hash[:12])
			return nil
		},
	}
}
