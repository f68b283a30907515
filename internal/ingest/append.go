package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
)

// A base is the database that mail is added to: its content, and the writer of
// the one that takes its place.
type base struct {
	*mailstore.Store
	builder *mailstore.Builder
}

// openBase opens the database that --append names, nil if there is none yet.
// Nobody else adds to it until it is closed.
func openBase(ctx context.Context, cfg *Config) (*base, error) {
	if _, err := os.Stat(cfg.Index); !cfg.Append || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	b, err := mailstore.Extend(ctx, cfg.Index)
	if err != nil {
		return nil, err
	}
	s, err := mailstore.Open(cfg.Index)
	if err != nil {
		b.Abort()
		return nil, err
	}
	if cfg.Stem && !s.Stem() {
		b.Abort()
		return nil, errors.Join(fmt.Errorf("--stem: %s was built without; make it anew to index word stems", cfg.Index), s.Close())
	}
	return &base{s, b}, nil
}

func (b *base) close() {
	if b != nil {
		b.builder.Abort()
		_ = b.Close() // it was only read
	}
}

// name adds to named the owners of mailboxes that the database has. A mailbox
// with a custodian's name is known by it; another by what its mail says of its
// owner, else by its name.
func (b *base) name(boxes identities, named map[string]string) error {
	if b == nil {
		return nil
	}
	for _, name := range boxes.names() {
		if named[name] != "" {
			continue
		}
		who, err := boxes.identity(name)
		if err != nil {
			return err
		}
		ways := []string{who.canonical(name), name}
		if _, _, ok := custodianName(name); ok {
			slices.Reverse(ways)
		}
		for _, way := range ways {
			if owner, ok := b.Resolve(way); ok {
				named[name] = owner
				break
			}
		}
	}
	return nil
}

// unclaimed leaves out the names of o that belong to other mailboxes.
func (b *base) unclaimed(o mailstore.Mailbox) mailstore.Mailbox {
	if b == nil {
		return o
	}
	taken := func(alias string) bool {
		owner, ok := b.Resolve(alias)
		return ok && owner != strings.ToLower(o.Owner)
	}
	o.Aliases = slices.DeleteFunc(slices.Clone(o.Aliases), taken)
	if taken(o.Name) {
		o.Name = ""
	}
	return o
}

// A repeat is a mail of the database of which more copies came.
type repeat struct {
	row    int64
	copies []mail.Copy
}

// sort parts mails of an owner into new ones and copies of those that are there.
func (b *base) sort(ctx context.Context, owner string, emails []*mail.Email) (fresh []*mail.Email, repeats []repeat, err error) {
	if !b.has(owner) {
		return emails, nil, nil
	}
	known := map[int64]map[copyKey]int64{} // of seconds that were looked up: rows
	for _, e := range emails {
		row, err := b.find(ctx, owner, e, known)
		if err != nil {
			return nil, nil, err
		}
		if row == 0 {
			fresh = append(fresh, e)
			continue
		}
		repeats = append(repeats, repeat{row, append([]mail.Copy{copyOf(e)}, e.Copies...)})
	}
	return fresh, repeats, nil
}

func (b *base) has(owner string) bool {
	if b == nil {
		return false
	}
	_, ok := b.Resolve(owner)
	return ok
}

// find returns the row of the same message, 0 if there is none. Thousands of mails
// can be of one second, or without a date: those are read once.
func (b *base) find(ctx context.Context, owner string, e *mail.Email, known map[int64]map[copyKey]int64) (int64, error) {
	rows, looked := known[e.Date.Unix()]
	if !looked {
		same, err := b.At(ctx, owner, e.Date)
		if err != nil {
			return 0, err
		}
		rows = map[copyKey]int64{}
		for _, m := range slices.Backward(same) { // the first of equals counts
			rows[keyOf(&m.Email)] = m.Row
		}
		known[e.Date.Unix()] = rows
	}
	return rows[keyOf(e)], nil
}

// around are mails of the database that may be of one conversation with the
// fresh ones, which are in order of dates: those that they refer to, and those
// since the longest silence within a thread before the first of them.
func (b *base) around(ctx context.Context, owner string, fresh []*mail.Email) (old []*mail.Email, err error) {
	if !b.has(owner) || len(fresh) == 0 {
		return nil, nil
	}
	seen := map[int64]bool{}
	add := func(m *mailstore.Mail) {
		if !seen[m.Row] {
			seen[m.Row] = true
			old = append(old, &m.Email)
		}
	}
	for _, e := range fresh {
		for _, id := range append([]string{e.InReplyTo}, e.References...) {
			m, err := b.Read(ctx, owner, "<"+strings.Trim(id, "<> ")+">")
			if err == nil {
				add(m)
			} else if !errors.Is(err, mailstore.ErrNoMail) {
				return nil, err
			}
		}
	}
	i := slices.IndexFunc(fresh, func(e *mail.Email) bool { return !e.Date.IsZero() })
	if i < 0 {
		return old, nil
	}
	for m, err := range b.MailsSince(ctx, owner, fresh[i].Date.Add(-threadGap-time.Second)) {
		if err != nil {
			return nil, err
		}
		add(m)
	}
	return old, nil
}

// continued is thread and linkNear for fresh mails where old ones, which keep
// what they have, may come before them.
func continued(old, fresh []*mail.Email, owner map[string]bool) {
	threadOf := map[string]string{}
	for _, e := range old {
		threadOf[e.MessageID] = e.ThreadID
	}
	all := append(slices.Clone(old), fresh...)
	slices.SortStableFunc(all, byDate)
	thread(all, owner)
	linkNear(all)
	for _, e := range fresh {
		e.ThreadID = cmp.Or(threadOf[e.ThreadID], e.ThreadID)
	}
}

func byDate(a, b *mail.Email) int {
	return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.MessageID, b.MessageID), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Body, b.Body))
}
