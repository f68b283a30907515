// Package realism judges, without a model, how likely the owner of a mailbox
// would ask a question in these words.
//
// Most callers want Score. What gives a generator away is that it repeats its
// source: people remember a matter and not the sentence. So most of the score
// is how much of the question stands word for word in the mail; the rest is
// length, whether it names its matter, whether it is asked from the owner's
// side, and slips of grammar that people do not make.
package realism

import (
	"math"
	"regexp"
	"strings"
	"unicode"

	"agentmill/internal/keyword"
)

// Score is from 0, nobody asks so, to 1. mails are the texts of the question's
// source mails, subject included; without any the words are judged alone.
func Score(question string, mails ...string) float64 {
	a, z := newAsked(question, mails), float64(bias)
	for _, t := range traits {
		z += t.weight * t.of(a)
	}
	return math.Round(100/(1+math.Exp(-z))) / 100
}

// The weights of the traits. The first three were fitted by logistic regression,
// questions that people wrote against the extractive generator's plainest
// wording of the same mails, and rounded; the fit and both halves of the mails
// agree on their order. Slips and pointers are too rare there to be fitted.
const bias = 3

var traits = []struct {
	name   string
	weight float64
	of     func(*asked) float64
}{
	{"longest run of words that stands in the mail", -5, func(a *asked) float64 { return float64(a.run) / max(a.size(), 8) }},
	{"triples of words that stand in the mail", -4, func(a *asked) float64 { return a.triples }},
	{"telling words that stand in the mail", -1.5, func(a *asked) float64 { return a.content }},
	{"asked from the owner's side", .3, func(a *asked) float64 { return flag(owner.MatchString(a.text)) }},
	{"about what is past", .7, func(a *asked) float64 { return flag(past.MatchString(a.text)) }},
	{"names", 1.2, func(a *asked) float64 { return min(float64(names(a.text)), 3) / 3 }},
	{"too short", -2, func(a *asked) float64 { return max(0, 8-a.size()) / 8 }},
	{"too long", -2, func(a *asked) float64 { return max(0, a.size()-22) / 10 }},
	{"points at the mail", -2, func(a *asked) float64 { return flag(pointer.MatchString(a.text)) }},
	{"slips of grammar", -2.5, func(a *asked) float64 { return flag(Slips(a.text)) }},
}

// An asked is a question with what its traits are read from.
type asked struct {
	text             string
	words            []string
	run              int
	triples, content float64
}

func (a *asked) size() float64 { return float64(max(len(a.words), 1)) }

func newAsked(question string, mails []string) *asked {
	a := &asked{text: question, words: fold(question)}
	a.run, a.triples, a.content = overlap(a.words, mails)
	return a
}

var (
	owner   = regexp.MustCompile(`(?i)\b(?:I|my|me|we|our|us)\b`)
	past    = regexp.MustCompile(`(?i)\b(?:did|was|were|had)\b`)
	pointer = regexp.MustCompile(`(?i)\b(?:mail|note|message|e-mail) (?:about|of|from)\b`)
	slips   = regexp.MustCompile(`(?i)\b(?:did|does|do) (?:[\w']+ ){0,4}(?:can|could|will|would|may|might|must|should|has|is|are|was|were)\b|\b(?:did|does|do|will|can|should|would|may) (?:did|does|do|can|will|would|should|may|is|are|was|were|has)\b|\b(?:is|are|was|were) (?:is|are|was|were|be|will|can)\b|\b(?:me|us) (?:are|were|am|have|has|had|need|needs|can|will|should|would|may|was|is)\b|n't\b|\b(?:a|an|the) (?:a|an|the)\b|\b(?:a|an|the|and|or|of|your|their|his|dated|versus|regarding|concerning|starting|including|via|then|both)[?.]$|[<>{}\[\]|*=_]|[a-z]\.[a-z]\.? |,,|\.\.|--| - `)
)

// Slips reports whether a question has a fault of grammar that people who ask
// do not make, as one that was put together of a sentence's pieces may.
func Slips(question string) bool { return slips.MatchString(question) }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// fold is text as its words in small letters.
func fold(text string) []string {
	words := keyword.Words(text)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	return words
}

// overlap is the longest run of a question's words that stands in a mail, and
// the shares of its triples and of its telling words that do.
func overlap(words, mails []string) (run int, triples, content float64) {
	if len(mails) == 0 {
		return 0, 0, 0
	}
	text := " " + strings.Join(fold(strings.Join(mails, "\n")), " ") + " "
	found, all := 0, 0
	for i := range words {
		if i+3 <= len(words) {
			all++
			if strings.Contains(text, " "+strings.Join(words[i:i+3], " ")+" ") {
				found++
			}
		}
		for i+run < len(words) && strings.Contains(text, " "+strings.Join(words[i:i+run+1], " ")+" ") {
			run++
		}
	}
	telling := keyword.Content(strings.Join(words, " "))
	there := 0
	for _, w := range telling {
		if strings.Contains(text, " "+w+" ") {
			there++
		}
	}
	return run, float64(found) / float64(max(all, 1)), float64(there) / float64(max(len(telling), 1))
}

// names counts the words after the first that begin with a capital.
func names(question string) int {
	n := 0
	for i, w := range keyword.Words(question) {
		if i > 0 && w != "I" && unicode.IsUpper([]rune(w)[0]) {
			n++
		}
	}
	return n
}
