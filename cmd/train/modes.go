package main

import (
	"context"
	"fmt"
	"slices"

	"agentmill/internal/checkpoint"
	"agentmill/internal/cli"
	"agentmill/internal/train"
)

// looks says that nothing is to be trained.
func (o *options) looks() bool { return o.export != "" || o.dryRun || o.check }

func (o *options) checkModes() error {
	switch {
	case o.dryRun && o.check:
		return cli.Usagef("--dry-run and --check: want one of them")
	case o.export != "" && (o.dryRun || o.check || !slices.Contains(train.Exports(), o.export)):
		return cli.Usagef("--export %q: want one of %v, without --dry-run and --check", o.export, train.Exports())
	}
	return nil
}

// look does what does not train.
func look(ctx context.Context, env *cli.Env, cfg train.Config, o options) error {
	var err error
	switch {
	case o.export != "":
		return export(ctx, env, cfg, o.export)
	case o.dryRun:
		_, err = train.DryRun(ctx, cfg, env.Stdout)
	default:
		_, err = train.CheckRows(ctx, cfg, o.drift, env.Stdout)
	}
	return err
}

func export(ctx context.Context, env *cli.Env, cfg train.Config, what string) error {
	if len(cfg.Source.Paths) > 0 {
		return cli.Usagef("--export: takes no rows, got %v", cfg.Source.Paths)
	}
	e, err := train.Export(ctx, cfg, what)
	if err != nil {
		return err
	}
	env.Notef("wrote %s, %.12s; log-probabilities of random tokens differ from the policy's by %.3g in the mean, %.3g at most", train.ExportPath(cfg.Out, what), e.Hash, e.Mean, e.Max)
	return nil
}

// printRate is for pipelines that fit the work to the machine.
func printRate(env *cli.Env, dir string) error {
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	_, err = fmt.Fprintf(env.Stdout, "%.0f\n", p.Manifest.Metrics[train.RateMetric])
	return err
}
