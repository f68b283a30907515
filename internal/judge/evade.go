package judge

import (
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// longestQuote is how many words of a mail an answer may repeat in a row. Short
// facts need fewer; whoever pastes a mail has not answered.
const longestQuote = 20

// evade says why what was answered is no answer, whatever it holds: "" for most.
func evade(t *traj.Trajectory) string {
	switch {
	case !t.Question.Answerable:
		return ""
	case pasted(t):
		return "repeats a mail instead of answering"
	case echoed(t):
		return "says nothing that the question does not"
	}
	return ""
}

// echoed reports whether the answer has only words of the question, and the
// right answer has others.
func echoed(t *traj.Trajectory) bool {
	q := map[string]bool{}
	for _, w := range words(t.Question.Question) {
		q[w] = true
	}
	fresh := func(text string) bool {
		return slices.ContainsFunc(words(text), func(w string) bool { return !q[w] })
	}
	gold := append([]string{t.Question.Answer}, t.Question.Aliases...)
	return !fresh(t.Answer.Text) && !slices.ContainsFunc(gold, func(g string) bool { return !fresh(g) })
}

// pasted reports whether the answer repeats more of what a tool showed than a
// quotation: at most longestQuote words, or twice as many as the right answer has.
func pasted(t *traj.Trajectory) bool {
	n := 1 + max(longestQuote, 2*len(words(t.Question.Answer)))
	said := runs(words(t.Answer.Text), n)
	if len(said) == 0 {
		return false
	}
	for _, m := range observed(t) {
		for run := range runs(words(m), n) {
			if said[run] {
				return true
			}
		}
	}
	return false
}

// observed are the texts that the attempt was shown after its prompt.
func observed(t *traj.Trajectory) (texts []string) {
	played := false
	for _, m := range t.Messages {
		if m.Role == chat.Assistant {
			played = true
		} else if played {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// words are the words of a text in lower case, without marks around them.
func words(s string) []string {
	out := strings.Fields(strings.ToLower(s))
	for i, w := range out {
		out[i] = strings.Trim(w, `.,;:!?"'()`)
	}
	return out
}

// runs are all n words in a row.
func runs(words []string, n int) map[string]bool {
	out := map[string]bool{}
	for i := 0; i+n <= len(words); i++ {
		out[strings.Join(words[i:i+n], " ")] = true
	}
	return out
}
