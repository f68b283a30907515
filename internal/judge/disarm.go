package judge

import (
	"regexp"
	"strings"
)

// orders are the ways in which a text speaks to its judge.
var orders = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instructions?|prompts?|rules|rubric|references?)\b|` +
	`\b(?:judge|grader|evaluator|examiner)s?\b ?[:,]|\b(?:as|dear|note to|you are) (?:the |a |an |my )?(?:judge|grader|evaluator)\b|` +
	`\b(?:mark|grade|rate|score|label|judge|accept|treat|consider|count)\b.{0,20}\b(?:this|the|my|it|me)\b.{0,24}\b(?:correct|right|true|answer|attempt|full|highest|1(?:\.0)?)\b|` +
	`\b(?:reply|respond|return|output|answer|say)\b (?:only )?(?:with )?["'{]|["'](?:says|correct|verdict|score|explanation)["'] ?:|` +
	`\b(?:correct|verdict|says|score) ?[=:] ?["']?(?:true|right|correct|1\b)|` +
	`\b(?:this|the|my) (?:candidate |final |above )?(?:answer|response|attempt) (?:is|was) (?:\w+ )?(?:correct|right|perfect)\b|` +
	`\b(?:system|developer) ?(?:prompt|message|override|note)\b|\b(?:system|assistant|developer|candidate|references?) ?:|<\|?/?(?:im_start|im_end|system|assistant|user|inst)\b|\[/?INST\]|` +
	`\bnew (?:instructions?|rules|task) ?:|\bfull (?:marks|credit|score)\b|\{\{|=== ?user`)

// sentences are what a text is taken apart into: up to a full stop, or a line.
var sentences = regexp.MustCompile(`[^.!?\n]*(?:[.!?]+(?:["')\]]*(?:\s|$)|)|\n|$)`)

// disarm takes out of a text the sentences that speak to its judge, so that the
// judge sees what it would have seen without them. found says whether there were any.
func disarm(text string) (clean string, found bool) {
	if !orders.MatchString(text) {
		return text, false
	}
	var b strings.Builder
	for _, s := range sentences.FindAllString(text, -1) {
		if !orders.MatchString(s) {
			b.WriteString(s)
		}
	}
	if rest := b.String(); !orders.MatchString(rest) {
		return strings.TrimSpace(rest), true
	}
	return "", true // the order runs over several sentences: nothing can be trusted
}
