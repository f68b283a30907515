package mailbox

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agentmill/internal/extract"
	"agentmill/internal/keyword"
)

// An Asked is a question with its known answer.
type Asked struct {
	Question string
	Answer   string
	Evidence string
	Kind     extract.Kind
	Gold     []string  // Message-IDs of the mails that answer it
	Now      time.Time // mails after it are no rivals; zero: all are
}

// A Rival is a mail that seems to answer a question otherwise.
type Rival struct {
	Doc   *Doc
	Value string
}

// generic are words of questions that name a kind of fact and no matter.
var generic = wordSet(`time day date room number address company price amount percentage percent hour minute week month year weekday web e-mail
	email flight code much long far kind sort mail note message know remember find remind check look tell please thread about according next first last new old already still full mostly`)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// Matter returns the stems of the words by which a question can be found,
// without those that only say what kind of fact is wanted.
func Matter(question string) []string {
	var out []string
	for _, w := range keyword.Content(question) {
		if s := Stem(w); !generic[s] {
			out = append(out, s)
		}
	}
	return out
}

// Rivals returns mails other than the gold that have a sentence which covers
// the question's words as well as the evidence does, and most of them, and holds
// another value of the same kind.
func (b *Box) Rivals(q Asked) []Rival {
	matter := Matter(q.Question)
	own := max(coverage(matter, stems(q.Evidence), b.subjectOf(q.Gold)), (len(matter)*3+3)/4)
	same := map[*Doc]bool{}
	for _, d := range b.SameEvidence(q.Evidence) {
		same[d] = true
	}
	var out []Rival
	for _, d := range b.candidates(matter) {
		if same[d] || !q.Now.IsZero() && d.Date.After(q.Now) || d.holdsAny(q.Gold) {
			continue
		}
		if v, ok := b.rivalValue(d, q, matter, own); ok {
			out = append(out, Rival{d, v})
		}
	}
	return out
}

// Contradicting returns mails other than the gold that have the passage which
// gives the answer, with something else of its sort in the answer's place:
// drafts, updates and repeated notices.
func (b *Box) Contradicting(q Asked) []Rival {
	p, ok := b.passage(&q)
	if !ok {
		return nil
	}
	a := sortOf(q.Answer)
	matter := slices.DeleteFunc(Matter(q.Question), func(w string) bool { return p.answer[w] })
	least := len(matter) // a notice of another matter may have the passage too
	for _, id := range q.Gold {
		if d := b.Doc(id); d != nil {
			least = min(least, coverage(matter, d.words, nil))
		}
	}
	var out []Rival
	for _, d := range b.sharing(p.frame) {
		if !q.Now.IsZero() && d.Date.After(q.Now) || d.holdsAny(q.Gold) || coverage(matter, d.words, nil) < least {
			continue
		}
		if s, ok := b.variant(d, p, a); ok {
			out = append(out, Rival{d, s})
		}
	}
	return out
}

// fewestMatter is of how many words a question must be made that one sentence
// with all of them is about the same.
const fewestMatter = 4

// Restating returns mails other than the gold that have a sentence with all words
// of the question's matter and others besides, and do not hold the answer: of
// answers without a sort (a reason, what became of something) nothing else tells
// a rival. A sentence that asks, or leaves it open, is none.
func (b *Box) Restating(q Asked) []Rival {
	matter := Matter(q.Question)
	if len(matter) < fewestMatter || !sortless(q.Answer) {
		return nil
	}
	asked, answer := stems(q.Question), stems(q.Answer)
	maps.DeleteFunc(answer, func(w string, _ bool) bool { return asked[w] || len(keyword.Content(w)) == 0 })
	var out []Rival
	for _, d := range b.With(matter) {
		if !q.Now.IsZero() && d.Date.After(q.Now) || d.holdsAny(q.Gold) || 2*common(d.words, answer) >= len(answer) {
			continue
		}
		for _, s := range d.sentences() {
			if coverage(matter, s.words, nil) == len(matter) && len(s.words) > common(s.words, asked) && !open(&s) {
				out = append(out, Rival{d, Fold(s.text)})
				break
			}
		}
	}
	return out
}

// sortless reports whether an answer holds no fact, name or number by which
// another in its place could be told; those in a clause tell little.
func sortless(text string) bool {
	const clause = 4 // words
	a := sortOf(text)
	return len(a.kinds) == 0 && (!a.number && !a.name || len(strings.Fields(text)) >= clause)
}

// open reports whether a sentence asks, or says that somebody did something.
func open(s *sentence) bool {
	return strings.HasSuffix(strings.TrimSpace(s.text), "?") || s.words["some"] || common(s.words, nobody) > 0
}

// So many words beside the answer make a passage that one, and so many of them
// that are not everybody's.
const (
	minFrame   = 4
	minTelling = 3
)

func telling(words map[string]bool) int {
	n := 0
	for w := range words {
		n += len(keyword.Content(w))
	}
	return n
}

// A passage is the sentence that gives an answer, with as many sentences around
// it as it takes to be known again.
type passage struct {
	before, after int             // sentences around that of the answer
	frame         map[string]bool // its words, those of the answer left out
	answer        map[string]bool
}

// passage finds where a gold mail gives the answer.
func (b *Box) passage(q *Asked) (p passage, ok bool) {
	evidence := stems(q.Evidence)
	for _, id := range q.Gold {
		d := b.Doc(id)
		if d == nil {
			continue
		}
		p.answer = stems(q.Answer)
		for w := range stems(wholly(d.body, q.Answer)) {
			p.answer[w] = true
		}
		at, best := -1, 0
		for i, s := range d.sentences() {
			score := 2*common(s.words, p.answer) + common(s.words, evidence)
			if q.Answer != "" && strings.Contains(Fold(s.text), Fold(q.Answer)) {
				score += len(evidence) // there it is, whatever else is quoted
			}
			if score > best {
				at, best = i, score
			}
		}
		if at < 0 {
			continue
		}
		all := d.sentences()
		for {
			p.frame = wordsOf(all[max(0, at-p.before):min(len(all), at+p.after+1)])
			maps.DeleteFunc(p.frame, func(w string, _ bool) bool { return p.answers(w) })
			if len(p.frame) >= minFrame && telling(p.frame) >= minTelling {
				return p, true
			}
			if at-p.before <= 0 && at+p.after+1 >= len(all) {
				return p, false
			}
			p.before, p.after = p.before+1, p.after+1
		}
	}
	return p, false
}

// answers reports whether a word is of the answer: "400" and "400.00" are.
func (p *passage) answers(word string) bool {
	if p.answer[word] {
		return true
	}
	for a := range p.answer {
		if len(a) > 2 && '0' <= a[0] && a[0] <= '9' && strings.HasPrefix(word, a) {
			return true
		}
	}
	return false
}

// wholly is where text says answer, widened to whole words: "$400.00" for "$400".
func wholly(text, answer string) string {
	at := strings.Index(text, answer)
	if at < 0 || answer == "" {
		return ""
	}
	edge := func(r rune) bool { return unicode.IsSpace(r) }
	start := strings.LastIndexFunc(text[:at], edge) + 1
	end := at + len(answer)
	if n := strings.IndexFunc(text[end:], edge); n >= 0 {
		return text[start : end+n]
	}
	return text[start:]
}

func common(a, b map[string]bool) int {
	n := 0
	for w := range b {
		if a[w] {
			n++
		}
	}
	return n
}

func wordsOf(all []sentence) map[string]bool {
	m := map[string]bool{}
	for _, s := range all {
		maps.Copy(m, s.words)
	}
	return m
}

// sharing are the docs that have nearly all words of frame.
func (b *Box) sharing(frame map[string]bool) []*Doc {
	seen := map[int]int{}
	for w := range frame {
		for _, i := range b.byWord[w] {
			seen[i]++
		}
	}
	var out []*Doc
	for i, d := range b.Docs {
		if seen[i]*10 >= len(frame)*9 {
			out = append(out, d)
		}
	}
	return out
}

// variant returns a sentence of d that stands where nearly all words of a
// passage's frame do, and has few others, and in the place of the answer, or of a
// part of it, something of its sort.
func (b *Box) variant(d *Doc, p passage, a answer) (string, bool) {
	all := d.sentences()
	for i, s := range all {
		around := wordsOf(all[max(0, i-p.before):min(len(all), i+p.after+1)])
		own := common(s.words, p.answer)
		others := len(s.words) - common(p.frame, s.words) - own
		if len(a.digits) >= 7 && strings.Contains(Digits(s.text), a.digits) {
			continue // the same telephone number, written otherwise
		}
		if common(around, p.frame)*10 >= len(p.frame)*9 && own < len(p.answer) && others > 0 && others <= a.room(len(p.answer)) && b.holdsSort(&s, a, p.frame) {
			return Fold(s.text), true
		}
	}
	return "", false
}

// An answer is what is known of an answer's sort.
type answer struct {
	text         string
	kinds        []extract.Kind
	digits       string
	number, name bool
}

func sortOf(text string) answer {
	a := answer{text: text, digits: Digits(text), number: isNumber(text), name: slices.ContainsFunc(strings.Fields(text), startsUpper)}
	for _, s := range extract.Spans(text) {
		a.kinds = append(a.kinds, s.Kind)
	}
	return a
}

// takes reports whether a fact of a kind may stand in the answer's place.
func (a *answer) takes(kind extract.Kind) bool {
	return slices.ContainsFunc(a.kinds, func(k extract.Kind) bool {
		return extract.Answers(kind, k) || extract.Answers(k, kind)
	})
}

// room is how many words may stand in the place of an answer of n words: more
// where it can be told by its sort than where any word would do.
func (a *answer) room(n int) int {
	if a.number || a.name {
		return max(n+2, 15)
	}
	return n + 2
}

// holdsSort reports whether a sentence holds, beside the words of frame, something
// of an answer's sort: a fact of its kind, a number for a number, a name for a
// name, and for what is neither nor of any kind a word.
func (b *Box) holdsSort(s *sentence, a answer, frame map[string]bool) bool {
	for _, f := range s.facts {
		v := f.Text(s.text)
		if a.takes(f.Kind) && !SameValue(v, a.text) && !within(stems(v), frame) {
			return true
		}
	}
	of := map[string]bool{} // words of facts of other kinds
	for _, f := range s.facts {
		if len(a.kinds) > 0 && !a.takes(f.Kind) {
			maps.Copy(of, stems(f.Text(s.text)))
		}
	}
	loose := func(w string) bool { return !within(stems(w), frame) && !within(stems(w), of) }
	words := keyword.Words(s.text)
	for i, w := range words {
		number := isNumber(w) && (i+1 == len(words) || words[i+1] != "of") // "one of the docks"
		switch {
		case !loose(w):
		case a.number:
			if number {
				return true
			}
		case a.name:
			if !number && startsUpper(w) && len(keyword.Content(w)) > 0 && !nobody[strings.ToLower(w)] && (i > 0 || !b.lower[strings.ToLower(w)]) {
				return true
			}
		case len(a.kinds) == 0 && !number:
			return true
		}
	}
	return false
}

// nobody are words in the place of a name that leave it open.
var nobody = wordSet(`somebody someone something somewhere`)

// isNumber reports whether a text has a digit or a numeral.
func isNumber(s string) bool {
	return strings.ContainsAny(s, "0123456789") || slices.ContainsFunc(strings.Fields(strings.ToLower(s)), func(w string) bool { return numerals[w] })
}

var numerals = wordSet(`one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty hundred dozen half noon midnight`)

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

func within(words, frame map[string]bool) bool {
	for w := range words {
		if !frame[w] {
			return false
		}
	}
	return true
}

func (d *Doc) holdsAny(ids []string) bool {
	return slices.ContainsFunc(ids, d.IsOrHolds)
}

// candidates are docs with the rarest word of the matter that any doc has.
func (b *Box) candidates(matter []string) []*Doc {
	seen := make([]bool, len(b.Docs))
	for _, w := range matter {
		for _, i := range b.byWord[w] {
			seen[i] = true
		}
	}
	var out []*Doc
	for i, d := range b.Docs {
		if seen[i] {
			out = append(out, d)
		}
	}
	return out
}

func (b *Box) subjectOf(ids []string) map[string]bool {
	for _, id := range ids {
		if d := b.Doc(id); d != nil {
			return d.subject
		}
	}
	return nil
}

// coverage counts the words of matter that a sentence or its mail's subject has.
func coverage(matter []string, sentence, subject map[string]bool) int {
	n := 0
	for _, w := range matter {
		if sentence[w] || subject[w] {
			n++
		}
	}
	return n
}

// rivalValue returns another value in a sentence that fits as well.
func (b *Box) rivalValue(d *Doc, q Asked, matter []string, own int) (string, bool) {
	if coverage(matter, d.words, nil) < max(own, 1) {
		return "", false // no sentence of it can cover as much
	}
	for _, s := range d.sentences() {
		if coverage(matter, s.words, d.subject) < max(own, 1) {
			continue
		}
		for _, f := range s.facts {
			v := f.Text(s.text)
			if extract.Answers(f.Kind, q.Kind) && !SameValue(v, q.Answer) && !strings.Contains(strings.ToLower(q.Question), strings.ToLower(Fold(v))) {
				return Fold(v), true
			}
		}
		if b.repliesOtherwise(&s, &q, matter) {
			return Fold(s.text), true
		}
	}
	return "", false
}

// minMatter is how many words of a question a sentence must have all of, to be
// an answer whatever kind it is of.
const minMatter = 3

// repliesOtherwise reports whether a sentence with all words of a question says,
// beside them, another number or name where the answer is one.
func (b *Box) repliesOtherwise(s *sentence, q *Asked, matter []string) bool {
	a := sortOf(q.Answer)
	if len(matter) < minMatter || !a.number && !a.name || coverage(matter, s.words, nil) < len(matter) || strings.HasSuffix(strings.TrimSpace(s.text), "?") {
		return false
	}
	if len(a.digits) >= 7 && strings.Contains(Digits(s.text), a.digits) || within(stems(q.Answer), s.words) {
		return false
	}
	return b.holdsSort(s, a, stems(q.Question))
}

// SameValue reports whether two values are equal but for letter case, blanks,
// articles, the weekday before a date, and how a telephone number is written.
func SameValue(a, b string) bool {
	if x, y := Digits(a), Digits(b); len(x) >= 7 && len(y) >= 7 {
		return x == y || x == "1"+y || y == "1"+x
	}
	x, y := plainValue(a), plainValue(b)
	return x == y || strings.HasSuffix(x, " "+y) || strings.HasSuffix(y, " "+x)
}

// Digits are the digits of a text.
func Digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

func plainValue(s string) string {
	s = strings.ToLower(Fold(s))
	return strings.TrimPrefix(s, "the ")
}

// Answering returns mails with a sentence that covers every word of the
// question and holds a value of its kind, or a signature that does.
func (b *Box) Answering(q Asked) []Rival {
	matter := Matter(q.Question)
	q.Answer = "" // any value will do
	var out []Rival
	for _, d := range b.With(matter) {
		if v, ok := b.rivalValue(d, q, matter, len(matter)); ok {
			out = append(out, Rival{d, v})
		}
	}
	for _, d := range b.Docs {
		for _, s := range d.Signature() {
			if extract.Answers(s.Fact.Kind, q.Kind) && s.asked(matter) {
				out = append(out, Rival{d, s.Value})
			}
		}
	}
	return out
}
