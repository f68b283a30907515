package synthq

import (
	"regexp"
	"strings"

	"agentmill/internal/extract"
)

// A wording is a question in parts, so that it can be asked directly ("When is
// the review?") and in a sentence ("Can you tell me when the review is?").
type wording struct {
	kind    extract.Kind
	wh      string // when, which room, how many pallets …
	aux     string // "" where the asked-for is the subject: "who signed it"
	subject string
	rest    string // after the subject of a direct question
	plain   string // verb and rest of a statement
	tail    string // after both
	answer  extract.Span
}

// direct is the question as such.
func (w wording) direct() string {
	if w.aux == "" {
		return tidy(w.wh+" "+w.plain+" "+w.tail) + "?"
	}
	return tidy(w.wh+" "+w.aux+" "+w.subject+" "+w.rest+" "+w.tail) + "?"
}

// inside is the question after words such as "do you know".
func (w wording) inside() string {
	if w.aux == "" {
		return tidy(w.wh + " " + w.plain + " " + w.tail)
	}
	return tidy(w.wh + " " + w.subject + " " + w.plain + " " + w.tail)
}

var blanks = regexp.MustCompile(`\s+`)

func tidy(s string) string {
	s = strings.TrimSpace(blanks.ReplaceAllString(s, " "))
	s = strings.NewReplacer(" ,", ",", " .", ".", " 's", "'s").Replace(s)
	return strings.TrimRight(s, " ,.;:!?-–")
}

// A clauseAsker words questions about one clause.
type clauseAsker struct {
	extract.Clause
	voice voice
	sub   subject
	aux   string // the first word of the verb group in a question
	verb  string // the rest of it in a question
	plain string // the whole of it in a statement
}

// wordings returns a question for each fact of the clause that one can be made
// for.
func wordings(c extract.Clause, v voice) []wording {
	a := &clauseAsker{Clause: c, voice: v}
	if !a.prepare() {
		return nil
	}
	var out []wording
	add := func(w wording, ok bool) {
		if ok {
			out = append(out, w)
		}
	}
	add(a.askSubject())
	for i := range c.Pieces {
		add(a.askPiece(i))
	}
	add(a.askChoice())
	add(a.askReason())
	return out
}

// prepare maps the subject and makes the verb group agree with it.
func (a *clauseAsker) prepare() bool {
	if a.Imperative {
		if a.voice.fromOwner || len(a.Pieces) > 0 && (a.Pieces[0].Text == "you" || strings.HasPrefix(a.Pieces[0].Text, "you ")) {
			return false
		}
		if needsObject[a.Lemma] && (len(a.Pieces) == 0 || a.Pieces[0].Prep != "" || tails[strings.ToLower(strings.SplitN(a.Pieces[0].Text, " ", 2)[0])]) {
			return false
		}
		a.sub = subject{text: "I", first: true}
		a.aux, a.verb, a.plain = "should", a.Lemma, "should "+a.Lemma
		return true
	}
	var ok bool
	if a.sub, ok = a.voice.subject(a.Subject); !ok || a.Lemma == "be" && a.Verb == "" && len(a.Pieces) == 0 {
		return false
	}
	a.agree()
	return true
}

// needsObject are verbs of which an order without an object was misread.
var needsObject = wordSet(`send add give bring email forward put take make get keep use buy order`)

// agree sets the verb group, with "do" where the statement has a plain verb.
func (a *clauseAsker) agree() {
	if len(a.Aux) == 0 {
		a.aux, a.verb, a.plain = "do", a.Lemma, strings.ToLower(a.Verb)
		switch {
		case a.Tense == "past" && !(strings.EqualFold(a.Verb, a.Lemma) && extract.Plural(a.sub.text)):
			a.aux = "did" // "the chairs cost $90" is no past
		case a.Tense == "s" && !a.sub.first:
			a.aux = "does"
		case a.Tense == "base" && !a.sub.third && !a.sub.first && a.sub.text != "we" && !extract.Plural(a.sub.text):
			a.aux = "does"
		case a.sub.third:
			a.aux, a.plain = "does", thirdPerson(a.Lemma)
		}
		return
	}
	a.aux = a.agreed(a.Aux[0])
	a.verb = strings.TrimSpace(strings.Join(a.Aux[1:], " ") + " " + a.Verb)
	a.plain = a.aux + " " + a.verb
}

// agreed is an auxiliary after the subject was mapped.
func (a *clauseAsker) agreed(aux string) string {
	switch {
	case a.sub.first && (aux == "are" || aux == "is"):
		return "am"
	case a.sub.first && aux == "were":
		return "was"
	case a.sub.first && aux == "has":
		return "have"
	case a.sub.third && (aux == "are" || aux == "am"):
		return "is"
	case a.sub.third && aux == "were":
		return "was"
	case a.sub.third && aux == "have":
		return "has"
	}
	return aux
}

func thirdPerson(v string) string {
	switch {
	case v == "have":
		return "has"
	case strings.HasSuffix(v, "s"), strings.HasSuffix(v, "x"), strings.HasSuffix(v, "ch"), strings.HasSuffix(v, "sh"), strings.HasSuffix(v, "go"):
		return v + "es"
	case strings.HasSuffix(v, "y") && !strings.ContainsRune("aeiou", rune(v[max(0, len(v)-2)])):
		return v[:len(v)-1] + "ies"
	}
	return v + "s"
}

// askSubject asks for the subject where that is the fact.
func (a *clauseAsker) askSubject() (wording, bool) {
	if a.Fact == nil || a.Imperative {
		return wording{}, false
	}
	w := wording{kind: a.Fact.Kind, answer: *a.Fact}
	plain := a.plain
	switch a.Fact.Kind {
	case extract.Person:
		w.wh = "who"
	case extract.Org:
		w.wh = "which company"
	case extract.Quantity:
		noun := a.Subject[strings.IndexByte(a.Subject, ' ')+1:]
		w.wh = "how many " + noun
	case extract.Amount:
		w.wh = "how much"
	default:
		return w, false
	}
	for _, p := range a.Pieces {
		if p.Fact != nil && p.Fact.Kind == extract.Amount && p.Prep == "" && dropsAmount[a.Lemma] {
			return w, false // "who charges for the truck" says too little
		}
	}
	rest, ok := a.around(-1, "")
	w.plain = plain + " " + rest
	return w, ok && len(strings.Fields(rest)) >= 2
}

// askPiece asks for the fact of piece i.
func (a *clauseAsker) askPiece(i int) (wording, bool) {
	p := a.Pieces[i]
	if p.Fact == nil || a.twice(i) {
		return wording{}, false
	}
	w := wording{kind: p.Fact.Kind, answer: *p.Fact, subject: a.sub.text, aux: a.aux}
	if i > 0 && a.Pieces[i-1].Fact == nil && ordinal(a.Pieces[i-1].Text) {
		return w, false
	}
	f, ok := a.frame(i)
	if !ok {
		return w, false
	}
	w.wh = f.wh
	if i+1 < len(a.Pieces) && strings.HasPrefix(a.Pieces[i+1].Text, "of ") {
		if p.Fact.Kind != extract.Quantity || len(strings.Fields(a.Pieces[i+1].Text)) > 3 {
			return w, false
		}
		w.wh += " " + a.Pieces[i+1].Text
	}
	if f.kind != "" {
		w.kind = f.kind
	}
	rest, ok := a.around(i, f.strand)
	if !ok {
		return w, false
	}
	w.rest, w.plain = a.verb+" "+rest, a.plain+" "+rest
	if f.drop {
		w.rest, w.plain = rest, a.aux+" "+rest
	}
	if f.active != "" { // the board was asked by X → who asked the board
		w.aux, w.plain = "", f.active+" "+a.sub.text+" "+rest
	}
	return w, true
}

// twice reports whether another piece holds a fact of the same kind that the
// same question would ask for.
func (a *clauseAsker) twice(i int) bool {
	for j, p := range a.Pieces {
		if j != i && p.Fact != nil && p.Fact.Kind == a.Pieces[i].Fact.Kind && p.Prep == a.Pieces[i].Prep {
			return true
		}
	}
	return false
}

// around renders the pieces other than i: what stood before it, then strand (a
// preposition that a question leaves behind), then what followed.
func (a *clauseAsker) around(i int, strand string) (string, bool) {
	var out []string
	for j, p := range a.Pieces {
		if j == i {
			out = append(out, strand)
			continue
		}
		text, keep := a.context(j)
		if !keep {
			return "", false
		}
		if text == "" {
			continue
		}
		after := j > i && i >= 0 && p.Fact == nil
		if after && !phrase(text) {
			break
		}
		text, ok := a.voice.text(text)
		if !ok && after {
			break
		}
		if !ok || strings.Contains(text, ",") || a.sub.text == "we" && text == "me" || strings.HasPrefix(text, "no ") {
			return "", false
		}
		out = append(out, text)
	}
	return tidy(strings.Join(out, " ")), true
}

// context is how piece j stands in a question for piece i: facts that would
// give too much away or clutter are left out. keep is false where the question
// could not do without it.
func (a *clauseAsker) context(j int) (text string, keep bool) {
	p := a.Pieces[j]
	if p.Fact == nil {
		return p.Text, true
	}
	if p.Prep == "instead of" {
		return "", true
	}
	full := strings.TrimSpace(p.Prep + " " + p.Lead)
	if p.Of {
		full += " of"
	}
	switch p.Fact.Kind {
	case extract.Person, extract.Org, extract.Place, extract.Flight:
		if strings.HasPrefix(p.Lead, "the number") {
			return "", false
		}
		return strings.TrimSpace(full + " " + p.Text), true
	case extract.Quantity:
		if _, noun, ok := strings.Cut(p.Text, " "); ok && p.Prep == "" {
			return noun, j == 0 || !ordinal(a.Pieces[j-1].Text)
		}
		return "", p.Prep != "" && p.Prep != "of"
	}
	if p.Prep == "for" && p.Fact.Kind == extract.Amount {
		return "", dropsAmount[a.Lemma]
	}
	if p.Prep != "" {
		return "", p.Prep != "of" && p.Prep != "above" && p.Prep != "below" && p.Prep != "over"
	}
	object := j == 0 || a.Pieces[j-1].Fact == nil
	switch {
	case p.Lead != "":
		return p.Lead, true
	case p.Fact.Kind == extract.Amount && dropsAmount[a.Lemma]:
		return "", true
	case p.Fact.Kind == extract.Amount && movesMoney[a.Lemma]:
		return "the money", true
	case j > 0 && (p.Fact.Kind == extract.Date || p.Fact.Kind == extract.Time || p.Fact.Kind == extract.Room || p.Fact.Kind == extract.Address):
		return "", true // "on March 3, 10 am, room 4"
	}
	return "", !object
}

// ordinal reports whether words end in one that belongs to a number after them.
func ordinal(text string) bool {
	switch text[strings.LastIndexByte(text, ' ')+1:] {
	case "first", "last", "next", "other", "the", "these", "those", "all":
		return true
	}
	return false
}

// dropsAmount are verbs that make sense without the amount paid.
var dropsAmount = wordSet(`pay sell buy charge bill offer rent`)

// movesMoney are verbs whose amount may be called "the money".
var movesMoney = wordSet(`approve wire refund reimburse receive want get owe spend raise transfer send grant collect deposit donate`)

// phrase reports whether a piece that follows the asked-for fact belongs to the
// question: it begins with a preposition or "to" and is short.
func phrase(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return len(strings.Fields(text)) <= 8 && tails[strings.ToLower(first)]
}

var tails = wordSet(`for to in at with from about after before during by on into against without without per around under near through as off`)
