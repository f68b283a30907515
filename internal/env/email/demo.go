package email

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/env"
	"agentmill/internal/keyword"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
	"agentmill/internal/seed"
	"agentmill/internal/toolformat"
)

// recoveryShare is the share of demonstrations that show, where nothing went
// wrong by itself, how to go on from a search that misses or a wrong mail.
// Without such rows a student never tries again.
const recoveryShare = .2

// runesPerToken is a low guess, to keep calls within the tokens of a turn.
const runesPerToken = 3

// Why a question has no demonstration.
const (
	errGoldAbsent  env.UnsolvedError = "a gold mail is not in the mailbox"
	errGoldUnfound env.UnsolvedError = "no search by words of the question or its evidence finds a gold mail"
	errGoldHidden  env.UnsolvedError = "the evidence is not in the part of a mail that is shown"
	errLongAnswer  env.UnsolvedError = "the answer is longer than a turn"
	errNeedsTurns  env.UnsolvedError = "there are fewer turns than it takes"
	errNoWords     env.UnsolvedError = "the question has no word to search for"
)

// A demo plans one demonstration. It looks at the gold to choose, and shows only
// calls that the question's own words and what was seen before could suggest,
// but for searches by words of the evidence, the last resort, which are tallied.
type demo struct {
	*episode
	rnd   *rand.Rand
	words []string // content words of the question
	calls []chat.ToolCall

	hidden bool // a gold mail was hit, but its evidence is not in what is shown
}

// Demonstrate implements env.Demonstrator. It shows: a search that finds a gold
// mail, the reading of it, the answer with its source; for an unanswerable
// question a search, the reading of what looks best, and an abstention.
func (e *Env) Demonstrate(ctx context.Context, q *question.Question, runSeed uint64) ([]chat.ToolCall, error) {
	owner, err := e.resolve(q.InboxAddress)
	if err != nil {
		return nil, err
	}
	d := &demo{episode: &episode{Env: e, owner: owner, q: q}, rnd: seed.Stream(runSeed, "demonstrate", q.ID)}
	d.words = d.fit(keyword.Content(q.Question))
	e.tally.asked.Add(1)
	play := d.solve
	if !q.Answerable {
		play = d.abstain
	}
	if err := play(ctx); err != nil {
		return nil, err
	}
	if len(d.calls) > e.opts.MaxTurns {
		return nil, errNeedsTurns
	}
	e.tally.shown.Add(1)
	return d.calls, nil
}

// fit keeps as many words as a turn can hold.
func (d *demo) fit(words []string) []string {
	runes := len("search")
	for i, w := range words {
		if runes += 1 + len([]rune(w)); runes > runesPerToken*d.opts.TurnTokens || i == maxWords {
			return words[:i]
		}
	}
	return words
}

// solve plays an answerable question.
func (d *demo) solve(ctx context.Context) error {
	if len([]rune(d.q.Answer)) > runesPerToken*d.opts.TurnTokens {
		return errLongAnswer
	}
	golds, err := d.golds(ctx)
	if err != nil {
		return err
	}
	var path path
	for _, g := range golds {
		if err := d.reach(ctx, &path, g); err != nil {
			return err
		}
	}
	if !path.evident {
		return errGoldHidden
	}
	if err := d.recover(ctx, &path); err != nil {
		return err
	}
	d.calls = append(path.calls, toolformat.Answer(d.q.Answer, path.sources...))
	return nil
}

// A gold is one mail that the answer rests on, with its copies: rows.
type gold map[int64]bool

// golds are the mails to be read, all of them. The other mails that carry the
// same evidence stand in for a single one.
func (d *demo) golds(ctx context.Context) ([]gold, error) {
	groups := make([][]string, 0, len(d.q.MessageIDs))
	for _, id := range d.q.MessageIDs {
		groups = append(groups, []string{id})
	}
	if len(groups) == 1 {
		groups[0] = append(groups[0], d.q.AlsoIn...)
	}
	var golds []gold
	for _, ids := range groups {
		g, err := d.rows(ctx, ids)
		if err != nil {
			return nil, err
		}
		if len(g) == 0 {
			return nil, errGoldAbsent
		}
		if !slices.ContainsFunc(golds, g.shares) {
			golds = append(golds, g)
		}
	}
	return golds, nil
}

// shares reports whether g and h have a row in common.
func (g gold) shares(h gold) bool {
	for row := range g {
		if h[row] {
			return true
		}
	}
	return false
}

func (d *demo) rows(ctx context.Context, ids []string) (gold, error) {
	g := gold{}
	for _, id := range ids {
		_, row, err := d.store.Canonical(ctx, d.owner, id)
		if errors.Is(err, mailstore.ErrNoMail) {
			continue
		}
		if err != nil {
			return nil, err
		}
		g[row] = true
	}
	return g, nil
}

// A path is what has been shown so far.
type path struct {
	calls   []chat.ToolCall
	golds   []gold
	hits    []mailstore.Hit // of the last search
	sources []string        // ids of the gold mails read
	evident bool            // the evidence was in what was shown
	missed  bool            // a search missed by itself
}

// reach goes on from p until a mail of g is read: from the hits already there,
// else by a new search.
func (d *demo) reach(ctx context.Context, p *path, g gold) error {
	hit, evident, err := d.pick(ctx, g, p.hits)
	if err == nil && hit == nil {
		hit, evident, err = d.find(ctx, p, g)
	}
	if err != nil {
		return err
	}
	id := shownID(hit.Row, hit.MessageID, d.opts)
	p.calls = append(p.calls, toolformat.Read(id))
	p.golds = append(p.golds, g)
	p.sources = append(p.sources, id)
	p.evident = p.evident || evident
	return nil
}

// find searches with ever other words until a mail of g is hit. Where any word
// may occur it begins as a person would, with all words of the question, and a
// miss of that search is shown.
func (d *demo) find(ctx context.Context, p *path, g gold) (*mailstore.Hit, bool, error) {
	tries, own, err := d.tries(ctx)
	if err != nil {
		return nil, false, err
	}
	for i, words := range tries {
		hits, err := d.hits(ctx, words)
		if err != nil {
			return nil, false, err
		}
		hit, evident, err := d.pick(ctx, g, hits)
		if err != nil {
			return nil, false, err
		}
		first := i == 0 && len(p.calls) == 0 && d.opts.Search == string(mailstore.Any)
		if hit != nil || first {
			p.calls = append(p.calls, search(words))
			p.hits, p.missed = hits, p.missed || hit == nil
		}
		if hit != nil {
			d.tally.search(p.missed, i >= own)
			return hit, evident, nil
		}
	}
	if d.hidden {
		return nil, false, errGoldHidden
	}
	return nil, false, errGoldUnfound
}

func search(words []string) chat.ToolCall {
	return toolformat.Search(toolformat.SearchArgs{Keywords: words})
}

// hits runs a search as an attempt would.
func (d *demo) hits(ctx context.Context, words []string) ([]mailstore.Hit, error) {
	found, err := d.store.Search(ctx, mailstore.Query{Owner: d.owner, Keywords: words, Mode: mailstore.Mode(d.opts.Search), Max: d.opts.MaxHits})
	if errors.Is(err, mailstore.ErrNoKeywords) {
		return nil, nil
	}
	return found.Hits, err
}

// pick chooses the hit to read for g: the first that shows the evidence, else,
// where the answer rests on several mails, the first.
func (d *demo) pick(ctx context.Context, g gold, hits []mailstore.Hit) (hit *mailstore.Hit, evident bool, err error) {
	for i := range hits {
		if !g[hits[i].Row] {
			continue
		}
		ok, err := d.shows(ctx, hits[i].Row)
		if err != nil || ok {
			return &hits[i], ok, err
		}
		d.hidden = true
		if hit == nil && len(d.q.MessageIDs) > 1 {
			hit = &hits[i]
		}
	}
	return hit, false, nil
}

// shows reports whether the part of a mail that is shown has the evidence; where
// the question names none, the answer, or the whole mail.
func (d *demo) shows(ctx context.Context, row int64) (bool, error) {
	m, err := d.store.Read(ctx, d.owner, shownID(row, "", shortIDs))
	if err != nil {
		return false, err
	}
	body := folded(showMail(m, d.opts))
	if d.q.Evidence != "" {
		return strings.Contains(body, folded(d.q.Evidence)), nil
	}
	whole := d.opts.MailWords == 0 || len(strings.Fields(m.Body)) <= d.opts.MailWords
	return whole || strings.Contains(body, folded(d.q.Answer)), nil
}

// folded is s without what makes equal texts differ.
func folded(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// abstain plays an unanswerable question: it looks, and looks again in every
// other attempt, and says that it does not know.
func (d *demo) abstain(ctx context.Context) error {
	if len(d.words) == 0 {
		return errNoWords
	}
	hits, err := d.look(ctx, d.words)
	if err != nil {
		return err
	}
	if again := d.rnd.Float64() < .5; again && len(hits) > 1 && d.opts.MaxTurns > 3 {
		d.calls = append(d.calls, toolformat.Read(shownID(hits[1].Row, hits[1].MessageID, d.opts)))
	} else if (again || len(hits) == 0) && len(d.words) > 1 && d.opts.MaxTurns > 4 {
		if _, err := d.look(ctx, d.some(2)); err != nil {
			return err
		}
	}
	d.calls = append(d.calls, toolformat.Answer(question.Unknown))
	return nil
}

// look searches and reads the best hit.
func (d *demo) look(ctx context.Context, words []string) ([]mailstore.Hit, error) {
	hits, err := d.hits(ctx, words)
	if err != nil {
		return nil, err
	}
	d.calls = append(d.calls, search(words))
	if len(hits) > 0 {
		d.calls = append(d.calls, toolformat.Read(shownID(hits[0].Row, hits[0].MessageID, d.opts)))
	}
	return hits, nil
}

// some draws n words of the question, in the question's order.
func (d *demo) some(n int) []string {
	at := d.rnd.Perm(len(d.words))[:min(n, len(d.words))]
	slices.Sort(at)
	words := make([]string, 0, n)
	for _, i := range at {
		words = append(words, d.words[i])
	}
	return words
}
