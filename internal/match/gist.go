package match

import (
	_ "embed"
	"slices"
	"strings"
)

// enoughGist is the share of a gold's weight that an answer must say.
const enoughGist = .5

// gist finds the gold by what its words weigh: names more than other words, and
// words that are in everybody's mouth less. Words of the question don't count:
// they are said anyway.
func gist(asked, gold text, want, have []token) []int {
	match := align(want, have)
	mixed := !capitals(gold.folded)
	comma := -1
	if !mixed {
		comma = strings.IndexByte(gold.folded, ',')
	}
	var at []int
	all, said := 0.0, 0.0
	for i, w := range want {
		if slices.ContainsFunc(asked.tokens, w.fits) {
			continue
		}
		weight := gold.weight(w, mixed)
		if comma > 0 && w.start < comma {
			weight *= 2 // the town of "Larkfield, Ohio"
		}
		all += weight
		if match[i] >= 0 {
			said += weight
			at = append(at, have[match[i]].start)
		}
	}
	if said < 1 || said < enoughGist*all {
		return nil
	}
	slices.Sort(at)
	return at
}

// weight of a word of the gold. A capital says something only where not all
// words have one.
func (t text) weight(w token, mixed bool) float64 {
	switch {
	case w.kind != word:
		return 2
	case mixed && t.capital(w) && w.start > 0:
		return 2
	case common[w.text]:
		return .5
	}
	return 1
}

//go:embed common.txt
var commonWords string

// common are words of no special meaning, stemmed.
var common = stemmed(commonWords)
