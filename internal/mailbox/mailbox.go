// Package mailbox looks for facts in all mails of one person at once: which
// mails say the same, which say something else of the same matter.
//
// Most callers want New, SameEvidence and Rivals. A Box lives in memory and may
// be asked by several goroutines; the search that an agent uses is package
// mailstore's.
package mailbox

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"agentmill/internal/extract"
	"agentmill/internal/keyword"
	"agentmill/internal/mail"
)

// A Doc is a mail with what was read out of it.
type Doc struct {
	*mail.Email
	Folded string // subject and body: no quote marks, white space folded

	words   map[string]bool // stems of subject and body
	subject map[string]bool // stems of the subject
	body    string          // without the marks of quoted lines

	once sync.Once // facts are looked for in the mails that need it alone
	read []sentence

	signing sync.Once
	signed  []Signed
}

// A sentence has the stems of its words and its facts.
type sentence struct {
	text  string
	words map[string]bool
	facts []extract.Span
}

// A Box is one mailbox.
type Box struct {
	Owner string
	Docs  []*Doc // by date

	byWord map[string][]int // stem → docs, ascending
	lower  map[string]bool  // words seen in small letters
	names  map[string]bool  // words seen with a capital inside a sentence
}

// New reads mails, which are one owner's and in order of date.
func New(owner string, emails []*mail.Email) *Box {
	b := &Box{Owner: owner, byWord: map[string][]int{}, lower: map[string]bool{}, names: map[string]bool{}}
	for i, e := range emails {
		d := newDoc(e)
		b.Docs = append(b.Docs, d)
		for w := range d.words {
			b.byWord[w] = append(b.byWord[w], i)
		}
		for _, m := range namesRE.FindAllStringSubmatch(e.Body, -1) {
			b.names[m[1]] = true
		}
		for _, w := range keyword.Words(e.Body) {
			if 'a' <= w[0] && w[0] <= 'z' {
				b.lower[w] = true
			}
		}
	}
	return b
}

// namesRE finds capitalised words after small ones.
var namesRE = regexp.MustCompile(`[a-z,] ([A-Z][A-Za-z]+)`)

// Names returns the words that the mailbox writes with a capital inside sentences.
func (b *Box) Names() map[string]bool { return b.names }

// Lower returns the words that the mailbox writes in small letters.
func (b *Box) Lower() map[string]bool { return b.lower }

func newDoc(e *mail.Email) *Doc {
	body := Unquote(e.Body)
	d := &Doc{Email: e, Folded: Fold(e.Subject + "\n" + body), body: body}
	d.subject = stems(e.Subject)
	d.words = stems(body)
	for w := range d.subject {
		d.words[w] = true
	}
	return d
}

// Unquoted is the body without the marks of quoted lines.
func (d *Doc) Unquoted() string { return d.body }

// Sentences returns the sentences of the unquoted body.
func (d *Doc) Sentences() []string {
	var out []string
	for _, s := range d.sentences() {
		out = append(out, s.text)
	}
	return out
}

// sentences returns the sentences of the doc with their facts.
func (d *Doc) sentences() []sentence {
	d.once.Do(func() {
		facts := extract.Spans(d.body)
		for _, r := range extract.SentencesWith(d.body, facts) {
			s := sentence{text: d.body[r.Start:r.End]}
			for _, f := range extract.Within(facts, r) {
				if f.End <= r.End {
					s.facts = append(s.facts, extract.Span{Kind: f.Kind, Start: f.Start - r.Start, End: f.End - r.Start})
				}
			}
			s.words = stems(s.text)
			d.read = append(d.read, s)
		}
	})
	return d.read
}

// Unquote takes the marks of quoted lines off a body.
func Unquote(body string) string {
	if !strings.Contains(body, ">") {
		return body
	}
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimLeft(l, "> \t")
	}
	return strings.Join(lines, "\n")
}

// Fold folds white space.
func Fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// Stem is the form under which words are compared: small letters, no plural.
func Stem(w string) string {
	w = strings.ToLower(strings.ReplaceAll(w, "’", "'"))
	w = strings.TrimSuffix(w, "'s")
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		return w[:len(w)-1]
	}
	return w
}

func stems(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range keyword.Words(text) {
		m[Stem(w)] = true
		if strings.Contains(w, "-") {
			for part := range strings.SplitSeq(w, "-") {
				m[Stem(part)] = true
			}
		}
	}
	return m
}

// Has reports whether the doc has all words in subject or body.
func (d *Doc) Has(words []string) bool {
	for _, w := range words {
		if !d.words[Stem(w)] {
			return false
		}
	}
	return true
}

// HasKind reports whether the doc holds a fact that can answer a question for kind.
func (d *Doc) HasKind(kind extract.Kind) bool {
	for _, s := range d.sentences() {
		for _, f := range s.facts {
			if extract.Answers(f.Kind, kind) {
				return true
			}
		}
	}
	return false
}

// With returns the docs that have all words, in order.
func (b *Box) With(words []string) []*Doc {
	if len(words) == 0 {
		return nil
	}
	rare := slices.MinFunc(words, func(x, y string) int { return len(b.byWord[Stem(x)]) - len(b.byWord[Stem(y)]) })
	var out []*Doc
	for _, i := range b.byWord[Stem(rare)] {
		if b.Docs[i].Has(words) {
			out = append(out, b.Docs[i])
		}
	}
	return out
}

// Count is the number of mails that have a word.
func (b *Box) Count(word string) int { return len(b.byWord[Stem(word)]) }

// Doc returns the mail with a Message-ID, that of a copy included.
func (b *Box) Doc(id string) *Doc {
	for _, d := range b.Docs {
		if d.IsOrHolds(id) {
			return d
		}
	}
	return nil
}

// IsOrHolds reports whether id is the mail's or one of its copies'.
func (d *Doc) IsOrHolds(id string) bool {
	return d.MessageID == id || slices.ContainsFunc(d.Copies, func(c mail.Copy) bool { return c.MessageID == id })
}

// SameEvidence returns the docs whose text holds evidence, white space and
// quote marks aside.
func (b *Box) SameEvidence(evidence string) []*Doc {
	folded := Fold(Unquote(evidence))
	var out []*Doc
	for _, d := range b.With(keyword.Content(folded)) {
		if strings.Contains(d.Folded, folded) {
			out = append(out, d)
		}
	}
	return out
}
