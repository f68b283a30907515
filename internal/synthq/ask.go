package synthq

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"agentmill/internal/extract"
	"agentmill/internal/mailbox"
	"agentmill/internal/question"
	"agentmill/internal/realism"
	"agentmill/internal/seed"
)

// batchSize is the recipe's: mails are taken in order, twenty at a time, and a
// mailbox's questions are spread over its batches.
const batchSize = 20

// ask makes the questions of one mailbox.
func (c *Config) ask(ctx context.Context, in inbox) ([]question.Question, error) {
	box, err := c.whole(ctx, in)
	if err != nil {
		return nil, err
	}
	a := &asker{Config: c, inbox: in, box: box, taken: map[string]bool{}, count: map[extract.Kind]int{}}
	if a.takes(Signature) {
		a.signs = a.signatures()
	}
	batches := a.batches()
	answerable := a.choose(batches)
	n := int(math.Round(c.Unanswerable / (1 - c.Unanswerable) * float64(len(answerable))))
	if c.PerInbox > 0 {
		n = min(n, int(math.Round(c.Unanswerable*float64(c.PerInbox))))
	}
	none := a.unanswerable(batches, n)
	return append(answerable, none...), ctx.Err()
}

// An asker makes the questions of one mailbox.
type asker struct {
	*Config
	inbox
	box   *mailbox.Box
	signs map[string][]candidate // of signatures, by mail
	taken map[string]bool        // question texts in small letters
	count map[extract.Kind]int
}

// mine reports whether an address is the owner's.
func (a *asker) mine(address string) bool {
	if a.Index != nil {
		owner, ok := a.Index.Resolve(address)
		return ok && owner == a.owner
	}
	return strings.EqualFold(address, a.owner)
}

// batches returns the candidates of the mails, batch by batch.
func (a *asker) batches() [][]candidate {
	var out [][]candidate
	n := 0
	for _, e := range a.mails {
		d := a.box.Doc(e.MessageID)
		if d == nil || !fits(d) {
			continue
		}
		if n%batchSize == 0 {
			out = append(out, nil)
		}
		n++
		last := len(out) - 1
		out[last] = append(out[last], a.ofMail(d)...)
	}
	return out
}

// candidates are the questions that can be made of a mail, of the shapes wanted.
func (a *asker) candidates(d *mailbox.Doc) []candidate {
	var all []candidate
	if a.takes(Statement) {
		all = candidates(d, newVoice(d.Email, a.mine, a.box))
	}
	if a.takes(Notice) {
		all = append(all, notices(d)...)
	}
	return append(all, a.signs[d.MessageID]...)
}

// ofMail chooses the candidates of one mail: of the wanted kinds, from
// different sentences and of seldom kinds first.
func (a *asker) ofMail(d *mailbox.Doc) []candidate {
	rnd := seed.Stream(a.Seed, "mail", a.owner, d.MessageID)
	all := a.candidates(d)
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	order := map[int]int{} // by place of the answer
	for _, c := range all {
		order[c.start] = seenBefore(all, c)*1000 + a.count[c.words.kind]
	}
	slices.SortStableFunc(all, func(x, y candidate) int { return order[x.start] - order[y.start] })
	var out []candidate
	for _, c := range all {
		if len(out) == a.PerMail {
			break
		}
		if a.wanted(c.words.kind) && c.word(rnd) && a.fresh(c) && a.unrivaled(&c) {
			out = append(out, c)
			a.count[c.words.kind]++
		}
	}
	return out
}

// seenBefore counts the candidates of the same sentence that stand before c.
func seenBefore(all []candidate, c candidate) int {
	n := 0
	for _, x := range all {
		if x.start == c.start && x.words.wh == c.words.wh {
			return n
		}
		if x.evidence == c.evidence {
			n++
		}
	}
	return n
}

func (a *asker) wanted(k extract.Kind) bool {
	return len(a.Kinds) == 0 || slices.Contains(a.Kinds, string(k))
}

// fresh reports whether the question was not asked before, and keeps it.
func (a *asker) fresh(c candidate) bool {
	key := c.key()
	if a.taken[key] || a.taken[strings.ToLower(c.text)] {
		return false
	}
	a.taken[key], a.taken[strings.ToLower(c.text)] = true, true
	return true
}

// key names what is asked about what.
func (c *candidate) key() string {
	if len(c.ways) > 0 {
		return strings.ToLower(c.ways[0].direct) + "\x00" + c.evidence
	}
	return strings.ToLower(c.words.direct()) + "\x00" + c.evidence
}

// unrivaled reports whether no mail of the index answers otherwise. Without an
// index that is left to filterq.
func (a *asker) unrivaled(c *candidate) bool {
	if a.Index == nil {
		return true
	}
	q := mailbox.Asked{Question: c.text, Answer: c.answer, Evidence: c.evidence, Kind: c.words.kind, Gold: append([]string{c.doc.MessageID}, c.also...), Now: a.queryDate(c)}
	return len(a.box.Rivals(q)) == 0
}

// choose takes all candidates, or the quota spread over batches and kinds.
func (a *asker) choose(batches [][]candidate) []question.Question {
	quota := math.MaxInt
	if a.PerInbox > 0 {
		quota = a.PerInbox - int(math.Round(a.Unanswerable*float64(a.PerInbox)))
	}
	var chosen []candidate
	count := map[extract.Kind]int{}
	rnd := seed.Stream(a.Seed, "choose", a.owner)
	left := make([][]candidate, len(batches))
	for i, b := range batches {
		left[i] = slices.Clone(b)
		rnd.Shuffle(len(left[i]), func(x, y int) { left[i][x], left[i][y] = left[i][y], left[i][x] })
	}
	for took := true; took && len(chosen) < quota; {
		took = false
		for i := range left {
			if len(left[i]) == 0 || len(chosen) == quota {
				continue
			}
			at := rarest(left[i], count)
			c := left[i][at]
			left[i] = slices.Delete(left[i], at, at+1)
			count[c.words.kind]++
			chosen = append(chosen, c)
			took = true
		}
	}
	slices.SortStableFunc(chosen, func(x, y candidate) int {
		return cmp.Or(x.doc.Date.Compare(y.doc.Date), strings.Compare(x.doc.MessageID, y.doc.MessageID), x.start-y.start)
	})
	out := make([]question.Question, len(chosen))
	for i := range chosen {
		out[i] = a.record(&chosen[i])
	}
	return out
}

// rarest returns the first candidate of the kind that was chosen least.
func rarest(cs []candidate, count map[extract.Kind]int) int {
	best := 0
	for i := range cs {
		if count[cs[i].words.kind] < count[cs[best].words.kind] {
			best = i
		}
	}
	return best
}

// queryDate is when the question is asked: 1 to 30 days and up to a day after
// the mail, as in ART-E.
func (a *asker) queryDate(c *candidate) time.Time {
	rnd := seed.Stream(a.Seed, "query date", c.doc.MessageID, c.start)
	return c.doc.Date.AddDate(0, 0, 1+rnd.IntN(30)).Add(time.Duration(rnd.IntN(86400)) * time.Second)
}

// record is the candidate as a record.
func (a *asker) record(c *candidate) question.Question {
	q := question.Question{
		Question: c.text, Answer: c.answer, Aliases: aliases(c), Answerable: true,
		MessageIDs: []string{c.doc.MessageID}, AlsoIn: c.also, Evidence: c.evidence,
		Spans:        []question.Span{{MessageID: c.doc.MessageID, Start: c.sentence.Start, End: c.sentence.End}},
		HowRealistic: realism.Score(c.text, c.doc.Subject, c.doc.Body), InboxAddress: a.owner, QueryDate: a.queryDate(c).Format(time.DateOnly),
		Kind: string(c.words.kind), Hops: 1, Env: "email", Generator: "extractive",
	}
	q.ID = q.Hash()
	return q
}

func weekdayOnly(answer string) bool {
	_, err := time.Parse("Monday", answer)
	return err == nil
}

// aliases are shorter forms of an answer that mean the same.
func aliases(c *candidate) []string {
	out := []string{}
	switch c.words.kind {
	case extract.Date, extract.Deadline:
		if day, rest, ok := strings.Cut(c.answer, ", "); ok && weekdayOnly(day) {
			out = append(out, rest)
		}
	case extract.Quantity:
		if n, _, ok := strings.Cut(c.answer, " "); ok {
			out = append(out, n)
		}
	case extract.Amount:
		for _, sep := range []string{" per ", " a ", "/"} {
			if n, _, ok := strings.Cut(c.answer, sep); ok {
				out = append(out, n)
			}
		}
	}
	if rest, ok := strings.CutPrefix(c.answer, "the "); ok {
		out = append(out, rest)
	}
	return out
}

// shuffled returns a copy of list in random order.
func shuffled[T any](rnd *rand.Rand, list []T) []T {
	out := slices.Clone(list)
	rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
