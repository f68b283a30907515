package extract

import (
	"regexp"
	"strings"
)

// A Clause is one statement of a text taken apart: who or what does it, the
// verb, and the pieces that follow. Texts are as in the mail, white space folded.
type Clause struct {
	Sentence   Range
	Front      string   // what stood before the subject: "At the yard"
	Subject    string   // "" for an imperative
	Fact       *Span    // set when the subject is a fact, such as a person
	Imperative bool     // "Send the copies to …"
	Aux        []string // will, has been …: in order, none for a plain verb
	Verb       string   // as written; "" where the last auxiliary is the verb
	Lemma      string   // of Verb, or "be"
	Tense      string   // of the first word: past, s, base
	Pieces     []Piece
	Broken     string // the word at which the rest was cut off: because, so, which …
	Because    Range  // of a reason given after the statement, empty without
}

// A Piece is a stretch after the verb: a fact with what leads to it, or other words.
type Piece struct {
	Prep string // "on", "no later than"; "" for an object
	Lead string // what the fact is of or called: "a deposit of", "the gate code"
	Of   bool   // the lead is what the fact is of
	Text string // the words, without prep and lead
	Fact *Span

	Start, End int // where Text stands
}

// leadIns are stripped from the start of sentences.
var leadIns = regexp.MustCompile(`(?i)^(?:(?:please (?:note|be advised|be aware|remember|keep in mind)|just (?:a )?(?:quick )?(?:reminder|note|to let you know|a heads-up|a heads up|to confirm|so you know)|(?:a )?(?:quick )?(?:reminder|update|note|heads-up)|fyi|for your information|for the record|as (?:discussed|promised|agreed|expected|mentioned|you know|requested|a reminder|of today|it stands)|i (?:wanted|want|am writing) to (?:let you know|confirm|remind you|tell you)|this is to (?:confirm|let you know|remind you|inform you)|we are (?:pleased|happy|glad|sorry) to (?:inform you|announce|confirm|report|say)|i am (?:pleased|happy|glad|sorry) to (?:report|say|announce|confirm)|(?:the )?good news|(?:the )?bad news|unfortunately|fortunately|finally|also|and|but|so|well|ok|okay|anyway|actually|in addition|in short|in the end|as it turns out|after some back and forth|one more thing|by the way|btw|p\.?s\.?|to confirm|to recap|to be clear|for now|however|meanwhile|good afternoon|good morning|hi|hello|hi all|hi team|hello all|all|team|everyone|folks|(?:it )?(?:looks|seems|turns out|appears) (?:like )?(?:that)?|i (?:heard|hear|understand|think|believe|see|hope|just heard|just learned)(?: from [A-Z]\w+)?|[A-Z]\w+ (?:tells|told|informs|says) (?:me|us)|my understanding is|remember|note|on top of that|separately|second|first|third|lastly|in other news|last but not least|congratulations|sorry|apologies|yes|no|then|now|again|as for timing|on timing|on cost|on the money side|on logistics|good|great|thanks|thank you)(?: that)?)(?:[ \t\n]*[,:;–]|[ \t\n]*--?|[ \t\n]*[!]| that|[ \t\n])[ \t\n]*`)

// Clauses returns the statements of the sentence r of text that the package
// can take apart: none for questions, negations and what it does not understand.
func Clauses(text string, r Range, facts []Span) []Clause {
	if strings.HasSuffix(strings.TrimSpace(text[r.Start:r.End]), "?") {
		return nil
	}
	r = stripLeadIns(text, r)
	tokens := tokenize(text, r, facts)
	if len(tokens) < 3 {
		return nil
	}
	var out []Clause
	for range maxClauses {
		c, rest, ok := parseClause(tokens)
		if ok {
			c.Sentence = r
			out = append(out, c)
		}
		if len(rest) < 3 {
			break
		}
		tokens = rest
	}
	return out
}

// maxClauses bounds the statements that one sentence is taken for.
const maxClauses = 3

func stripLeadIns(text string, r Range) Range {
	for {
		m := leadIns.FindStringIndex(text[r.Start:r.End])
		if m == nil || stripsSubject(text[r.Start:r.Start+m[1]], text[r.Start+m[1]:r.End]) {
			return r
		}
		r.Start += m[1]
	}
}

// plainLead are lead-ins that are whole without a comma or "that".
var plainLead = regexp.MustCompile(`(?i)^(?:and|but|so|also|unfortunately|fortunately|finally|meanwhile|then|now|again|just a reminder|fyi|(?:it )?(?:looks|seems|turns out|appears)(?: like)?(?: that)?|i (?:heard|hear|understand|think|believe|see|hope|just heard|just learned)(?: from [a-z]\w+)?|[a-z]\w+ (?:tells|told|informs|says) (?:me|us)|(?:please )?(?:note|remember)|i (?:wanted|want|am writing) to (?:let you know|confirm)|this is to (?:confirm)|we are (?:pleased|happy|glad|sorry) to (?:announce|confirm|report|say)|i am (?:pleased|happy|glad|sorry) to (?:report|say|announce|confirm)|just to confirm|to confirm)$`)

// stripsSubject reports whether taking off lead would behead a statement: it
// ends in a plain blank and is no phrase that can stand so.
func stripsSubject(lead, rest string) bool {
	lead = strings.TrimRight(lead, " \t\n")
	if strings.ContainsAny(lead[max(0, len(lead)-1):], ",:;!-–") || strings.HasSuffix(strings.ToLower(lead), " that") {
		return rest == ""
	}
	return !plainLead.MatchString(lead)
}

// parseClause reads front, subject, verb and pieces from tokens. rest is the
// next statement of the sentence, if there is one.
func parseClause(tokens []token) (c Clause, rest []token, ok bool) {
	if joins[tokens[0].low] {
		tokens = tokens[1:]
	}
	tokens, c.Front = splitFront(tokens)
	if tokens[0].low == "please" && len(tokens) > 2 {
		tokens = tokens[1:]
	}
	statement, rest := splitStatement(tokens)
	at := findVerb(statement)
	if at < 0 {
		return c, rest, false
	}
	if at == 0 {
		c.Imperative = true
	} else if !c.setSubject(statement[:at]) {
		return c, rest, false
	}
	after, ok := c.setVerb(statement[at:])
	if !ok {
		return c, rest, false
	}
	c.Pieces = pieces(c.cutRest(after))
	return c, rest, true
}

// joins are words that join two statements of equal rank.
var joins = set(`and but so or yet then`)

// splitStatement cuts tokens where another statement of equal rank begins: at
// a semicolon, at a dash, at "so", "but" or "and" before subject and verb.
func splitStatement(tokens []token) (first, rest []token) {
	for i := 2; i+2 < len(tokens); i++ {
		t := tokens[i]
		if t.fact != nil {
			continue
		}
		if t.text == ";" || strings.HasPrefix(t.text, "--") || t.text == "–" {
			return trimComma(tokens[:i]), tokens[i+1:]
		}
		if (t.low == "so" || t.low == "but" || t.low == "and") && startsStatement(tokens[i+1:]) {
			return trimComma(tokens[:i]), tokens[i+1:]
		}
	}
	return tokens, nil
}

// splitFront takes a fronted phrase up to a comma off the tokens: "For the
// Larkspur job, …".
func splitFront(tokens []token) (rest []token, front string) {
	if !fronts[tokens[0].low] && tokens[0].fact == nil {
		return tokens, ""
	}
	for i, t := range tokens {
		if i > 9 {
			break
		}
		if v := verbs[t.low]; i > 0 && t.fact == nil && (auxiliaries[t.low].lemma != "" || v.lemma != "" && !v.noun && v.tense != "ing") {
			break
		}
		if t.text == "," && i+2 < len(tokens) {
			return tokens[i+1:], join(tokens[:i])
		}
	}
	return tokens, ""
}

var fronts = set(`for at in on after before during from with as to under by per until since given effective starting beginning following once when if because due based next last this instead`)

// setSubject checks and keeps the subject.
func (c *Clause) setSubject(tokens []token) bool {
	for tokens[len(tokens)-1].text == "," {
		tokens = tokens[:len(tokens)-1]
		if len(tokens) == 0 {
			return false
		}
	}
	for len(tokens) > 1 && adverbs[tokens[len(tokens)-1].low] {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) > 12 || badSubject[tokens[0].low] || prepositions[tokens[0].low] || vagueHead[tokens[len(tokens)-1].low] {
		return false
	}
	for i, t := range tokens {
		if inSubject[t.low] || strings.HasSuffix(t.low, "n't") || strings.HasSuffix(t.low, "n’t") || t.fact == nil && len(t.text) == 1 && strings.ContainsAny(t.text, `,;:()"“”[]*>|=<`) {
			return false
		}
		if i > 0 && (t.low == "i" || t.low == "we" || t.low == "you" || t.low == "they" || t.low == "he" || t.low == "she" || t.low == "it") {
			return false
		}
	}
	if len(tokens) == 1 && (tokens[0].low == "one" || tokens[0].low == "all" || tokens[0].low == "both" || tokens[0].low == "everything") {
		return false
	}
	c.Subject = join(tokens)
	if tokens[0].fact != nil && len(tokens) == 1 || tokens[0].fact != nil && tokens[0].fact.Kind == Quantity {
		c.Fact = tokens[0].fact
	}
	return true
}

var (
	vagueHead  = set(`own one ones other others rest latter former same somebody someone everybody`)
	badSubject = set(`present attached enclosed it this that these those they he she there here what when where who which how why someone something everyone everything
		nothing nobody anyone another either neither none some others such let if because although while since unless whether though to not no and or but please do don't hope`)
	inSubject = set(`did do does that which who whom whose where when if because although while and/or not n't would-be either neither whether what how why`)
)

// auxiliaries maps an auxiliary to its tense and lemma.
var auxiliaries = map[string]verbForm{
	"is": {"be", "s", false}, "are": {"be", "base", false}, "am": {"be", "base", false}, "was": {"be", "past", false}, "were": {"be", "past", false},
	"has": {"have", "s", false}, "have": {"have", "base", false}, "had": {"have", "past", false}, "will": {"will", "modal", false}, "can": {"can", "modal", false},
	"could": {"could", "modal", false}, "should": {"should", "modal", false}, "would": {"would", "modal", false}, "must": {"must", "modal", false}, "may": {"may", "modal", false}, "might": {"might", "modal", false},
}

// findVerb returns the index of the first finite verb, 0 for an imperative.
func findVerb(tokens []token) int {
	if v, ok := verbs[tokens[0].low]; ok && tokens[0].fact == nil && v.tense == "base" && imperative(tokens, v) {
		return 0
	}
	for i := 1; i < len(tokens); i++ {
		t := tokens[i]
		if t.fact != nil {
			continue
		}
		if _, ok := auxiliaries[t.low]; ok {
			return i
		}
		if v, ok := verbs[t.low]; ok && finite(tokens, i, v) {
			return i
		}
	}
	return -1
}

// imperative reports whether a verb at the start commands: what follows begins
// an object or a phrase, as it would not after a noun.
func imperative(tokens []token, v verbForm) bool {
	if len(tokens) < 3 || v.lemma == "last" || v.lemma == "like" || v.lemma == "mean" || v.lemma == "need" || v.lemma == "want" {
		return false
	}
	next := tokens[1]
	return next.fact != nil || determiners[next.low] || prepositions[next.low] || named[next.low] || !v.noun && next.text != "," || next.low == "me" || next.low == "us" || next.low == "all"
}

var determiners = set(`the a an my your our his her their its this these those that any all each every both no`)

// finite reports whether the verb form at i is the finite verb of its clause
// and no noun, participle or infinitive.
func finite(tokens []token, i int, v verbForm) bool {
	prev := tokens[i-1]
	pronoun := prev.low == "i" || prev.low == "we" || prev.low == "you" || prev.low == "they"
	if v.tense == "ing" || prev.fact == nil && (prev.low == "to" || prev.low == "and" && i > 1 || prev.low == "of" || determiners[prev.low] && (i == 1 || prev.text == prev.low)) {
		return false
	}
	if v.tense == "base" {
		return pronoun || Plural(join(tokens[:i])) && (!v.noun || i+1 < len(tokens) && (tokens[i+1].fact != nil || prepositions[tokens[i+1].low]))
	}
	if i+1 >= len(tokens) {
		return v.tense == "past"
	}
	next := tokens[i+1]
	if _, aux := auxiliaries[next.low]; aux && next.fact == nil {
		return false
	}
	if w, verb := verbs[next.low]; verb && next.fact == nil && v.noun && w.tense != "ing" && !w.noun {
		return false
	}
	if v.tense == "past" {
		return participles[tokens[i].low] == "" || !(next.low == "by" && prev.fact == nil) || pronoun
	}
	if !v.noun {
		return true
	}
	if (next.low == "for" || next.low == "of") && i+2 < len(tokens) && tokens[i+2].fact != nil && tokens[i+2].fact.Kind == Duration {
		return true
	}
	return next.fact != nil || determiners[next.low] || next.low == "to" || prepositions[next.low] && next.low != "of" && next.low != "for" || next.low == "us" || next.low == "me" || next.low == "you"
}

// Plural reports whether the head noun of a phrase, the last word before its
// first preposition, looks like a plural.
func Plural(phrase string) bool {
	head := ""
	for i, w := range strings.Fields(phrase) {
		low := strings.ToLower(w)
		if prepositions[low] {
			break
		}
		if i > 0 && low != w {
			return false // a name: Keith Hobbs, Falcon Logistics
		}
		head = low
	}
	return strings.HasSuffix(head, "s") && !strings.HasSuffix(head, "ss") && !strings.HasSuffix(head, "'s") && !strings.HasSuffix(head, "us") || head == "people" || head == "children"
}

// adverbs may stand inside a verb group and are left out of the statement.
var adverbs = set(`now currently also just still already tentatively finally officially formally recently only certainly definitely probably likely
	initially kindly always normally usually typically generally again soon successfully verbally briefly quickly actually basically essentially provisionally in-principle`)

// setVerb reads auxiliaries, adverbs and the main verb; it refuses negations.
func (c *Clause) setVerb(tokens []token) ([]token, bool) {
	i := 0
	for ; i < len(tokens); i++ {
		t := tokens[i]
		if t.fact != nil {
			break
		}
		if t.low == "not" || t.low == "never" || t.low == "cannot" || strings.HasSuffix(t.low, "n't") || t.low == "t" && i > 0 {
			return nil, false
		}
		a, aux := auxiliaries[t.low]
		switch {
		case aux && (c.Verb == ""):
			if len(c.Aux) == 0 {
				c.Tense = a.tense
			}
			c.Aux = append(c.Aux, t.low)
			c.Lemma = a.lemma
		case len(c.Aux) > 0 && (t.low == "be" || t.low == "been" || t.low == "being"):
			c.Aux = append(c.Aux, t.low)
			c.Lemma = "be"
		case adverbs[t.low]:
		default:
			return c.mainVerb(tokens[i:])
		}
	}
	return tokens[i:], len(c.Aux) > 0 && c.Lemma == "be"
}

// mainVerb takes the verb at the start of tokens, if one fits the auxiliaries.
func (c *Clause) mainVerb(tokens []token) ([]token, bool) {
	t := tokens[0]
	v, isVerb := verbs[t.low]
	lemma, isPart := participles[t.low]
	last := ""
	if len(c.Aux) > 0 {
		last = c.Aux[len(c.Aux)-1]
	}
	switch {
	case last == "":
		c.Verb, c.Lemma, c.Tense = t.text, v.lemma, v.tense
		if c.Imperative {
			c.Tense = "base"
		}
		return tokens[1:], isVerb
	case isBe(last) && isPart:
		c.Verb, c.Lemma = t.low, lemma
		return tokens[1:], true
	case isBe(last) && isVerb && v.tense == "ing":
		c.Verb, c.Lemma = t.low, v.lemma
		return tokens[1:], true
	case isBe(last):
		c.Lemma = "be"
		return tokens, true
	case (last == "has" || last == "have" || last == "had") && isPart:
		c.Verb, c.Lemma = t.low, lemma
		return tokens[1:], true
	case last == "has" || last == "have" || last == "had":
		// "have" is the verb itself: "we have 14 pallets"
		if len(c.Aux) == 1 {
			c.Verb, c.Lemma, c.Aux = last, "have", nil
			return tokens, true
		}
		return nil, false
	case isVerb && v.lemma == t.low:
		c.Verb, c.Lemma = t.low, v.lemma
		return tokens[1:], true
	}
	return nil, false
}

func isBe(w string) bool {
	switch w {
	case "is", "are", "am", "was", "were", "be", "been", "being":
		return true
	}
	return false
}

// breaks end a statement: what follows is another one.
var breaks = set(`but because since so although while which who whom whose where if unless when however though until-then otherwise whereas as once that`)

// cutRest ends the statement at the first break and keeps a reason.
func (c *Clause) cutRest(tokens []token) []token {
	for i, t := range tokens {
		if t.fact != nil {
			continue
		}
		if t.low == "not" || t.low == "never" || strings.HasSuffix(t.low, "n't") {
			c.Broken = "not"
			return nil
		}
		if strings.HasPrefix(t.text, "--") || len(t.text) == 1 && strings.Contains(";(:?!", t.text) || t.text == "–" || t.text == "." && i == len(tokens)-1 {
			return tokens[:i]
		}
		if breaks[t.low] || t.low == "due" && i+1 < len(tokens) && tokens[i+1].low == "to" {
			c.Broken = t.low
			c.setReason(tokens[i:])
			tokens = trimComma(tokens[:i])
			for len(tokens) > 0 && partly[tokens[len(tokens)-1].low] {
				tokens = trimComma(tokens[:len(tokens)-1])
			}
			return tokens
		}
	}
	return tokens
}

var partly = set(`mostly partly mainly only just probably largely simply in-part`)

// setReason keeps what follows "because" or "due to".
func (c *Clause) setReason(tokens []token) {
	skip := 0
	switch {
	case tokens[0].low == "because" && len(tokens) > 1 && tokens[1].low != "of":
		skip = 1
	case tokens[0].low == "because" || tokens[0].low == "due":
		skip = 2
	}
	if skip == 0 || skip >= len(tokens) {
		return
	}
	last := tokens[len(tokens)-1]
	for _, t := range tokens[skip:] {
		if t.text == "," || t.text == ";" || t.text == "." || strings.HasPrefix(t.text, "--") || t.text == "(" {
			break
		}
		last = t
	}
	c.Because = Range{tokens[skip].start, last.end}
}

func trimComma(tokens []token) []token {
	for len(tokens) > 0 && tokens[len(tokens)-1].text == "," {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

var pronouns = set(`i we you they he she it`)

// startsStatement reports whether tokens begin with a verb, or with a subject
// and its verb.
func startsStatement(tokens []token) bool {
	for i, t := range tokens {
		if t.fact != nil {
			if i > 0 {
				return false
			}
			continue
		}
		if _, aux := auxiliaries[t.low]; aux {
			return true
		}
		if v, ok := verbs[t.low]; ok && (i == 1 && pronouns[tokens[0].low] || v.tense == "past" || v.tense == "s" && !v.noun || i == 0 && !v.noun || i > 0 && v.tense == "s") {
			return true
		}
		if i > 5 || prepositions[t.low] {
			return false
		}
	}
	return false
}
