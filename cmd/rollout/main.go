// Command rollout plays a policy at questions and writes what happened.
package main

import (
	"context"
	"errors"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/agent"
	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/env"
	"agentmill/internal/question"
	"agentmill/internal/rollout"
)

func main() { cli.Main(command()) }

const description = `Reads questions, plays each with a policy in its environment, and writes one trajectory an attempt, in the
order of the questions. What was played stands in a journal beside --out until the file is whole: the same command run
again goes on.

examples, after make demo:
  bin/rollout runs/demo/questions.parquet --index runs/demo/inbox.db --policy expert --split train --out runs/expert.jsonl
  bin/rollout runs/demo/questions.parquet --index runs/demo/inbox.db --policy heuristic --limit 20 | bin/judge > runs/20.jsonl
  bin/rollout runs/demo/questions.parquet --index runs/demo/inbox.db --policy runs/demo/policy-00 \
    --split test --limit 2 --attempts 4 --out runs/attempts.parquet
  bin/rollout runs/demo/questions.parquet --index runs/demo/inbox.db --policy runs/demo/policy-00 \
    --split test --limit 20 --oracle read | bin/judge > runs/reading.jsonl    # how good is it with the right mail before it?
  bin/rollout --index runs/demo/inbox.db --policy runs/demo/policy-00 \
    --ask "Who will chair the Tamarack design review?" --inbox dana.patel@corvane.example
and with a server:
  OPENAI_API_KEY=... bin/rollout runs/demo/questions.parquet --index runs/demo/inbox.db \
    --base-url http://localhost:8000/v1 --model NAME --limit 20 --out runs/remote.jsonl
and of text, outside of any environment:
  bin/rollout --policy models/smollm2 --prompt "Why is the sky blue?"

A policy is expert (it is told the sources; for distillation), heuristic (no model, no gold), replay:FILE (calls that
were recorded elsewhere are played again), one of the null policies that check an environment (null-abstain, null-empty,
null-paste, null-repeat) or a policy folder. Rules of the game that are not given are those that the folder was trained under. To --ask, today is the day of the mailbox's
newest mail.`

// options are the flags as they are typed.
type options struct {
	in                ufcli.StringSlice
	cfg               rollout.Config
	policy            catalog.PolicyConfig
	remote            remote
	world             catalog.EnvConfig
	rules             rules
	oracle            string
	openMail          bool
	prompt, memory    string
	ask, inbox, shard string
	seed              uint64
	temperature, topP float64
	topK              int
	minP              float64
	stop              ufcli.StringSlice
	constrain         string
}

func command() *cli.Command {
	var o options
	return &cli.Command{
		Name:        "rollout",
		Usage:       "play a policy at questions",
		ArgsUsage:   "[FILE ...]",
		Description: description,
		Commands:    []*cli.Command{benchCommand()},
		Flags:       append(o.flags(), o.rules.flags()...),
		Run:         o.run,
	}
}

func (o *options) run(ctx context.Context, e *cli.Env) error {
	if err := o.check(e); err != nil {
		return err
	}
	if o.prompt != "" {
		return o.complete(ctx, e)
	}
	g, err := o.game(e)
	if _, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = g.Env.Close() }()
	defer func() { _ = g.Policy.Close() }()
	if o.ask != "" {
		q := question.Question{Question: o.ask, InboxAddress: o.inbox, Answerable: true}
		return rollout.Ask(ctx, g, &q, e.Stdout, e.Stderr)
	}
	st, err := rollout.Run(ctx, o.cfg, g)
	err = o.remote.done(e, g.Policy, err)
	if st.Rows > 0 || len(st.Declined) > 0 {
		e.Notef("%s", &st)
	}
	for _, who := range []any{g.Env, g.Policy} {
		if r, ok := who.(env.Reporter); ok && err == nil && r.Report() != "" {
			e.Notef("%s", r.Report())
		}
	}
	return exit(ctx, o, &st, err)
}

// game opens the environment and the policy.
func (o *options) game(e *cli.Env) (*agent.Game, error) {
	trained, ok, err := catalog.Rules(o.policy.Name, o.policy.Local.Base)
	if err != nil {
		return nil, err
	}
	o.world.Options = o.rules.resolve(trained, ok, func(difference string) {
		e.Log.Warn("playing by other rules than the policy was trained under", "policy", o.policy.Name, "rule", difference)
	})
	if err := catalog.CheckOptions(o.world.Options); err != nil {
		return nil, cli.Usagef("rules of the game: %w", err)
	}
	world, err := catalog.OpenEnv(o.world)
	if err != nil {
		return nil, err
	}
	o.policy.Env, o.policy.Local.Clock = world, e.Clock
	o.policy.Local.Sessions = o.cfg.Concurrency
	var mark string
	if o.policy.Remote, mark, err = o.remote.open(e, &o.cfg); err != nil {
		return nil, errors.Join(err, world.Close())
	}
	o.cfg.Mark += mark
	player, err := catalog.OpenPolicy(o.policy)
	if err != nil {
		return nil, errors.Join(err, world.Close())
	}
	g := &agent.Game{Policy: player, Env: world, Sampling: o.sampling(), Seed: o.seed, Clock: e.Clock, Help: o.help()}
	o.remote.rewrite(g)
	return g, nil
}
