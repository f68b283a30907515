package filterq

import (
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/mailbox"
	"agentmill/internal/question"
)

// nearDuplicate is the overlap of words from which on two questions are the same.
const nearDuplicate = .8

// dropDuplicates drops questions that ask the same mailbox the same again, and
// both of two equal questions with different answers.
func dropDuplicates(items []*item) {
	for _, group := range byInbox(items) {
		words := make([]map[string]bool, len(group))
		for i, it := range group {
			words[i] = wordSet(it.Question.Question)
			it.say(checkDuplicate, Pass, "")
		}
		for i, it := range group {
			for j := range i {
				if it.failed != "" {
					break
				}
				first := group[j]
				if first.failed != "" && first.failed != checkDuplicate || jaccard(words[i], words[j]) < nearDuplicate {
					continue
				}
				it.sayDuplicate(first)
			}
		}
	}
}

// sayDuplicate drops it for first where both ask the same.
func (it *item) sayDuplicate(first *item) {
	sameText := plain(it.Question.Question) == plain(first.Question.Question)
	switch {
	case mailbox.SameValue(it.Answer, first.Answer) && (it.Kind == first.Kind || sameText):
		it.say(checkDuplicate, Drop, "asks the same as "+first.ID)
	case sameText:
		it.say(checkDuplicate, Drop, first.ID+" asks the same and has another answer")
		first.say(checkDuplicate, Drop, it.ID+" asks the same and has another answer")
	}
}

func wordSet(q string) map[string]bool {
	m := map[string]bool{}
	for _, w := range mailbox.Matter(q) {
		m[w] = true
	}
	return m
}

// jaccard is the share of common words.
func jaccard(a, b map[string]bool) float64 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	if union := len(a) + len(b) - common; union > 0 {
		return float64(common) / float64(union)
	}
	return 1
}

// rank orders splits: where evidence stands in several, the first of these
// keeps it.
var rank = map[question.Split]int{question.Test: 0, question.Val: 1, question.Train: 2}

// dropLeaks drops questions whose evidence supports a question of a more
// guarded split too: a mail that several mailboxes got.
func dropLeaks(items []*item) {
	guard := map[string]*item{}
	for _, it := range items {
		for _, e := range it.leakKeys() {
			if g, ok := guard[e]; it.failed == "" && (!ok || rank[it.Split] < rank[g.Split]) {
				guard[e] = it
			}
		}
	}
	for _, it := range items {
		it.say(checkLeak, Pass, "")
		for _, e := range it.leakKeys() {
			if g := guard[e]; g != nil && g.Split != it.Split {
				it.say(checkLeak, Drop, fmt.Sprintf("its evidence supports %s of split %s", g.ID, g.Split))
				break
			}
		}
	}
}

// leakKeys are the texts and mails that must stay in one split.
func (it *item) leakKeys() []string {
	keys := slices.Clone(it.evidence)
	for _, id := range slices.Concat(it.MessageIDs, it.AlsoIn) {
		keys = append(keys, strings.ToLower(id))
	}
	return keys
}
