package filterq

import (
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/mailbox"
	"agentmill/internal/question"
	"agentmill/internal/seed"
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

// dropLeaks drops questions that a question of a more guarded split rests on
// too: the same question, the same evidence, the same mail or thread, or a mail
// that shares a passage, such as a copy or a forward in another mailbox.
func dropLeaks(items []*item) {
	guard, passages := map[string]*item{}, map[uint64][]*item{}
	common := map[uint64]map[string]bool{}
	for _, it := range items {
		if it.failed != "" {
			continue
		}
		for _, k := range it.leakKeys() {
			if g, ok := guard[k]; !ok || rank[it.Split] < rank[g.Split] {
				guard[k] = it
			}
		}
		for _, p := range it.passages {
			passages[p] = append(passages[p], it)
			if common[p] == nil {
				common[p] = map[string]bool{}
			}
			common[p][it.MessageIDs[0]] = true
		}
	}
	for p, mails := range common {
		if len(mails) > commonPassage {
			delete(passages, p)
		}
	}
	for _, it := range items {
		it.say(checkLeak, Pass, "")
		if why := it.leak(guard, passages); why != "" {
			it.say(checkLeak, Drop, why)
		}
	}
}

// leak says how a question is known to a more guarded split, "" if it is not.
func (it *item) leak(guard map[string]*item, passages map[uint64][]*item) string {
	for _, k := range it.leakKeys() {
		if g := guard[k]; g != nil && rank[g.Split] < rank[it.Split] {
			what, _, _ := strings.Cut(k, " ")
			return fmt.Sprintf("its %s supports %s of split %s", what, g.ID, g.Split)
		}
	}
	shared := map[*item]int{}
	for _, p := range it.passages {
		for _, g := range passages[p] {
			if rank[g.Split] < rank[it.Split] {
				shared[g]++
			}
		}
	}
	var worst *item
	for g, n := range shared {
		if n >= min(sharedPassages, len(it.passages), len(g.passages)) && (worst == nil || g.ID < worst.ID) {
			worst = g
		}
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("its mail has %d sentences in common with that of %s of split %s", shared[worst], worst.ID, worst.Split)
}

const (
	sharedPassages = 2 // so many sentences in common make two mails one
	commonPassage  = 5 // a sentence that more source mails have is a notice
	passageWords   = 8 // shorter sentences are everybody's
)

// leakKeys are the texts and mails that must stay in one split.
func (it *item) leakKeys() []string {
	keys := []string{"question " + plain(it.Question.Question) + " " + plain(it.Answer)}
	for _, e := range it.evidence {
		keys = append(keys, "evidence "+e)
	}
	for _, id := range slices.Concat(it.MessageIDs, it.AlsoIn) {
		keys = append(keys, "mail "+strings.ToLower(id))
	}
	for _, id := range it.threads {
		keys = append(keys, "thread "+strings.ToLower(id))
	}
	return keys
}

// readPassages keeps what the source mails share with copies and forwards of
// them: their longer sentences, and their threads.
func (it *item) readPassages(gold []*mailbox.Doc) {
	seen := map[uint64]bool{}
	for _, d := range gold {
		if d.ThreadID != "" {
			it.threads = append(it.threads, d.ThreadID)
		}
		for _, s := range d.Sentences() {
			words := plain(s)
			if strings.Count(words, " ")+1 < passageWords {
				continue
			}
			if key := seed.Derive(0, "passage", words); !seen[key] {
				seen[key] = true
				it.passages = append(it.passages, key)
			}
		}
	}
}
