package synthq

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode"

	"agentmill/internal/extract"
	"agentmill/internal/keyword"
	"agentmill/internal/mailbox"
	"agentmill/internal/realism"
)

// A candidate is a question that could be asked about a mail.
type candidate struct {
	doc      *mailbox.Doc
	words    wording
	text     string // the question
	answer   string
	start    int           // of the answer in the body
	sentence extract.Range // of the evidence in the body
	evidence string        // white space folded
	context  int           // how much had to be added to name the matter: 0, 1 or 2
	ways     []way         // of asking; none: words says how
	also     []string      // other mails that say the same
}

// mailLimits are the recipe's: longer mails and mails to crowds are passed over.
const (
	maxBody       = 5000
	maxRecipients = 30
)

// fits reports whether questions may be made of a mail.
func fits(d *mailbox.Doc) bool {
	return len(d.Body) <= maxBody && len(d.To)+len(d.Cc)+len(d.Bcc) <= maxRecipients && d.NearOf == "" && !d.Date.IsZero()
}

// candidates returns the questions that can be made of the words of d's own sender.
func candidates(d *mailbox.Doc, v voice) []candidate {
	quoted := make([]extract.Range, len(d.Quoted))
	for i, q := range d.Quoted {
		quoted[i] = extract.Range{Start: q.Start, End: q.End}
	}
	var out []candidate
	for _, own := range extract.Own(d.Body, quoted) {
		text := d.Body[own.Start:own.End]
		facts := extract.Spans(text)
		for _, s := range extract.SentencesWith(text, facts) {
			evidence := mailbox.Fold(text[s.Start:s.End])
			if n := len(strings.Fields(evidence)); n < 4 || n > 45 || disowned.MatchString(evidence) {
				continue
			}
			for _, c := range extract.Clauses(text, s, facts) {
				for _, w := range wordings(c, v) {
					c := candidate{doc: d, words: w, evidence: evidence, start: own.Start + w.answer.Start}
					c.sentence = extract.Range{Start: own.Start + s.Start, End: own.Start + s.End}
					c.answer = mailbox.Fold(w.answer.Text(text))
					if c.sound() {
						out = append(out, c)
					}
				}
			}
		}
	}
	return out
}

// disowned matches sentences that say themselves that their fact does not hold:
// nobody asks for the sum that "an earlier note said, by mistake".
var disowned = regexp.MustCompile(`(?i)\b(?:(?:earlier|older|previous|old|first) (?:note|draft|version|sheet|list|memo|plan|mail|message)s? (?:on|about|for|with|of|said|says|had|has|was|were|still|shows?)|old sheet|out of date|outdated|no longer|slip of the pen|typo|rumou?rs?|which is wrong|(?:is|was|were) wrong|by mistake|mistakenly|at first|used to|was dropped|was outvoted|until now|behind the times|forget the|would have told|went around|only talk|nobody believes|said no)\b`)

// sound refuses questions that say their answer, ask too little or too much.
func (c *candidate) sound() bool {
	q := c.words.direct()
	if n := len(strings.Fields(q)); n < 4 || n > 24 || strings.ContainsAny(q, "\"<>*|=_[]{}") || realism.Slips(q) {
		return false
	}
	return !dangling(q) && !says(q, c.answer) && len(c.answer) > 1 && !strings.HasPrefix(c.answer, "some")
}

// dangling reports whether the question lost words: it ends in one that needs
// another, or has two prepositions of place in a row.
func dangling(q string) bool {
	words := strings.Fields(strings.ToLower(strings.TrimSuffix(q, "?")))
	last := words[len(words)-1]
	if needsMore[last] || strings.HasSuffix(last, "'s") || strings.Contains(q, "..") {
		return true
	}
	for i := 1; i < len(words); i++ {
		if words[i] == words[i-1] || needsMore[words[i-1]] && tails[words[i]] && words[i-1] != "all" {
			return true
		}
	}
	return false
}

var needsMore = wordSet(`the a an my our your its his her their and or of than as every some this that these those is are was were be been`)

// says reports whether the question holds the answer, or each of its words.
func says(question, answer string) bool {
	q, a := strings.ToLower(question), strings.ToLower(answer)
	if strings.Contains(q, a) {
		return true
	}
	have := map[string]bool{}
	for _, w := range keyword.Words(q) {
		have[w] = true
	}
	for _, w := range keyword.Content(a) {
		if !have[w] {
			return false
		}
	}
	return true
}

// names counts the words of a question that are names or numbers.
func names(q string) int {
	n := 0
	for _, w := range keyword.Content(q)[:] {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	if first := strings.Fields(q); n > 0 && len(keyword.Content(first[0])) > 0 {
		n-- // "Which" is no name
	}
	return n
}

// word writes the question: with what names its matter, in a phrasing that the
// stream chooses. It is false where the matter cannot be named.
func (c *candidate) word(rnd *rand.Rand) bool {
	if len(c.ways) > 0 {
		return c.wordWhole(rnd)
	}
	direct := c.words.direct()
	matter := mailbox.Matter(direct)
	c.context = 0
	if names(direct) == 0 && len(matter) < 3 || len(matter) < 2 {
		return c.wordWithContext(rnd, matter)
	}
	inside := c.words.inside()
	if p, q, ok := paraphrase(rnd, direct, inside); ok && !says(p, c.answer) {
		direct, inside = p, q
	}
	if p, q, ok := reopen(rnd, c.words.kind, direct, inside); ok && !says(p, c.answer) {
		direct, inside = p, q
	}
	c.text = politely(rnd, direct, inside)
	return true
}

// politely asks directly most of the time, else as people ask for help.
func politely(rnd *rand.Rand, direct, inside string) string {
	switch n := rnd.IntN(24); {
	case n < 15:
		return capital(direct)
	case n < 17:
		return "Do you know " + inside + "?"
	case n < 19:
		return "Can you find out " + inside + "?"
	case n < 20:
		return "Remind me, " + direct
	case n < 21:
		return "Can you tell me " + inside + "?"
	case n < 22:
		return "Do you remember " + inside + "?"
	case n < 23:
		return "I need to know " + inside + "."
	}
	return "Please look up " + inside + "."
}

// wordWithContext adds what the mail is about, or who wrote it when.
func (c *candidate) wordWithContext(rnd *rand.Rand, matter []string) bool {
	direct, inside := c.words.direct(), c.words.inside()
	direct, inside, _ = reopen(rnd, c.words.kind, direct, inside)
	who := nameOf(c.doc.From)
	if topic, ok := c.topic(matter); ok {
		c.context = 1
		switch n := rnd.IntN(5); {
		case n == 0 && who != "":
			c.text = "In " + who + "'s mail about " + topic + ", " + direct
		case n < 3:
			c.text = "In the mail about " + topic + ", " + direct
		case n == 3:
			c.text = "Can you check the mail about " + topic + " and tell me " + inside + "?"
		default:
			c.text = capital(strings.TrimSuffix(direct, "?")) + ", in the mail about " + topic + "?"
		}
		return !says(c.text, c.answer)
	}
	if who == "" || len(matter) < 2 {
		return false
	}
	c.context = 2
	c.text = "In " + who + "'s mail of " + c.doc.Date.Format("January 2") + ", " + direct
	return !says(c.text, c.answer)
}

// topic is what the subject line adds to the matter of the question.
func (c *candidate) topic(matter []string) (string, bool) {
	t := Topic(c.doc.Subject)
	if t == "" || len(t) > 60 || says(t, c.answer) || strings.ContainsAny(t, "?!\"*") {
		return "", false
	}
	known := map[string]bool{}
	for _, m := range matter {
		known[m] = true
	}
	fresh := 0
	for _, w := range mailbox.Matter(t) {
		if !known[w] {
			fresh++
		}
	}
	return c.lowerTopic(t), fresh >= 2 || fresh == 1 && names(t) > 0
}

// lowerTopic lowers the first letter of a topic that is no name.
func (c *candidate) lowerTopic(t string) string {
	first, _, _ := strings.Cut(t, " ")
	if low := strings.ToLower(first); alwaysLower[low] || commonNoun[low] {
		return strings.ToLower(t[:1]) + t[1:]
	}
	return t
}

// Topic is a subject line without the marks of replies and forwards.
func Topic(subject string) string {
	s := mailbox.Fold(subject)
	for {
		before, after, ok := strings.Cut(s, ":")
		if !ok || !replyMark[strings.ToLower(strings.TrimSpace(before))] {
			return strings.Trim(s, " .-")
		}
		s = strings.TrimSpace(after)
	}
}

var replyMark = wordSet(`re fw fwd aw wg change update updated reminder urgent important fyi`)
