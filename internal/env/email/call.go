package email

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/env"
	"agentmill/internal/mailstore"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// Call implements env.Episode.
func (ep *episode) Call(ctx context.Context, c chat.ToolCall) (env.Result, error) {
	if err := ctx.Err(); err != nil {
		return env.Result{}, err
	}
	res, err := ep.call(ctx, c)
	if bad, ok := errors.AsType[badArgsError](err); ok {
		return env.Result{Content: string(bad), Error: traj.ErrBadArgs}, nil
	}
	return res, err
}

func (ep *episode) call(ctx context.Context, c chat.ToolCall) (env.Result, error) {
	switch c.Name {
	case toolformat.SearchEmails:
		return ep.search(ctx, c)
	case toolformat.ReadEmail:
		return ep.read(ctx, c)
	case toolformat.FinalAnswer:
		return ep.answer(ctx, c)
	}
	return env.Result{Content: "no such tool", Error: traj.ErrUnknownTool}, nil
}

func (ep *episode) search(ctx context.Context, c chat.ToolCall) (env.Result, error) {
	q, err := query(c.Arguments, ep.owner, ep.opts)
	if err != nil {
		return env.Result{}, err
	}
	found, err := ep.store.Search(ctx, q)
	if errors.Is(err, mailstore.ErrNoKeywords) {
		return env.Result{}, badArgsError("a search needs at least one word")
	}
	if err != nil {
		return env.Result{}, err
	}
	return env.Result{Content: showHits(found.Hits, ep.opts), IDs: hitIDs(found.Hits)}, nil
}

func hitIDs(hits []mailstore.Hit) []string {
	ids := make([]string, 0, len(hits))
	for _, h := range hits {
		ids = append(ids, h.MessageID)
	}
	return ids
}

func (ep *episode) read(ctx context.Context, c chat.ToolCall) (env.Result, error) {
	wanted, err := readID(c.Arguments, ep.opts)
	if err != nil {
		return env.Result{}, err
	}
	m, err := ep.open(ctx, wanted)
	if errors.Is(err, mailstore.ErrNoMail) {
		return env.Result{Content: "no such mail", Error: traj.ErrNoSuchMail}, nil
	}
	if err != nil {
		return env.Result{}, err
	}
	return env.Result{Content: showMail(m, ep.opts), IDs: []string{m.MessageID}}, nil
}

// open reads a mail by the id that a model wrote. Row numbers mean nothing where
// the model is shown Message-IDs.
func (ep *episode) open(ctx context.Context, wanted string) (*mailstore.Mail, error) {
	if ep.refuses(wanted) {
		return nil, mailstore.ErrNoMail
	}
	return ep.store.Read(ctx, ep.owner, wanted)
}

func (ep *episode) refuses(id string) bool {
	_, err := strconv.ParseInt(strings.TrimSpace(id), 10, 64)
	return err == nil && ep.opts.IDs == "full"
}

func (ep *episode) answer(ctx context.Context, c chat.ToolCall) (env.Result, error) {
	answer, err := finalAnswer(c.Arguments, ep.opts)
	if err != nil {
		return env.Result{}, err
	}
	answer.Sources, err = ep.canonical(ctx, answer.Sources)
	if err != nil {
		return env.Result{}, err
	}
	return env.Result{Answer: &answer}, nil
}

// canonical turns sources into Message-IDs, each once. One that means no mail
// stays as it was written, and so covers nothing.
func (ep *episode) canonical(ctx context.Context, sources []string) ([]string, error) {
	out := []string{}
	for _, s := range sources {
		messageID, _, err := ep.store.Canonical(ctx, ep.owner, s)
		if errors.Is(err, mailstore.ErrNoMail) || ep.refuses(s) {
			messageID, err = s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("look up source %q: %w", s, err)
		}
		if !slices.Contains(out, messageID) {
			out = append(out, messageID)
		}
	}
	return out, nil
}
