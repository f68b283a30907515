package email

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentmill/internal/mailstore"
	"agentmill/internal/traj"
)

// What is shown of a hit and of a mail's header, in runes and people. A hit is
// about 40 tokens, so that five fit a small model's attention.
const (
	senderRunes  = 20
	subjectRunes = 40
	snippetRunes = 90
	headerRunes  = 80
	headerPeople = 3
)

// showHits is the text of a search's result: one hit a line.
func showHits(hits []mailstore.Hit, o traj.EnvOptions) string {
	if len(hits) == 0 {
		return "0 hits"
	}
	lines := make([]string, 0, len(hits))
	for _, h := range hits {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s | %s", shownID(h.Row, h.MessageID, o), shownDay(h.Date),
			cut(person(h.From), senderRunes), cut(h.Subject, subjectRunes), cut(h.Snippet, snippetRunes)))
	}
	return strings.Join(lines, "\n")
}

// shownID is the id by which the model knows a mail.
func shownID(row int64, messageID string, o traj.EnvOptions) string {
	if o.IDs == "full" {
		return messageID
	}
	return strconv.FormatInt(row, 10)
}

func shownDay(t time.Time) string {
	if t.IsZero() {
		return "undated"
	}
	return t.Format(time.DateOnly)
}

// showMail is the text of a mail: a header line, then the body.
func showMail(m *mailstore.Mail, o traj.EnvOptions) string {
	when := shownDay(m.Date)
	if !m.Date.IsZero() {
		when = m.Date.Format("2006-01-02 15:04")
	}
	return fmt.Sprintf("%s from %s to %s: %s\n%s", when, person(m.From), people(append(slices.Clip(m.To), m.Cc...)),
		cut(m.Subject, headerRunes), shownBody(m, o))
}

// shownBody is the part of a body that is shown: blanks folded, cut to the
// words that the rules allow.
func shownBody(m *mailstore.Mail, o traj.EnvOptions) string {
	words := strings.Fields(m.Body)
	if o.MailWords == 0 || len(words) <= o.MailWords {
		return strings.Join(words, " ")
	}
	return fmt.Sprintf("%s … (%d more words)", strings.Join(words[:o.MailWords], " "), len(words)-o.MailWords)
}

// people lists the first few names.
func people(addresses []string) string {
	names := make([]string, 0, headerPeople)
	for _, a := range addresses[:min(len(addresses), headerPeople)] {
		names = append(names, person(a))
	}
	if more := len(addresses) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

// person is the part of an address before the @, which is as good as a name and
// costs few tokens.
func person(address string) string {
	name, _, _ := strings.Cut(address, "@")
	return name
}

// cut folds blanks and keeps the first n runes.
func cut(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > n {
		return strings.TrimSpace(string(runes[:n]))
	}
	return s
}
