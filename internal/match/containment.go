package match

import (
	"regexp"
	"strings"
	"unicode"
)

// contained is the rule of the first trials on this task, unchanged so that
// their figures can be compared: equal, contained or token F1 of at least .6
// after a plain normalisation, and no more than three times as long as the gold
// (at least four words).
func contained(g Gold, answer string) Result {
	unknown := strings.Contains(strings.ToLower(answer), "don't know")
	switch {
	case unknown || !g.Answerable:
		return Result{Correct: unknown && !g.Answerable, Abstained: unknown}
	case len(g.Answers) == 0:
		return Result{}
	}
	said := normalise(answer)
	if len(strings.Fields(said)) > 3*max(4, len(strings.Fields(normalise(g.Answers[0])))) {
		return Result{Why: "longer than three times the gold"}
	}
	for _, gold := range g.Answers {
		want := normalise(gold)
		if want == said || want != "" && strings.Contains(" "+said+" ", " "+want+" ") || f1(strings.Fields(want), strings.Fields(said)) >= .6 {
			return Result{Correct: true}
		}
	}
	return Result{}
}

var littleWords = regexp.MustCompile(`\b(a|an|the|about|by|on|at|in)\b`)

func normalise(s string) string {
	s = littleWords.ReplaceAllString(strings.ReplaceAll(strings.ToLower(s), ",", ""), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || r == '.' {
			return r
		}
		return ' '
	}, s)
	fields := strings.Fields(s)
	for i, f := range fields {
		fields[i] = strings.Trim(f, ".")
	}
	return strings.Join(fields, " ")
}

// f1 is the harmonic mean of precision and recall of words as bags.
func f1(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	count := map[string]int{}
	for _, w := range a {
		count[w]++
	}
	common := 0
	for _, w := range b {
		if count[w] > 0 {
			count[w]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}
