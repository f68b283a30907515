package mailbox

import (
	"slices"
	"strings"
	"time"

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
		if v, ok := d.rivalValue(q, matter, own); ok {
			out = append(out, Rival{d, v})
		}
	}
	return out
}

// Contradicting returns mails other than the gold that have the sentence of the
// evidence with something else in the place of the answer: drafts, updates and
// repeated notices.
func (b *Box) Contradicting(q Asked) []Rival {
	frame, answer := stems(q.Evidence), stems(q.Answer)
	for w := range answer {
		delete(frame, w)
	}
	if len(frame) < minFrame {
		return nil
	}
	matter := Matter(q.Question)
	least := len(matter) // a notice of another matter may have the sentence too
	for _, id := range q.Gold {
		if d := b.Doc(id); d != nil {
			least = min(least, coverage(matter, d.words, nil))
		}
	}
	var out []Rival
	for _, d := range b.sharing(frame) {
		if !q.Now.IsZero() && d.Date.After(q.Now) || d.holdsAny(q.Gold) || coverage(matter, d.words, nil) < least {
			continue
		}
		if s, ok := d.variant(frame, answer, &q); ok {
			out = append(out, Rival{d, s})
		}
	}
	return out
}

// minFrame is how many words of a sentence beside the answer make it that one.
const minFrame = 4

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

// variant returns a sentence that has nearly all words of frame, few others, and
// in the place of the answer, or of a part of it, something of its sort.
func (d *Doc) variant(frame, answer map[string]bool, q *Asked) (string, bool) {
	for _, s := range d.sentences() {
		common, own := 0, 0
		for w := range s.words {
			switch {
			case frame[w]:
				common++
			case answer[w]:
				own++
			}
		}
		others := len(s.words) - common - own
		if common*10 >= len(frame)*9 && own < len(answer) && others > 0 && others <= len(answer)+2 && s.hasSortOf(q.Answer, frame) {
			return Fold(s.text), true
		}
	}
	return "", false
}

// hasSortOf reports whether a sentence holds, beside the words of frame, a fact
// of the kind that the answer is, or a number where it is one.
func (s *sentence) hasSortOf(answer string, frame map[string]bool) bool {
	known := extract.Spans(answer)
	for _, f := range s.facts {
		v := f.Text(s.text)
		if len(known) > 0 && (extract.Answers(f.Kind, known[0].Kind) || extract.Answers(known[0].Kind, f.Kind)) && !SameValue(v, answer) && !within(stems(v), frame) {
			return true
		}
	}
	if len(known) > 0 {
		return false
	}
	for w := range s.words {
		if !frame[w] && strings.ContainsAny(w, "0123456789") == strings.ContainsAny(answer, "0123456789") {
			return true
		}
	}
	return false
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
func (d *Doc) rivalValue(q Asked, matter []string, own int) (string, bool) {
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
	}
	return "", false
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
	var out []Rival
	for _, d := range b.With(matter) {
		if v, ok := d.rivalValue(q, matter, len(matter)); ok {
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
