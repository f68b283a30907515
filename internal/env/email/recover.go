package email

import (
	"context"
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/mailstore"
	"agentmill/internal/toolformat"
)

// missTries is how many selections of words are tried for a search that misses.
const missTries = 20

// recover adds to some demonstrations, those where all went well and a turn is
// left, a mistake of one of two kinds from which the path then goes on.
func (d *demo) recover(ctx context.Context, p *path) error {
	if p.missed || d.rnd.Float64() >= recoveryShare || len(p.calls)+2 > d.opts.MaxTurns {
		return nil
	}
	kinds := []func(context.Context, *path) (bool, error){d.missFirst, d.readWrong}
	if d.rnd.IntN(2) == 1 {
		slices.Reverse(kinds)
	}
	for _, kind := range kinds {
		if done, err := kind(ctx, p); err != nil || done {
			return err
		}
	}
	return nil
}

// missFirst puts a search by one or two of the question's words before the path,
// one that brings no gold mail.
func (d *demo) missFirst(ctx context.Context, p *path) (bool, error) {
	if len(d.words) < 3 {
		return false, nil
	}
	for range missTries {
		words := d.some(1 + d.rnd.IntN(2))
		hits, err := d.hits(ctx, words)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(hits, p.isGold) {
			p.calls = append([]chat.ToolCall{search(words)}, p.calls...)
			d.tally.missFirst.Add(1)
			return true, nil
		}
	}
	return false, nil
}

func (p *path) isGold(h mailstore.Hit) bool {
	return slices.ContainsFunc(p.golds, func(g gold) bool { return g[h.Row] })
}

// readWrong reads a hit of the last search that is not gold, before the gold one.
func (d *demo) readWrong(ctx context.Context, p *path) (bool, error) {
	for _, h := range p.hits {
		if p.isGold(h) {
			continue
		}
		tells, err := d.tells(ctx, h.Row)
		if err != nil {
			return false, err
		}
		if !tells {
			at := len(p.calls) - 1
			p.calls = slices.Insert(p.calls, at, toolformat.Read(shownID(h.Row, h.MessageID, d.opts)))
			d.tally.readWrong.Add(1)
			return true, nil
		}
	}
	return false, nil
}

// tells reports whether a mail has the answer in it, so that reading it would
// not be a mistake.
func (d *demo) tells(ctx context.Context, row int64) (bool, error) {
	m, err := d.store.Read(ctx, d.owner, shownID(row, "", shortIDs))
	if err != nil {
		return false, err
	}
	body := folded(m.Body)
	return strings.Contains(body, folded(d.q.Answer)) || d.q.Evidence != "" && strings.Contains(body, folded(d.q.Evidence)), nil
}
