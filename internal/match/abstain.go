package match

import (
	"regexp"
	"strings"
)

// A stance says whether a text claims not to know.
type stance uint8

const (
	answers stance = iota
	plain          // says only that it does not know
	hedged         // says so, and offers something all the same
)

// unknowns matches the ways of saying that nothing was found. "No" is none of
// them: it answers.
var unknowns = regexp.MustCompile(`(?i)\b(?:i|we)(?: really| honestly| simply| just)? (?:do not|don't|dont|cannot|can't|could not|couldn't|did not|didn't|am unable to|was unable to|was not able to|wasn't able to|am not able to) (?:know|tell|say|find|determine|locate|see|have (?:access|enough|any|that|the|this|sufficient|information))\b|` +
	`\bidk\b|\b(?:i'm|i am) not (?:sure|certain|aware)\b|\b(?:no|not enough|insufficient) (?:information|mention|record|answer|e-?mails?|data|details?|evidence)\b|` +
	`\b(?:is|was|are|were|could) ?(?:not|n't) (?:be )?(?:found|known|mentioned|stated|specified|provided|determined|answered)\b|` +
	`\bcannot be (?:found|determined|answered)\b|^(?:unknown|not found|not known|not available|not mentioned|not specified|n/a|cannot answer|unable to (?:find|determine|answer)|unanswerable|no idea|none found)\b`)

// offers marks what follows a claim not to know as an answer all the same.
var offers = regexp.MustCompile(`(?i)\b(?:but|maybe|perhaps|possibly|probably|might|may be|could be|guess|likely|however|or|if i had to|i think|i believe|it is|it was|it's)\b`)

// courtesies may stand before a claim not to know.
var courtesies = regexp.MustCompile(`(?i)^(?:sorry|unfortunately|well|hmm|no|answer)\b[,:. ]*`)

// firstSays says whether what stands before the claim not to know is an answer:
// a value, or a few words that end in a sign.
func firstSays(before string) bool {
	t := read(before)
	return valued(t) || len(t.tokens) > 0 && len(t.tokens) <= 3 && strings.ContainsAny(before, ",;:.-")
}

// disclaimer is how language models begin that say what they are, with what
// follows it. It is no claim not to know the answer.
var disclaimer = regexp.MustCompile(`(?i)^as an (?:ai|artificial intelligence)(?: language)?(?: model| assistant)?, i (?:do not|don't|cannot|can't|am not able to) (?:have|access|predict|provide)\b[^.]{0,160}?` +
	`(?:[,;]? (?:but|however)\b,?|\. *(?:however|but|nevertheless|that said|with that said|nonetheless)\b,?)\s*`)

// withoutDisclaimer drops it where an answer follows.
func withoutDisclaimer(answer string) string {
	s := strings.TrimSpace(fold(answer))
	if at := disclaimer.FindStringIndex(s); at != nil && at[1] < len(s) {
		return s[at[1]:]
	}
	return answer
}

// Abstains says whether a text only says that nothing is known.
func Abstains(answer string) bool { return abstention(answer) == plain }

// abstention looks at how a text begins: a claim not to know later in a long
// answer is a remark, not the answer.
func abstention(answer string) stance {
	s := strings.TrimSpace(fold(answer))
	at := unknowns.FindStringIndex(s)
	if at == nil || len(strings.Fields(s[:at[0]])) > 8 {
		return answers
	}
	rest := s[at[1]:]
	if before := courtesies.ReplaceAllString(s[:at[0]], ""); firstSays(before) {
		return hedged
	}
	if where := offers.FindStringIndex(rest); where != nil && len(read(rest[where[1]:]).tokens) > 0 {
		return hedged
	}
	if valued(read(rest)) && len(strings.Fields(rest)) <= 6 {
		return hedged
	}
	return plain
}

// valued says whether a text holds a number, date, time or telephone number.
func valued(t text) bool {
	for _, tok := range t.tokens {
		if tok.kind != word && !tok.soft {
			return true
		}
	}
	return false
}
