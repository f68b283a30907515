package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	return "", &AbsentError{Inbox: inbox, Near: e.near(inbox)}
}

// near are the owners that have a name most like inbox.
func (e *Env) near(inbox string) []string {
	type scored struct {
		owner string
		far   int
	}
	var all []scored
	for _, box := range e.store.Owners() {
		s := scored{owner: box.Owner, far: distance(inbox, box.Owner)}
		for _, other := range append(box.Aliases, box.Name) {
			s.far = min(s.far, distance(inbox, other))
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, s := range all[:min(len(all), nearest)] {
		names = append(names, s.owner)
	}
	return names
}

// distance is how many runes must be put in, left out or replaced to make b of a.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			replace := diagonal
			if x[i] != y[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
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
