package filterq

import (
	"fmt"
	"strings"
	"time"

	"agentmill/internal/extract"
	"agentmill/internal/mailbox"
)

// explain tells where the question that was asked for comes from, down to the
// sentences, and what each check said of it.
func (c *Config) explain(it *item) {
	if c.Explain == "" || c.Explain != it.ID || c.Tell == nil {
		return
	}
	c.Tell("%s: %s", it.ID, it.Question.Question)
	c.Tell("  answer       %q, kind %s, made by %s, realism %.2f", it.Answer, or(it.Kind, "unknown"), or(it.Generator, "unknown"), it.HowRealistic)
	for _, a := range it.Aliases {
		c.Tell("  also right   %q", a)
	}
	c.Tell("  asked of     %s on %s", it.InboxAddress, or(it.QueryDate, "no day"))
	for _, line := range it.story {
		c.Tell("  %s", line)
	}
	for _, id := range it.AlsoIn {
		c.Tell("  also in      %s", id)
	}
	c.Tell("  split        %s, as its mailbox %s", or(string(it.Split), "none"), it.inbox)
	for _, name := range order {
		if v, ok := it.Checks[name]; ok {
			c.Tell("  %-12s %-8s %s", name, v.Verdict, v.Reason)
		}
	}
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// tellStory keeps the source mails and the sentences of them that hold the
// answer, for explain.
func (it *item) tellStory(gold []*mailbox.Doc) {
	for i, d := range gold {
		it.story = append(it.story, fmt.Sprintf("source %d     %s of %s from %s, %q, in %s", i+1, d.MessageID, d.Date.Format(time.RFC3339), d.From, d.Subject, or(d.Source, d.Folder)))
		for _, s := range it.Spans {
			if d.IsOrHolds(s.MessageID) && 0 <= s.Start && s.Start < s.End && s.End <= len(d.Body) {
				it.story = append(it.story, fmt.Sprintf("  bytes %d-%d: %q", s.Start, s.End, mailbox.Fold(d.Body[s.Start:s.End])))
			}
		}
		for _, r := range holding(d, it.Answer) {
			it.story = append(it.story, fmt.Sprintf("  says so at %d-%d: %q", r.Start, r.End, mailbox.Fold(d.Body[r.Start:r.End])))
		}
	}
}

// holding are the sentences of a mail that say most of the answer, at most three.
func holding(d *mailbox.Doc, answer string) []extract.Range {
	want := joined(terms(answer))
	var out []extract.Range
	for _, r := range extract.Sentences(d.Body) {
		if closeTogether(want, placed(terms(d.Body[r.Start:r.End])), supportWindow) > supportLimit {
			out = append(out, r)
		}
	}
	return out[:min(len(out), 3)]
}

// A Yield is what one check did to the questions that reached it.
type Yield struct {
	Check                  string
	Passed, Dropped, Skips int
}

// yield counts the verdicts up to the one for which a question is dropped.
func (s *Stats) yield(it *item) {
	if s.Yield == nil {
		for _, name := range order {
			s.Yield = append(s.Yield, Yield{Check: name})
		}
	}
	for i, name := range order {
		switch it.Checks[name].Verdict {
		case Pass:
			s.Yield[i].Passed++
		case Skipped:
			s.Yield[i].Skips++
		case Drop:
			s.Yield[i].Dropped++
		}
		if name == it.failed {
			return
		}
	}
}

// Table is what each check let through, one line a check, in their order.
func (s *Stats) Table() string {
	var b strings.Builder
	left := s.Read - s.Bad
	fmt.Fprintf(&b, "%-12s %7s %7s %7s %7s\n", "check", "pass", "drop", "skipped", "left")
	for _, y := range s.Yield {
		left -= y.Dropped
		fmt.Fprintf(&b, "%-12s %7d %7d %7d %7d\n", y.Check, y.Passed, y.Dropped, y.Skips, left)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// order is the checks as they are told, and counted.
var order = []string{
	checkForm, checkRealistic, checkHidden, checkInbox, checkEvidence, checkSupport, checkUnique, checkAbsent, checkReach, checkDuplicate, checkLeak, checkBlind,
}
