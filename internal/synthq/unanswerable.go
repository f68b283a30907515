package synthq

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"agentmill/internal/extract"
	"agentmill/internal/keyword"
	"agentmill/internal/mailbox"
	"agentmill/internal/question"
	"agentmill/internal/realism"
	"agentmill/internal/seed"
)

// unanswerable makes up to n questions whose answer is in no mail: about a
// matter that the mailbox knows, either one that another of the same sort is
// known of ("the Marlow kickoff", where only Larkspur's was announced) or a fact
// that nobody wrote ("who chairs the Larkspur kickoff").
func (a *asker) unanswerable(batches [][]candidate, n int) []question.Question {
	rnd := seed.Stream(a.Seed, "unanswerable", a.owner)
	var pool []candidate
	for _, b := range batches {
		for _, c := range b {
			if c.context == 0 && len(c.ways) == 0 {
				pool = append(pool, c)
			}
		}
	}
	swaps, facts := a.swapped(rnd, pool), a.otherFacts(rnd, pool)
	var out []question.Question
	for len(out) < n && len(swaps)+len(facts) > 0 {
		from := &swaps
		if len(swaps) == 0 || len(facts) > 0 && len(out)%2 == 1 {
			from = &facts
		}
		u := (*from)[0]
		*from = (*from)[1:]
		if key := strings.ToLower(u.text); !a.taken[key] {
			a.taken[key] = true
			out = append(out, a.unknown(u))
		}
	}
	return out
}

// A lack is a question without an answer, and the mail that it came from.
type lack struct {
	text string
	kind extract.Kind
	from *candidate
}

// unknown is a lack as a record.
func (a *asker) unknown(u lack) question.Question {
	q := question.Question{
		Question: u.text, Answer: question.Unknown, Aliases: []string{}, MessageIDs: []string{}, AlsoIn: []string{}, Spans: []question.Span{},
		HowRealistic: realism.Score(u.text, u.from.doc.Subject, u.from.doc.Body), InboxAddress: a.owner, QueryDate: a.queryDate(u.from).Format(time.DateOnly),
		Kind: string(u.kind), Hops: 1, Env: "email", Generator: "extractive",
	}
	q.ID = q.Hash()
	return q
}

// nameRE finds names in a question: capitalised words in a row.
var nameRE = regexp.MustCompile(`\b[A-Z][A-Za-z'&-]*(?: (?:of |and |v\. )?[A-Z0-9][A-Za-z0-9'&-]*)*`)

// frameOf splits the question into a frame with a hole and the name that fills
// it; ok is false where there is not exactly one name.
func frameOf(c *candidate) (frame, name string, ok bool) {
	direct := c.words.direct()
	found := nameRE.FindAllStringIndex(direct, -1)
	found = slices.DeleteFunc(found, func(m []int) bool { return direct[m[0]:m[1]] == "I" })
	if len(found) != 1 || found[0][0] == 0 {
		return "", "", false
	}
	m := found[0]
	return direct[:m[0]] + "\x00" + direct[m[1]:], direct[m[0]:m[1]], true
}

// swapped asks what is known of one thing about another of the same sort: two
// names are of one sort if some frame was seen with both.
func (a *asker) swapped(rnd *rand.Rand, pool []candidate) []lack {
	names := map[string][]string{} // frame → names
	for i := range pool {
		if f, name, ok := frameOf(&pool[i]); ok && !slices.Contains(names[f], name) {
			names[f] = append(names[f], name)
		}
	}
	sorts := map[string][]string{} // name → others of its sort
	for _, f := range sortedKeys(names) {
		for _, x := range names[f] {
			for _, y := range names[f] {
				if x != y && !slices.Contains(sorts[x], y) {
					sorts[x] = append(sorts[x], y)
				}
			}
		}
	}
	var out []lack
	for _, i := range rnd.Perm(len(pool)) {
		c := &pool[i]
		f, name, ok := frameOf(c)
		if !ok {
			continue
		}
		for _, other := range shuffled(rnd, sorts[name]) {
			if text := strings.Replace(f, "\x00", other, 1); a.unheard(text, other) {
				inside := strings.Replace(c.words.inside(), name, other, 1)
				out = append(out, lack{politely(rnd, text, inside), c.words.kind, c})
				break
			}
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// unheard reports whether the mailbox knows a thing but no mail has it together
// with the telling words of the question.
func (a *asker) unheard(text, thing string) bool {
	known := keyword.Content(thing)
	if len(known) == 0 || len(a.box.With(known)) == 0 {
		return false
	}
	for _, w := range mailbox.Matter(text) {
		if slices.ContainsFunc(known, func(k string) bool { return mailbox.Stem(k) == w }) {
			continue
		}
		if n := a.box.Count(w); n > 0 && n < len(a.box.Docs)/6 && len(a.box.With(append(slices.Clone(known), w))) == 0 {
			return true
		}
	}
	return false
}

// An otherFact is a question that things of a class could be asked.
type otherFact struct {
	kind extract.Kind
	ask  string // %s is the thing
}

// classes are sorts of things by the last word of their name, and what could be
// asked about them. The questions are worded as those with answers are.
var classes = []struct {
	heads map[string]bool
	facts []otherFact
}{
	{wordSet(`kickoff review meeting call course talk training picnic offsite conference lunch reunion drill audit workshop seminar session run stand-up trial play camp party`), []otherFact{
		{extract.Phone, "what is the dial-in number for %s?"},
		{extract.Amount, "how much does %s cost?"},
		{extract.Duration, "how long does %s take?"},
		{extract.Person, "who is organizing %s?"},
		{extract.Room, "in which room is %s?"},
		{extract.Place, "where will %s be held?"},
		{extract.Quantity, "how many people signed up for %s?"},
		{extract.Time, "what time does %s start?"},
	}},
	{wordSet(`hearing interview dinner appointment deposition`), []otherFact{
		{extract.Room, "in which room is %s?"},
		{extract.Time, "what time does %s start?"},
		{extract.Place, "where will %s be held?"},
		{extract.Duration, "how long does %s take?"},
	}},
	{wordSet(`agreement contract lease policy amendment permit nda offer invoice quote trademark patent settlement`), []otherFact{
		{extract.Person, "who signed %s?"},
		{extract.Code, "what is the file number for %s?"},
		{extract.Date, "when does %s end?"},
		{extract.Duration, "for how long is %s valid?"},
	}},
	{wordSet(`valves seals gaskets meters gauges clamps housings impellers cartridges flanges bearings panels chairs boxes samples glasses gloves boots protectors hats vests tickets`), []otherFact{
		{extract.Code, "what is the tracking number of %s?"},
		{extract.Duration, "how long does the warranty on %s last?"},
		{extract.Person, "who ordered %s?"},
		{extract.Percentage, "what discount did we get on %s?"},
		{extract.Amount, "how much do %s cost?"},
		{extract.Place, "where are %s stored?"},
	}},
	{wordSet(`office yard warehouse plant house building`), []otherFact{
		{extract.Phone, "what is the phone number of %s?"},
		{extract.Person, "who is the manager of %s?"},
		{extract.Quantity, "how many people work at %s?"},
		{extract.Address, "what is the street address of %s?"},
	}},
}

// thingRE finds "the Larkspur kickoff", "my interview with Dana Ruiz" and their
// like inside a question.
var thingRE = regexp.MustCompile(`\b(?:the|my|our) (?:[a-z-]+ )?[A-Z][\w'&-]*(?: [A-Z0-9][\w'&-]*)*(?: [a-z-]+){0,2}\b|\b(?:the|my|our) [a-z-]+ (?:for|with|of|at|by) (?:the )?[A-Z][\w'&-]*(?: [A-Z0-9][\w'&-]*)*(?: (?:office|yard|warehouse|plant))?|\bthe (?:[a-z-]+ ){0,2}[a-z-]+`)

// otherFacts asks for facts of known things that no mail about them holds.
func (a *asker) otherFacts(rnd *rand.Rand, pool []candidate) []lack {
	var out []lack
	for _, i := range rnd.Perm(len(pool)) {
		c := &pool[i]
		for _, thing := range things(c) {
			facts := classOf(thing)
			if facts == nil {
				facts = ofName(thing)
			}
			if last := thing[strings.LastIndexByte(thing, ' ')+1:]; tails[last] {
				continue
			}
			for _, f := range shuffled(rnd, facts) {
				if a.wanted(f.kind) && a.unwritten(thing, f.kind) {
					out = append(out, lack{capital(strings.ReplaceAll(f.ask, "%s", thing)), f.kind, c})
					break
				}
			}
		}
	}
	return out
}

// things are what the question's subject names, and the people and firms of
// the whole question.
func things(c *candidate) []string {
	out := thingRE.FindAllString(c.words.subject, -1)
	direct := c.words.direct()
	for _, s := range extract.Spans(direct) {
		if t := s.Text(direct); (s.Kind == extract.Person || s.Kind == extract.Org) && strings.Contains(t, " ") {
			out = append(out, t)
		}
	}
	return out
}

// ofName are the facts that a person or a firm could be asked for.
func ofName(thing string) []otherFact {
	for _, s := range extract.Spans(thing) {
		switch {
		case s.Text(thing) != thing:
		case s.Kind == extract.Person:
			return personFacts
		case s.Kind == extract.Org:
			return firmFacts
		}
	}
	return nil
}

var (
	personFacts = []otherFact{
		{extract.Phone, "what is the phone number of %s?"},
		{extract.Room, "in which room does %s sit?"},
		{extract.Flight, "which flight is %s booked on?"},
		{extract.Duration, "for how long has %s worked here?"},
		{extract.Date, "when does %s retire?"},
		{extract.Amount, "what salary did we offer %s?"},
	}
	firmFacts = []otherFact{
		{extract.Phone, "what number can I call %s at?"},
		{extract.Address, "what is the address of %s?"},
		{extract.Person, "who is our contact at %s?"},
		{extract.Email, "what e-mail address should I send orders for %s to?"},
		{extract.Percentage, "what discount does %s grant us?"},
		{extract.Code, "what is our account number at %s?"},
	}
)

// vagueThing matches things that only their mail makes clear.
var vagueThing = regexp.MustCompile(`\b(?:previous|next|last|first|second|new|old|other|current|early|late|Dr|Mr|Ms)\b`)

// classOf finds the class of a thing by its head noun, the last word before
// its first preposition.
func classOf(thing string) []otherFact {
	head := ""
	if vagueThing.MatchString(thing) {
		return nil
	}
	for w := range strings.FieldsSeq(thing) {
		if tails[w] || w == "of" {
			break
		}
		head = w
	}
	for _, c := range classes {
		if c.heads[head] {
			return c.facts
		}
	}
	return nil
}

// unwritten reports whether mails speak of a thing but none of them holds a
// fact of the kind.
func (a *asker) unwritten(thing string, kind extract.Kind) bool {
	words := keyword.Content(thing)
	if len(words) < 2 || kind == "" {
		return false
	}
	about := a.box.With(words)
	if len(about) == 0 || len(about) > 12 {
		return false
	}
	return !slices.ContainsFunc(about, func(d *mailbox.Doc) bool { return d.HasKind(kind) })
}
