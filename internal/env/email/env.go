// Package email is the environment of one mailbox: an agent searches it, reads
// mails and answers with its sources.
//
// Most callers want New. The package decides what an agent sees of a mail and
// how; finding mails is package mailstore's. An episode never shows a mail of
// another mailbox than its question's: E1. Texts that the model sees hold short
// ids where the options say so; ids and sources of results are Message-IDs: E2.
package email

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agentmill/internal/chat"
	"agentmill/internal/env"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// Name is the value of --env and of the env field of rows.
const Name = "email"

// maxHits is the reference's limit on the hits of one search.
const maxHits = 10

// Defaults are the rules of the game where nobody says otherwise.
func Defaults() traj.EnvOptions {
	return traj.EnvOptions{
		Search: string(mailstore.Any), MaxTurns: 10, TurnTokens: 512, MaxHits: maxHits, MailWords: 0,
		IDs: "short", OnBadCall: "stop", ToolFormat: "line",
	}
}

// An Env is all mailboxes of an index under one set of rules.
type Env struct {
	store  *mailstore.Store
	opts   traj.EnvOptions
	format toolformat.Format
	tally  tally
}

// New makes an Env that owns store.
func New(store *mailstore.Store, opts traj.EnvOptions) (*Env, error) {
	if err := Check(opts); err != nil {
		return nil, err
	}
	format, err := toolformat.ByName(opts.ToolFormat)
	if err != nil {
		return nil, err
	}
	return &Env{store: store, opts: opts, format: format}, nil
}

// Check refuses rules that the environment cannot play by.
func Check(o traj.EnvOptions) error {
	switch {
	case o.Search != string(mailstore.Any) && o.Search != string(mailstore.All):
		return fmt.Errorf("search rule %q: want any or all", o.Search)
	case o.IDs != "short" && o.IDs != "full":
		return fmt.Errorf("ids %q: want short or full", o.IDs)
	case o.OnBadCall != "stop" && o.OnBadCall != "tell":
		return fmt.Errorf("on bad call %q: want stop or tell", o.OnBadCall)
	case o.MaxTurns < 1:
		return fmt.Errorf("max turns %d: want at least 1", o.MaxTurns)
	case o.TurnTokens < 1:
		return fmt.Errorf("turn tokens %d: want at least 1", o.TurnTokens)
	case o.MaxHits < 1 || o.MaxHits > maxHits:
		return fmt.Errorf("max hits %d: want 1 to %d", o.MaxHits, maxHits)
	case o.MailWords < 0:
		return fmt.Errorf("mail words %d: want 0 (the whole mail) or more", o.MailWords)
	}
	_, err := toolformat.ByName(o.ToolFormat)
	return err
}

// Name implements env.Env.
func (e *Env) Name() string { return Name }

// Options implements env.Env.
func (e *Env) Options() traj.EnvOptions { return e.opts }

// Close closes the index.
func (e *Env) Close() error { return e.store.Close() }

// Open implements env.Env.
func (e *Env) Open(_ context.Context, q *question.Question) (env.Episode, error) {
	owner, err := e.resolve(q.InboxAddress)
	if err != nil {
		return nil, err
	}
	return &episode{Env: e, owner: owner, q: q}, nil
}

// An episode is one attempt. It has no state of its own: the world does not change.
type episode struct {
	*Env
	owner string
	q     *question.Question
}

// Close implements env.Episode. The store stays open: it is the Env's.
func (ep *episode) Close() error { return nil }

// Prompt implements env.Episode.
func (ep *episode) Prompt() []chat.Message {
	return []chat.Message{
		{Role: chat.System, Content: ep.system()},
		{Role: chat.User, Content: ep.today() + ep.q.Question},
	}
}

func (ep *episode) system() string {
	rule := "A search takes any of its words, best first."
	if ep.opts.Search == string(mailstore.All) {
		rule = "A search needs all of its words, newest first."
	}
	return fmt.Sprintf("You answer questions about the mailbox of %s. %s %s", ep.q.InboxAddress, ep.format.Describe(ep.Tools()), rule)
}

// today is the day of the question: its own, else that of the newest mail.
func (ep *episode) today() string {
	day := ep.q.QueryDate
	if newest := ep.store.NewestDate(ep.owner); day == "" && !newest.IsZero() {
		day = newest.Format(time.DateOnly)
	}
	if day = day[:min(len(day), len(time.DateOnly))]; day == "" {
		return ""
	}
	return "Today is " + day + ". "
}

// Tools implements env.Episode.
func (ep *episode) Tools() []chat.Tool { return tools(ep.opts) }

// tools are the reference's three, with the limits of o.
func tools(o traj.EnvOptions) []chat.Tool {
	id := "string"
	if o.IDs == "short" {
		id = "integer"
	}
	search := fmt.Sprintf(`{"type":"object","properties":{"keywords":{"type":"array","items":{"type":"string"}},"from_addr":{"type":"string"},"to_addr":{"type":"string"},"sent_after":{"type":"string","description":"YYYY-MM-DD"},"sent_before":{"type":"string","description":"YYYY-MM-DD"},"max_results":{"type":"integer","maximum":%d}},"required":["keywords"]}`, o.MaxHits)
	read := strings.ReplaceAll(`{"type":"object","properties":{"message_id":{"type":"ID"}},"required":["message_id"]}`, "ID", id)
	answer := strings.ReplaceAll(`{"type":"object","properties":{"answer":{"type":"string"},"sources":{"type":"array","items":{"type":"ID"}}},"required":["answer","sources"]}`, "ID", id)
	return []chat.Tool{
		{Name: toolformat.SearchEmails, Description: "search the mailbox", Parameters: []byte(search)},
		{Name: toolformat.ReadEmail, Description: "read one mail", Parameters: []byte(read)},
		{Name: toolformat.FinalAnswer, Description: "answer, naming the mails it rests on", Parameters: []byte(answer)},
	}
}
