// Package keyword picks the words of a question that are worth searching for.
//
// Most callers want Content. The package knows no mailbox.
package keyword

import (
	"regexp"
	"strings"
)

// word is a run of letters and digits, held together by what names, numbers and
// times have inside.
var word = regexp.MustCompile(`[\pL\pN]+(?:['’&.,:/-][\pL\pN]+)*`)

// stop are words that a question is made of, and that mails are full of.
var stop = setOf(`a an the of in on at to for with and or nor by from about as into onto over under up down out off
	per than then so if but not no yes is was are were be been being am do did does done doing have has had having
	i me my mine we us our ours you your yours he him his she her hers they them their theirs it its this that these
	those there here what when where which who whom whose why how much many any some all each every both other
	another such same own would could should can will shall may might must said say says saying tell told telling
	get got getting go goes going gone went want wants wanted need needs needed give gave given let lets make made
	i'm i've i'd i'll we're we've we'd we'll you're he's she's it's that's what's who's where's when's there's
	don't didn't doesn't wasn't isn't aren't before after during until since while because between again back
	also just only still yet ever never now name named called according exactly supposed`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// Words returns the words of text in order, as they are written.
func Words(text string) []string { return word.FindAllString(text, -1) }

// Content returns the words of text that carry its matter, each once, in order.
// The possessive 's is cut off: mails have the name without it as well.
func Content(text string) []string {
	var kept []string
	seen := map[string]bool{}
	for _, w := range Words(text) {
		w = trimPossessive(w)
		folded := strings.ToLower(strings.ReplaceAll(w, "’", "'"))
		if stop[folded] || seen[folded] || len(folded) == 1 && !isDigit(folded[0]) {
			continue
		}
		seen[folded] = true
		kept = append(kept, w)
	}
	return kept
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func trimPossessive(w string) string {
	for _, end := range []string{"'s", "’s"} {
		if t, ok := strings.CutSuffix(w, end); ok && !stop[strings.ToLower(t)+"'s"] {
			return t
		}
	}
	return w
}
