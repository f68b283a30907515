package ingest

import (
	"slices"
	"time"

	"agentmill/internal/mail"
	"agentmill/internal/near"
)

// threadGap is the longest silence within a thread that is recognised by its
// subject, quoteGap by quoted text.
const (
	threadGap = 30 * 24 * time.Hour
	quoteGap  = 365 * 24 * time.Hour
)

// thread gives each mail of one mailbox, sorted by date, the id of its
// conversation: the Message-ID of its first mail. Mails belong together if their
// headers refer to each other. One without such a header belongs to the mail
// whose own text it quotes; or, if its subject says that it is a reply or
// forward, to the last of the same subject with a common party other than the
// owner, within 30 days. Where a mail brings a thread id of its own, that is
// kept.
func thread(emails []*mail.Email, owner map[string]bool) {
	t := threads{
		parent: make([]int, len(emails)), byID: map[string]int{}, bySubject: map[string][]int{},
		quotes: quotes{emails: emails, own: make([]near.Sketch, len(emails)), byHash: map[uint32][]int{}},
		owner:  owner, emails: emails,
	}
	for i := range emails {
		t.parent[i] = i
	}
	for i, e := range emails {
		t.byReference(i, e)
		if e.InReplyTo == "" && len(e.References) == 0 && !t.byQuote(i, e) {
			t.bySubjectLine(i, e)
		}
		t.quotes.add(i, e)
		if topic := mail.Topic(e.Subject); topic != "" {
			t.bySubject[topic] = append(t.bySubject[topic], i)
		}
	}
	for i, e := range emails {
		if e.ThreadID == "" {
			e.ThreadID = emails[t.root(i)].MessageID
		}
	}
}

// threads is a union-find over mails; the root is the oldest. With references
// its sets are the trees of JWZ's algorithm, which differ in shape only.
type threads struct {
	emails    []*mail.Email
	parent    []int
	byID      map[string]int
	bySubject map[string][]int // mails of a subject, oldest first
	quotes    quotes
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

// byQuote joins a mail to the one that it quotes, if that is there.
func (t *threads) byQuote(i int, e *mail.Email) bool {
	j, found := t.quotes.find(e)
	if found {
		t.join(i, j)
	}
	return found
}

func (t *threads) bySubjectLine(i int, e *mail.Email) {
	topic := mail.Topic(e.Subject)
	if topic == "" || !mail.IsReply(e.Subject) {
		return
	}
	for _, j := range slices.Backward(t.bySubject[topic]) {
		if e.Date.Sub(t.emails[j].Date) > threadGap {
			return
		}
		if t.shareParty(e, t.emails[j]) {
			t.join(i, j)
			return
		}
	}
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

// What makes quoted text a sign: the quoted mail's own text has so many shingles
// at least (8 words), and nearly all that can be compared, so many at least,
// stand in the quotation.
const (
	quotedLeast = 6
	quotedShare = .8
	quotedOn    = 3
	quoteHashes = 8  // of a mail, by which it is found
	quoteRecent = 16 // mails that are looked at for one hash, the latest
)

// quotes finds mails by their own text.
type quotes struct {
	emails []*mail.Email
	own    []near.Sketch
	byHash map[uint32][]int // smallest hashes of own texts → mails, oldest first
}

func (q *quotes) add(i int, e *mail.Email) {
	own := near.Of(near.Own(e))
	if len(own) < quotedLeast {
		return
	}
	q.own[i] = own
	for _, hash := range own[:min(len(own), quoteHashes)] {
		list := append(q.byHash[hash], i)
		q.byHash[hash] = list[max(0, len(list)-quoteRecent):]
	}
}

// find returns the mail of which most stands in e's quotation, the latest among
// equals.
func (q *quotes) find(e *mail.Email) (best int, found bool) {
	if len(e.Quoted) == 0 {
		return 0, false
	}
	quoted := near.Of(near.Quoted(e))
	if len(quoted) < quotedLeast {
		return 0, false
	}
	most := 0.0
	seen := map[int]bool{}
	for _, hash := range quoted {
		for _, j := range q.byHash[hash] {
			if seen[j] || e.Date.Sub(q.emails[j].Date) > quoteGap {
				continue
			}
			seen[j] = true
			share, on := q.own[j].Within(quoted)
			if share < quotedShare || on < quotedOn {
				continue
			}
			if n := share * float64(on); n > most || n == most && j > best {
				most, best, found = n, j, true
			}
		}
	}
	return best, found
}

// linkNear names, of each mail that nearly equals an older one of its mailbox,
// that one.
func linkNear(emails []*mail.Email) {
	var seen near.Index
	for i, e := range emails {
		p := near.PrintOf(e)
		if j, found := seen.Find(p); found {
			e.NearOf = emails[j].MessageID
		} else {
			seen.Add(i, p)
		}
	}
}
