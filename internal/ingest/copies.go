package ingest

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/mail"
)

// A copyKey is equal for messages that are the same: sender, second, subject
// and text, blanks folded and letter case ignored. Message-IDs do not count:
// Enron gave every copy one of its own, and some writers use one twice.
type copyKey [sha256.Size]byte

func keyOf(e *mail.Email) copyKey {
	fold := func(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }
	return sha256.Sum256([]byte(strings.Join([]string{strconv.FormatInt(e.Date.Unix(), 10), e.From, fold(e.Subject), fold(e.Body)}, "\x00")))
}

// A mailbox collects the messages of one owner.
type mailbox struct {
	groups map[copyKey]*group
}

// A group is one message with its copies. message is the one that is kept.
type group struct {
	message *mail.Email
	copies  []mail.Copy
}

func newMailbox() *mailbox { return &mailbox{groups: map[copyKey]*group{}} }

// add takes a message. It may bring copies of its own, if it was a record.
func (b *mailbox) add(e *mail.Email, key copyKey) {
	g := b.groups[key]
	switch {
	case g == nil:
		b.groups[key] = &group{message: e, copies: e.Copies}
		return
	case before(e, g.message):
		g.copies = append(g.copies, copyOf(g.message))
		g.message = e
	default:
		g.copies = append(g.copies, copyOf(e))
	}
	g.copies = append(g.copies, e.Copies...)
}

func copyOf(e *mail.Email) mail.Copy {
	return mail.Copy{MessageID: e.MessageID, Folder: e.Folder, Source: e.Source}
}

// before orders copies: the inbox's and the sent one are kept before those of
// folders that repeat them, then the lowest path. It does not depend on the
// order of reading.
func before(a, b *mail.Email) bool {
	return cmp.Or(cmp.Compare(rank(a.Folder), rank(b.Folder)), compareNatural(a.Source, b.Source)) < 0
}

func rank(folder string) int {
	folder = strings.ToLower(folder)
	switch {
	case folder == "inbox":
		return 0
	case isSent(folder):
		return 1
	}
	return 2
}

// isSent reports whether a folder holds what its owner sent.
func isSent(folder string) bool {
	name := strings.Trim(strings.ToLower(folder), "_")
	return strings.HasPrefix(name, "sent") || strings.HasPrefix(name, "outbox")
}

// compareNatural orders paths with the numbers in them by value: 2. before 10.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da == 0 || db == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[da:], b[db:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// emails returns the kept messages, in no order, as mails of owner.
func (b *mailbox) emails(owner string) []*mail.Email {
	all := make([]*mail.Email, 0, len(b.groups))
	for _, g := range b.groups {
		g.message.Owner, g.message.Copies = owner, g.others()
		all = append(all, g.message)
	}
	return all
}

// others are the copies of the message that is kept, in order, each once. A file
// that was read twice is not its own copy.
func (g *group) others() []mail.Copy {
	slices.SortFunc(g.copies, func(x, y mail.Copy) int {
		return cmp.Or(compareNatural(x.Source, y.Source), cmp.Compare(x.MessageID, y.MessageID), cmp.Compare(x.Folder, y.Folder))
	})
	self := copyOf(g.message)
	return slices.DeleteFunc(slices.Compact(g.copies), func(c mail.Copy) bool { return c == self })
}
