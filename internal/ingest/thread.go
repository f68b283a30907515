package ingest

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"agentmill/internal/mail"
)

// threadGap is the longest silence within a thread that is recognised by its
// subject.
const threadGap = 30 * 24 * time.Hour

var replyPrefix = regexp.MustCompile(`^(?i)\s*((re|fw|fwd|aw|wg|sv|antw)(\[\d+\])?\s*:\s*)+`)

// thread gives each mail of one mailbox, sorted by date, the id of its
// conversation: the Message-ID of its first mail. Mails belong together if their
// headers refer to each other, or if one is a reply or forward (its subject says
// so) of the same subject with a common party other than the owner, within 30
// days. Where a mail brings a thread id of its own, that is kept.
func thread(emails []*mail.Email, owner map[string]bool) {
	t := threads{parent: make([]int, len(emails)), byID: map[string]int{}, bySubject: map[string][]int{}, owner: owner, emails: emails}
	for i := range emails {
		t.parent[i] = i
	}
	for i, e := range emails {
		t.byReference(i, e)
		t.bySubjectLine(i, e)
	}
	for i, e := range emails {
		if e.ThreadID == "" {
			e.ThreadID = emails[t.root(i)].MessageID
		}
	}
}

// threads is a union-find over mails; the root is the oldest.
type threads struct {
	emails    []*mail.Email
	parent    []int
	byID      map[string]int
	bySubject map[string][]int // mails of a subject, oldest first
	owner     map[string]bool
}

func (t *threads) root(i int) int {
	for t.parent[i] != i {
		t.parent[i] = t.parent[t.parent[i]]
		i = t.parent[i]
	}
	return i
}

func (t *threads) join(i, j int) {
	if i, j = t.root(i), t.root(j); i < j {
		t.parent[j] = i
	} else {
		t.parent[i] = j
	}
}

// byReference joins mails that name each other or a third one, present or not.
func (t *threads) byReference(i int, e *mail.Email) {
	ids := append([]string{e.MessageID, e.InReplyTo}, e.References...)
	for _, c := range e.Copies {
		ids = append(ids, c.MessageID)
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		if j, known := t.byID[id]; known {
			t.join(i, j)
		} else {
			t.byID[id] = i
		}
	}
}

func (t *threads) bySubjectLine(i int, e *mail.Email) {
	subject := replyPrefix.ReplaceAllString(e.Subject, "")
	key := strings.ToLower(strings.Join(strings.Fields(subject), " "))
	if key == "" {
		return
	}
	if subject != e.Subject {
		for _, j := range slices.Backward(t.bySubject[key]) {
			if e.Date.Sub(t.emails[j].Date) > threadGap {
				break
			}
			if t.shareParty(e, t.emails[j]) {
				t.join(i, j)
				break
			}
		}
	}
	t.bySubject[key] = append(t.bySubject[key], i)
}

// shareParty reports whether two mails have a party in common. The owner is
// one of every mail, so he counts only where nobody else is there.
func (t *threads) shareParty(a, b *mail.Email) bool {
	others := map[string]bool{}
	for _, address := range parties(a) {
		if !t.owner[address] {
			others[address] = true
		}
	}
	if len(others) == 0 {
		return true
	}
	return slices.ContainsFunc(parties(b), func(address string) bool { return others[address] })
}

func parties(e *mail.Email) []string {
	return slices.Concat([]string{e.From}, e.To, e.Cc)
}
