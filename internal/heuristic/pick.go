package heuristic

import (
	"strings"

	"agentmill/internal/extract"
	"agentmill/internal/keyword"
)

// Scores are shares of the question's words that stand near a fact of the right
// kind. They were set by playing training questions.
const (
	plausible = .4  // below it the policy abstains
	certain   = .95 // from it on it reads no further mail
	nearby    = .5  // weight of words in the sentence before, or in the subject
)

// minStem is the length from which words that begin alike count as one.
const minStem = 5

// An asked is what a question asks for.
type asked struct {
	text  string // lower case
	kind  extract.Kind
	words []string
}

// A candidate is a possible answer.
type candidate struct {
	text, source string
	score        float64
}

func newAsked(text string, words []string) *asked {
	return &asked{text: strings.ToLower(text), kind: extract.KindOfQuestion(text), words: stems(words)}
}

// best finds the likeliest answer in a mail as it is shown: a header line, then
// the body.
func (a *asked) best(shown string) candidate {
	var best candidate
	if a.kind == "" || len(a.words) == 0 {
		return best
	}
	header, body, _ := strings.Cut(shown, "\n")
	subject := stems(keyword.Words(header))
	var before []string
	for _, r := range extract.Sentences(body) {
		sentence := body[r.Start:r.End]
		here := stems(keyword.Words(sentence))
		if fact := a.fact(sentence); fact != "" {
			if score := a.score(here, before, subject); score > best.score {
				best = candidate{text: fact, score: score}
			}
		}
		before = here
	}
	return best
}

// fact is the first fact of the right kind that the question does not name itself.
func (a *asked) fact(sentence string) string {
	for _, s := range extract.OfKind(sentence, a.kind) {
		if text := s.Text(sentence); !strings.Contains(a.text, strings.ToLower(text)) {
			return text
		}
	}
	return ""
}

// score is the share of the question's words that stand in a sentence; those
// that stand only near it count less.
func (a *asked) score(here, before, subject []string) float64 {
	var sum float64
	for _, w := range a.words {
		switch {
		case has(here, w):
			sum++
		case has(before, w) || has(subject, w):
			sum += nearby
		}
	}
	return sum / float64(len(a.words))
}

// stems are lower-case words without the endings that vary most.
func stems(words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, stem(strings.ToLower(w)))
	}
	return out
}

func stem(w string) string {
	for _, end := range []string{"'s", "’s", "ing", "ed", "es", "s"} {
		if t, ok := strings.CutSuffix(w, end); ok && len(t) >= 3 {
			return t
		}
	}
	return w
}

// has reports whether words hold w, or a longer or shorter form of it.
func has(words []string, w string) bool {
	for _, x := range words {
		if x == w || len(w) >= minStem && len(x) >= minStem && (strings.HasPrefix(x, w) || strings.HasPrefix(w, x)) {
			return true
		}
	}
	return false
}
