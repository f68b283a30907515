package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/agent"
	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/prompted"
	"agentmill/internal/rollout"
)

// remote is what is played with a server, and what any policy is told at first.
type remote struct {
	llm              catalog.LLM
	toolChoice       string
	logProbs         bool
	system, examples string

	client *catalog.Remote // nil without a server
	prompt *prompted.Prompt
}

func (r *remote) flags() []ufcli.Flag {
	return append(r.llm.Flags("concurrency", "max-failed"),
		&ufcli.StringFlag{Name: "tool-choice", Usage: "with --tool-format native: auto, none, required or the `NAME` of a tool", Destination: &r.toolChoice},
		&ufcli.BoolFlag{Name: "logprobs", Usage: "ask the server for token ids and log-probs (vLLM gives both); rows without are text only", Destination: &r.logProbs},
		&ufcli.StringFlag{Name: "system-prompt", Usage: "replace the built-in system prompt by the template `FILE`; it can name {{.Default}} and {{.Inbox}}", Destination: &r.system},
		&ufcli.StringFlag{Name: "examples", Usage: "put the conversations of the JSONL `FILE` before the question: trajectories, or objects with messages", Destination: &r.examples},
	)
}

// open reads the prompt files and makes the client, where they are named. mark
// is what the rows depend on through them.
func (r *remote) open(e *cli.Env, cfg *rollout.Config) (c prompted.Config, mark string, err error) {
	if mark, err = r.readPrompt(); err != nil || !r.llm.Wanted() {
		return c, mark, err
	}
	r.llm.Concurrency, r.llm.Out = cfg.Concurrency, cfg.Out
	if r.client, err = r.llm.Open(e); err != nil {
		return c, mark, err
	}
	cfg.Tick = r.client.Tick(e)
	if r.logProbs {
		mark += " with log-probs"
	}
	return prompted.Config{
		Client: r.client, ToolChoice: r.toolChoice, LogProbs: r.logProbs, Deadline: r.llm.Deadline, Variant: r.llm.Effort,
	}, mark, nil
}

// readPrompt reads --system-prompt and --examples.
func (r *remote) readPrompt() (mark string, err error) {
	if r.system == "" && r.examples == "" {
		return "", nil
	}
	r.prompt = new(prompted.Prompt)
	if r.system != "" {
		text, err := os.ReadFile(r.system)
		if err != nil {
			return "", fmt.Errorf("read system prompt: %w", err)
		}
		if err := r.prompt.SetSystem(r.system, string(text)); err != nil {
			return "", err
		}
	}
	if r.examples != "" {
		f, err := os.Open(r.examples)
		if err != nil {
			return "", fmt.Errorf("read examples: %w", err)
		}
		defer func() { _ = f.Close() }()
		if err := r.prompt.ReadExamples(r.examples, f); err != nil {
			return "", err
		}
	}
	return "prompt " + r.prompt.Hash(), nil
}

// rewrite makes g begin with the prompt, if one is named.
func (r *remote) rewrite(g *agent.Game) {
	if r.prompt != nil {
		g.Prompt = r.prompt.Rewrite
	}
}

// done tells what was asked and drops what was kept in case of a stop.
func (r *remote) done(e *cli.Env, player agent.Policy, err error) error {
	if r.client == nil {
		return err
	}
	if p, ok := player.(*prompted.Policy); ok && p.TextOnly() > 0 {
		e.Notef("%d attempts are text only: the server gave no tokens for every turn", p.TextOnly())
	}
	return r.client.Close(e, err)
}

// exit turns the outcome into what the exit code tells.
func exit(ctx context.Context, o *options, st *rollout.Stats, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, rollout.ErrUnreachable):
		return cli.TryAgainf("%w", err)
	case err != nil:
		return o.remote.llm.Exit(err)
	case st.Stragglers > 0:
		return cli.Partialf("%d of %d attempts failed, %d of these because they were not waited for", st.Failed(), st.Rows, st.Stragglers)
	case st.Failed() > 0:
		return cli.Partialf("%d of %d attempts failed", st.Failed(), st.Rows)
	case st.Bad > 0:
		return cli.Partialf("%d bad question records left out", st.Bad)
	}
	return nil
}
