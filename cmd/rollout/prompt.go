package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"agentmill/internal/agent"
	"agentmill/internal/catalog"
	"agentmill/internal/chat"
	"agentmill/internal/cli"
	"agentmill/internal/env"
	"agentmill/internal/rollout"
)

// checkPrompt refuses what --prompt has no use for.
func (o *options) checkPrompt(e *cli.Env) error {
	if o.prompt == "" {
		return nil
	}
	for _, other := range []struct {
		flag  string
		given bool
	}{
		{"ask", o.ask != ""},
		{"index", o.world.Index != ""},
		{"out", o.cfg.Out != ""},
		{"oracle", o.oracle != ""},
		{"open-mail", o.openMail},
		{"constrain", o.constrain != ""},
		{"system-prompt", o.remote.system != ""},
		{"examples", o.remote.examples != ""},
	} {
		if other.given {
			return cli.Usagef("--prompt and --%s: want one of them; --prompt has text written, outside of any environment", other.flag)
		}
	}
	if files := append(o.in.Value(), e.Args...); len(files) > 0 {
		return cli.Usagef("--prompt plays no question file, but %q is given", files[0])
	}
	if strings.TrimSpace(o.prompt) == "" {
		return cli.Usagef("--prompt: the prompt is blank")
	}
	if catalog.Unweighted(o.policy.Name) {
		return cli.Usagef("--prompt: policy %s writes no text; want a policy folder, or --base-url and --model", o.policy.Name)
	}
	return nil
}

// complete has the policy answer a prompt.
func (o *options) complete(ctx context.Context, e *cli.Env) (err error) {
	text := o.prompt
	if text == "-" {
		all, err := io.ReadAll(e.Stdin)
		if err != nil {
			return fmt.Errorf("read the prompt: %w", err)
		}
		if text = strings.TrimRight(string(all), "\r\n"); strings.TrimSpace(text) == "" { // an echo ends its line
			return cli.Usagef("--prompt -: nothing stands on standard input")
		}
	}
	o.policy.Local.Clock, o.policy.Local.Sessions, o.cfg.Concurrency = e.Clock, 1, 1
	if o.policy.Remote, _, err = o.remote.open(e, &o.cfg); err != nil {
		return err
	}
	player, err := catalog.OpenText(o.policy)
	if err != nil {
		return o.remote.done(e, nil, err)
	}
	defer func() { _ = player.Close() }()
	rules := catalog.DefaultOptions()
	if o.rules.TurnTokens != unset {
		rules.TurnTokens = o.rules.TurnTokens
	}
	if err := catalog.CheckOptions(rules); err != nil {
		return cli.Usagef("rules of the game: %w", err)
	}
	turn, err := rollout.Complete(ctx, player, agent.Task{
		Prompt:   []chat.Message{{Role: chat.User, Content: text}},
		Sampling: o.sampling(), Seed: o.seed, TurnTokens: rules.TurnTokens, MaxTurns: 1,
	}, e.Stdout)
	if err = o.remote.done(e, player, err); err != nil {
		return o.remote.llm.Exit(err)
	}
	e.Notef("%s", told(turn))
	if r, ok := player.(env.Reporter); ok && r.Report() != "" {
		e.Notef("%s", r.Report())
	}
	return nil
}

// told sums a turn up.
func told(t chat.Turn) string {
	s := fmt.Sprintf("%d prompt tokens, %d written", t.PromptTokens, t.CompletionTokens)
	if t.Seconds > 0 {
		s += fmt.Sprintf(" in %.1f s", t.Seconds)
	}
	switch t.FinishReason {
	case chat.FinishLength:
		s += ", cut there (--turn-tokens)"
	case chat.FinishContext:
		s += ", cut where the context is full"
	case chat.FinishStop:
	}
	return s
}
