package email

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentmill/internal/env"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
)

// nearest is how many names a wrong inbox is answered with.
const nearest = 3

// An AbsentError says that the index has no mailbox of this name. It is an
// env.ErrAbsent.
type AbsentError struct {
	Inbox string
	Near  []string // names that are like it, likeliest first
}

func (e *AbsentError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no mailbox %q: the index is empty", e.Inbox)
	}
	return fmt.Sprintf("no mailbox %q in the index; the nearest: %s", e.Inbox, strings.Join(e.Near, ", "))
}

func (e *AbsentError) Unwrap() error { return env.ErrAbsent }

// resolve is the owner of a question's mailbox.
func (e *Env) resolve(inbox string) (string, error) {
	if owner, ok := e.store.Resolve(inbox); ok {
		return owner, nil
	}
	return "", &AbsentError{Inbox: inbox, Near: e.store.Near(inbox, nearest)}
}

// Names implements env.Namer.
func (e *Env) Names(ctx context.Context, q *question.Question, id string) (recorded, shown string, ok bool, err error) {
	owner, err := e.resolve(q.InboxAddress)
	if err != nil {
		return "", "", false, err
	}
	messageID, row, err := e.store.Canonical(ctx, owner, id)
	if errors.Is(err, mailstore.ErrNoMail) {
		return "", "", false, nil
	}
	return messageID, shownID(row, messageID, e.opts), err == nil, err
}

// Cite implements env.Citer: Message-ID, date, sender, subject.
func (e *Env) Cite(ctx context.Context, q *question.Question, id string) (string, error) {
	owner, err := e.resolve(q.InboxAddress)
	if err != nil {
		return "", err
	}
	m, err := e.store.Read(ctx, owner, id)
	if errors.Is(err, mailstore.ErrNoMail) {
		return id + " (no such mail)", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s  %s  %s  %s", m.MessageID, shownDay(m.Date), m.From, cut(m.Subject, headerRunes)), nil
}
