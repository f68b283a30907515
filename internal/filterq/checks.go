package filterq

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"agentmill/internal/extract"
	"agentmill/internal/keyword"
	"agentmill/internal/mail"
	"agentmill/internal/mailbox"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
	"agentmill/internal/realism"
)

// Names of the checks, as they stand in records.
const (
	checkForm      = "form"       // question and answer are there and of a sane size
	checkRealistic = "realistic"  // how_realistic is not below the limit
	checkHidden    = "hidden"     // the question does not say its answer
	checkInbox     = "inbox"      // the mailbox exists
	checkEvidence  = "evidence"   // the evidence stands where the span says, and holds the answer
	checkSupport   = "supported"  // the source mails say the answer
	checkUnique    = "unique"     // no other mail answers otherwise
	checkAbsent    = "absent"     // unanswerable: no mail holds an answer
	checkReach     = "reachable"  // a search with the question's words finds the mail
	checkDuplicate = "duplicate"  // it was not asked before
	checkLeak      = "split_leak" // its evidence stands in no other split
	checkBlind     = "blind"      // nobody answers it without the mail
	needsIndex     = "no index was given"
)

// mailChecks are those that need the mails.
var mailChecks = []string{checkInbox, checkEvidence, checkSupport, checkUnique, checkAbsent, checkReach}

// checkInbox runs the checks of one mailbox's questions.
func (c *Config) checkInbox(ctx context.Context, items []*item) error {
	for _, it := range items {
		it.checkForm()
		it.checkHidden()
		it.evidence = evidenceOf(it.Question)
	}
	if c.Index == nil {
		for _, it := range items {
			it.checkRealism(c.Realism, nil)
			for _, name := range mailChecks {
				it.say(name, Skipped, needsIndex)
			}
		}
		return nil
	}
	owner, ok := c.Index.Resolve(items[0].InboxAddress)
	if !ok {
		for _, it := range items {
			it.checkRealism(c.Realism, nil)
			it.say(checkInbox, Drop, "the index has no mailbox "+it.InboxAddress)
		}
		return nil
	}
	box, err := c.load(ctx, owner)
	if err != nil {
		return err
	}
	for _, it := range items {
		it.say(checkInbox, Pass, "")
		if err := c.checkMails(ctx, box, it); err != nil {
			return fmt.Errorf("check question %s: %w", it.ID, err)
		}
	}
	return nil
}

// load reads a mailbox of the index.
func (c *Config) load(ctx context.Context, owner string) (*mailbox.Box, error) {
	var mails []*mail.Email
	for m, err := range c.Index.Mails(ctx, owner) {
		if err != nil {
			return nil, fmt.Errorf("read mailbox %s from the index: %w", owner, err)
		}
		e := m.Email
		mails = append(mails, &e)
	}
	return mailbox.New(owner, mails), nil
}

// longest are sizes beyond which a question or an answer is none.
const (
	maxQuestionRunes = 400
	maxAnswerWords   = 40
)

func (it *item) checkForm() {
	switch {
	case len(strings.Fields(it.Question.Question)) < 3:
		it.say(checkForm, Drop, "the question has fewer than 3 words")
	case len(it.Question.Question) > maxQuestionRunes:
		it.say(checkForm, Drop, fmt.Sprintf("the question is longer than %d bytes", maxQuestionRunes))
	case strings.TrimSpace(it.Answer) == "":
		it.say(checkForm, Drop, "the answer is empty")
	case len(strings.Fields(it.Answer)) > maxAnswerWords:
		it.say(checkForm, Drop, fmt.Sprintf("the answer has more than %d words", maxAnswerWords))
	case it.Answerable && len(it.MessageIDs) == 0:
		it.say(checkForm, Drop, "no source mail is named")
	case !it.Answerable && (it.Answer != question.Unknown || len(it.MessageIDs) > 0):
		it.say(checkForm, Drop, fmt.Sprintf("it is unanswerable, yet has the answer %q and %d source mails", it.Answer, len(it.MessageIDs)))
	default:
		it.say(checkForm, Pass, "")
	}
}

// checkRealism takes the record's score, or one by its words where it has none.
func (it *item) checkRealism(least float64, gold []*mailbox.Doc) {
	note := ""
	if it.HowRealistic == 0 {
		texts := []string{it.Evidence}
		for _, d := range gold {
			texts = append(texts, d.Subject, d.Body)
		}
		it.HowRealistic = realism.Score(it.Question.Question, texts...)
		note = "scored by its words"
	}
	if it.HowRealistic < least {
		it.say(checkRealistic, Drop, fmt.Sprintf("%.2f is below %.2f", it.HowRealistic, least))
		return
	}
	it.say(checkRealistic, Pass, note)
}

func (it *item) checkHidden() {
	if !it.Answerable {
		it.say(checkHidden, Skipped, "unanswerable")
		return
	}
	q := " " + plain(it.Question.Question) + " "
	for _, a := range append([]string{it.Answer}, it.Aliases...) {
		if p := plain(a); len(p) > 1 && strings.Contains(q, " "+p+" ") {
			it.say(checkHidden, Drop, fmt.Sprintf("the question says %q", a))
			return
		}
	}
	it.say(checkHidden, Pass, "")
}

// plain is text as its words, in small letters.
func plain(s string) string { return strings.ToLower(strings.Join(keyword.Words(s), " ")) }

// evidenceOf is what must not stand in two splits.
func evidenceOf(q *question.Question) []string {
	if e := mailbox.Fold(mailbox.Unquote(q.Evidence)); len(strings.Fields(e)) >= 4 {
		return []string{strings.ToLower(e)}
	}
	return nil
}

// checkMails runs the checks that look at mails.
func (c *Config) checkMails(ctx context.Context, box *mailbox.Box, it *item) error {
	gold := it.gold(box)
	it.checkRealism(c.Realism, gold)
	if !it.Answerable {
		for _, name := range []string{checkEvidence, checkSupport, checkUnique, checkReach} {
			it.say(name, Skipped, "unanswerable")
		}
		it.checkAbsent(box)
		return nil
	}
	it.say(checkAbsent, Skipped, "answerable")
	if gold == nil {
		it.say(checkEvidence, Drop, "a source mail is not in the mailbox")
		return nil
	}
	it.checkEvidence(gold)
	it.checkSupport(gold)
	it.readPassages(gold)
	if c.Explain == it.ID {
		it.tellStory(gold)
	}
	it.fillAlsoIn(box, gold)
	it.checkUnique(box)
	return c.checkReach(ctx, box.Owner, it)
}

// gold returns the source mails, nil where one is missing.
func (it *item) gold(box *mailbox.Box) []*mailbox.Doc {
	var docs []*mailbox.Doc
	for _, id := range it.MessageIDs {
		d := box.Doc(id)
		if d == nil {
			return nil
		}
		docs = append(docs, d)
	}
	return docs
}

// checkEvidence looks the evidence up at its span, or anywhere in the source
// mails where no span is given.
func (it *item) checkEvidence(gold []*mailbox.Doc) {
	if it.Evidence == "" {
		it.say(checkEvidence, Skipped, "the record names no evidence")
		return
	}
	evidence := mailbox.Fold(it.Evidence)
	for _, s := range it.Spans {
		if problem := it.spanProblem(gold, s, evidence); problem != "" {
			it.say(checkEvidence, Drop, problem)
			return
		}
	}
	if len(it.Spans) > 0 {
		it.say(checkEvidence, Pass, "")
		return
	}
	unquoted := noMarks(mailbox.Unquote(it.Evidence))
	if !slices.ContainsFunc(gold, func(d *mailbox.Doc) bool { return strings.Contains(noMarks(d.Folded), unquoted) }) {
		it.say(checkEvidence, Drop, "the evidence stands in no source mail")
		return
	}
	it.say(checkEvidence, Pass, "no span given; the evidence stands in a source mail")
}

// noMarks folds white space and the marks of quoted lines.
func noMarks(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '>' }), " ")
}

// checkSupport looks for the answer in the source mails, whatever the evidence is.
func (it *item) checkSupport(gold []*mailbox.Doc) {
	if len(terms(yesNo.ReplaceAllString(it.Answer, ""))) == 0 {
		it.say(checkSupport, Skipped, "a yes or no is no text to look for")
		return
	}
	var texts []string
	for _, d := range gold {
		texts = append(texts, d.Subject+"\n"+d.Unquoted()+"\n"+d.Date.Format("Monday January 2 2006")+"\n"+d.From)
	}
	if !supported(it.Answer, it.Aliases, texts) {
		it.say(checkSupport, Drop, fmt.Sprintf("the source mails do not say %q", it.Answer))
		return
	}
	it.say(checkSupport, Pass, "")
}

// spanProblem says what is wrong with a span, "" if nothing.
func (it *item) spanProblem(gold []*mailbox.Doc, s question.Span, evidence string) string {
	i := slices.IndexFunc(gold, func(d *mailbox.Doc) bool { return d.IsOrHolds(s.MessageID) })
	if i < 0 {
		return fmt.Sprintf("the span is in %s, which is no source mail", s.MessageID)
	}
	body := gold[i].Body
	if s.Start < 0 || s.End > len(body) || s.Start >= s.End {
		return fmt.Sprintf("the span %d-%d is outside the body of %d bytes", s.Start, s.End, len(body))
	}
	text := mailbox.Fold(body[s.Start:s.End])
	if !strings.Contains(text, evidence) && !strings.Contains(evidence, text) {
		return fmt.Sprintf("at %d-%d stands other text than the evidence", s.Start, s.End)
	}
	if !strings.Contains(" "+plain(text)+" ", " "+plain(it.Answer)+" ") {
		return "the evidence does not hold the answer"
	}
	return ""
}

// fillAlsoIn lists the other mails that carry the evidence, with their copies,
// and the copies of the source mails.
func (it *item) fillAlsoIn(box *mailbox.Box, gold []*mailbox.Doc) {
	docs := slices.Clone(gold)
	if len(evidenceOf(it.Question)) > 0 {
		docs = append(docs, box.SameEvidence(it.Evidence)...)
	}
	ids := slices.Clone(it.AlsoIn)
	for _, d := range docs {
		ids = append(ids, d.MessageID)
		for _, c := range d.Copies {
			ids = append(ids, c.MessageID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	it.AlsoIn = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(it.MessageIDs, id) })
}

// asked is the question as package mailbox takes it.
func (it *item) asked() mailbox.Asked {
	kind := extract.Kind(it.Kind)
	if k := extract.KindOfQuestion(it.Question.Question); kind == "" || kind == "other" {
		kind = k
	}
	now, err := time.Parse(time.DateOnly, it.QueryDate[:min(len(it.QueryDate), len(time.DateOnly))])
	if err == nil {
		now = now.AddDate(0, 0, 1) // mails of the day itself count
	}
	return mailbox.Asked{Question: it.Question.Question, Answer: it.Answer, Evidence: it.Evidence, Kind: kind, Gold: slices.Concat(it.MessageIDs, it.AlsoIn), Now: now}
}

// checkUnique searches for mails that fit the question as well and say
// something else.
func (it *item) checkUnique(box *mailbox.Box) {
	if it.Evidence == "" {
		it.say(checkUnique, Skipped, "the record names no evidence")
		return
	}
	rivals := box.Rivals(it.asked())
	if len(rivals) == 0 {
		rivals = box.Contradicting(it.asked())
	}
	if len(rivals) == 0 {
		rivals = box.Restating(it.asked())
	}
	if len(rivals) > 0 {
		it.say(checkUnique, Drop, fmt.Sprintf("%d other mails fit as well; %s says %q", len(rivals), rivals[0].Doc.MessageID, rivals[0].Value))
		return
	}
	it.say(checkUnique, Pass, "")
}

// checkAbsent searches for mails that would answer an unanswerable question.
func (it *item) checkAbsent(box *mailbox.Box) {
	q := it.asked()
	q.Now = time.Time{}
	if found := box.Answering(q); len(found) > 0 {
		it.say(checkAbsent, Drop, fmt.Sprintf("%s may answer it: %q", found[0].Doc.MessageID, found[0].Value))
		return
	}
	it.say(checkAbsent, Pass, "")
}

// checkReach records at which hit a search with the question's content words
// has a source mail.
func (c *Config) checkReach(ctx context.Context, owner string, it *item) error {
	words := keyword.Content(it.Question.Question)
	if len(words) == 0 {
		it.say(checkReach, Drop, "the question has no word to search for")
		return nil
	}
	hits, err := c.Index.Search(ctx, mailstore.Query{Owner: owner, Keywords: words, Mode: mailstore.Any, Max: max(c.Hits, c.MaxRank)})
	if err != nil {
		return err
	}
	rank := 0
	for i, h := range hits.Hits {
		if slices.Contains(it.MessageIDs, h.MessageID) || slices.Contains(it.AlsoIn, h.MessageID) {
			rank = i + 1
			break
		}
	}
	switch {
	case rank > 0 && rank <= c.Hits:
		it.say(checkReach, Pass, fmt.Sprintf("hit %d", rank))
	case rank > 0:
		it.say(checkReach, Pass, fmt.Sprintf("only at hit %d", rank))
	case c.MaxRank > 0:
		it.say(checkReach, Drop, fmt.Sprintf("not within %d hits", c.MaxRank))
	default:
		it.say(checkReach, Pass, fmt.Sprintf("not within %d hits", c.Hits))
	}
	return nil
}
