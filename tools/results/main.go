// Command results keeps what comparisons came to: one JSON file a unit, made of
// scored attempts, and the tables of a page, made of these files. pipelines/
// results.mk and sweep.mk say which units there are.
package main

import (
	"context"
	"fmt"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/atomicfile"
	"agentmill/internal/cli"
	"agentmill/internal/eval"
)

func main() { cli.Main(command()) }

func command() *cli.Command {
	return &cli.Command{
		Name: "results", Usage: "keep what comparisons came to, and write it into a page", ArgsUsage: "COMMAND",
		Description: "See pipelines/results.mk, which calls it.",
		Commands:    []*cli.Command{unitCommand(), bestCommand(), pageCommand(), sweepCommand()},
		Run: func(context.Context, *cli.Env) error {
			return cli.Usagef("want one of the commands unit, best, page, sweep")
		},
	}
}

// unitCommand measures scored attempts as eval does.
func unitCommand() *cli.Command {
	var u unit
	var names, baselines ufcli.StringSlice
	var run, policy, out string
	return &cli.Command{
		Name: "unit", Usage: "write what scored attempts came to, and what made them, into one JSON file",
		Description: `The policy called --unit is what the unit is about; others are there to be compared with.

example, after make demo:
  bin/results unit --unit grpo --name grpo=runs/demo/scored-test-grpo.jsonl.zst \
    --name sft=runs/demo/scored-test-sft.jsonl.zst --baseline sft --run runs/demo --out runs/grpo.json`,
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "unit", Usage: "`NAME` of the unit", Destination: &u.Name},
			&ufcli.StringFlag{Name: "about", Usage: "what it is, in WORDS", Destination: &u.About},
			&ufcli.StringFlag{Name: "command", Usage: "the `COMMAND` that makes it", Destination: &u.Command},
			&ufcli.StringFlag{Name: "settings", Usage: "the `SETTINGS` that it differs by", Destination: &u.Settings},
			&ufcli.StringSliceFlag{Name: "name", Usage: "`NAME=FILE` of scored rows (repeatable; files of one name are one policy)", Destination: &names},
			&ufcli.StringSliceFlag{Name: "baseline", Usage: "test against policy `NAME`, paired by question (repeatable)", Destination: &baselines},
			&ufcli.StringFlag{Name: "run", Usage: "`FOLDER` of the run, whose policy-NN tell how long training took, or of one policy", Destination: &run},
			&ufcli.StringFlag{Name: "policy", Usage: "record family and size of the policy in `FOLDER`", Destination: &policy},
			&ufcli.StringFlag{Name: "out", Usage: "write the unit to `FILE`", Destination: &out},
		},
		Run: func(ctx context.Context, env *cli.Env) error {
			if u.Name == "" || out == "" {
				return cli.Usagef("--unit and --out: want both")
			}
			if err := u.measure(ctx, names.Value(), baselines.Value()); err != nil {
				return err
			}
			if err := u.describe(run, policy); err != nil {
				return err
			}
			if err := u.write(out); err != nil {
				return err
			}
			env.Notef("%s: %s", out, u.summary())
			return nil
		},
	}
}

// bestCommand chooses a checkpoint.
func bestCommand() *cli.Command {
	var names ufcli.StringSlice
	return &cli.Command{
		Name: "best", Usage: "print the name of the policy that is right most often, of equal ones the better paid",
		Flags: []ufcli.Flag{
			&ufcli.StringSliceFlag{Name: "name", Usage: "`NAME=FILE` of scored rows (repeatable)", Destination: &names},
		},
		Run: func(ctx context.Context, env *cli.Env) error {
			res, err := measure(ctx, names.Value(), nil)
			if err != nil {
				return err
			}
			p := best(res.Policies)
			env.Notef("%s: %.3f right of %d", p.Name, p.Accuracy.Value, p.Attempts)
			_, err = fmt.Fprintln(env.Stdout, p.Name)
			return err
		},
	}
}

// best is the policy of the highest accuracy; of equal ones that of the highest
// reward, of equal ones the first.
func best(policies []*eval.Policy) *eval.Policy {
	top := policies[0]
	for _, p := range policies[1:] {
		if d := p.Accuracy.Value - top.Accuracy.Value; d > 0 || d == 0 && paid(p) > paid(top) {
			top = p
		}
	}
	return top
}

func paid(p *eval.Policy) float64 {
	if p.Reward == nil {
		return 0
	}
	return p.Reward.Value
}

// pageCommand writes the tables of a page anew.
func pageCommand() *cli.Command {
	var list, folder string
	return &cli.Command{
		Name: "page", Usage: "write the tables of a page anew from the units' files", ArgsUsage: "PAGE",
		Description: `In PAGE what stands between <!-- table SECTION --> and <!-- end --> is replaced by the tables of that section's units,
between <!-- made --> and <!-- end --> by how they were made, between <!-- not run --> and <!-- end --> by the units
that are missing.

example:
  bin/results page --list runs/results/units.tsv --units docs/results docs/RESULTS.md`,
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "list", Usage: "`FILE` of all units in order: lines of SECTION<tab>NAME<tab>COMMAND<tab>ABOUT", Destination: &list},
			&ufcli.StringFlag{Name: "units", Usage: "`FOLDER` with a file NAME.json of each unit that was run", Destination: &folder},
		},
		Run: func(_ context.Context, env *cli.Env) error {
			if len(env.Args) != 1 || list == "" || folder == "" {
				return cli.Usagef("want --list, --units and one PAGE")
			}
			units, err := readList(list, folder)
			if err != nil {
				return err
			}
			return rewrite(env.Args[0], units)
		},
	}
}

// sweepCommand sets policies of several sizes side by side.
func sweepCommand() *cli.Command {
	var svg string
	return &cli.Command{
		Name: "sweep", Usage: "print base accuracy, gain and cost against size, by family", ArgsUsage: "FILE ...",
		Description: "FILEs are units with --policy and the policies prompted, sft and grpo, as pipelines/sweep.mk makes them.",
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "svg", Usage: "draw it into `FILE`", Destination: &svg},
		},
		Run: func(_ context.Context, env *cli.Env) error {
			points, err := readSweep(env.Args)
			if err != nil {
				return err
			}
			if svg != "" {
				if err := atomicfile.WriteFile(svg, []byte(drawSweep(points))); err != nil {
					return fmt.Errorf("write %s: %w", svg, err)
				}
			}
			_, err = fmt.Fprint(env.Stdout, tableSweep(points))
			return err
		},
	}
}
