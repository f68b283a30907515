package ingest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"agentmill/internal/mail"
	"agentmill/internal/mailsource"
	"agentmill/internal/mailstore"
)

// Stats counts what Run saw.
type Stats struct {
	Messages  int // read
	Records   int // written
	Copies    int // messages that are another one's copy
	Bad       int
	Warnings  map[string]Warned // by kind
	Mailboxes []MailboxStats
}

// Warned counts the records with one kind of warning.
type Warned struct {
	Records int
	Example string // file and Message-ID of the first of them
}

// MailboxStats describes one mailbox that was written.
type MailboxStats struct {
	mailstore.Mailbox
	Counts
	Folders map[string]Counts
	Years   map[int]Counts // 0: without a date
	First   time.Time      // of the dates without a warning; zero without any
	Last    time.Time
}

// Counts are of records, and of the copies that were merged into them.
type Counts struct{ Records, Copies int }

// add counts the records of one more mailbox.
func (s *Stats) add(box mailstore.Mailbox, emails []*mail.Email) {
	if s.Warnings == nil {
		s.Warnings = map[string]Warned{}
	}
	m := MailboxStats{Mailbox: box, Folders: map[string]Counts{}, Years: map[int]Counts{}}
	for _, e := range emails {
		m.count(e)
		for _, name := range e.Warnings {
			w := s.Warnings[name]
			if w.Records++; w.Records == 1 {
				w.Example = e.Source + " " + e.MessageID
			}
			s.Warnings[name] = w
		}
	}
	s.Records += len(emails)
	s.Mailboxes = append(s.Mailboxes, m)
}

func (m *MailboxStats) count(e *mail.Email) {
	year := 0
	if !e.Date.IsZero() {
		year = e.Date.Year()
	}
	m.Counts = m.plus(1, len(e.Copies))
	m.Years[year] = m.Years[year].plus(1, len(e.Copies))
	m.Folders[e.Folder] = m.Folders[e.Folder].plus(1, 0)
	for _, c := range e.Copies {
		m.Folders[c.Folder] = m.Folders[c.Folder].plus(0, 1)
	}
	if e.Date.IsZero() || slices.Contains(e.Warnings, mail.WarnDateRange) {
		return
	}
	if m.First.IsZero() || e.Date.Before(m.First) {
		m.First = e.Date
	}
	if e.Date.After(m.Last) {
		m.Last = e.Date
	}
}

func (c Counts) plus(records, copies int) Counts {
	return Counts{c.Records + records, c.Copies + copies}
}

// WriteTo prints s as tables for people: mailboxes with their folders and
// years, then warnings by kind. Names from the mail are quoted where they are
// not fit for a terminal.
func (s Stats) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %8s %8s  %-10s  %-10s  %s\n", "mailbox", "records", "copies", "first", "last", "aliases")
	for i := range s.Mailboxes {
		s.Mailboxes[i].print(&b)
	}
	if len(s.Warnings) > 0 {
		fmt.Fprintf(&b, "%-40s %8s  %s\n", "warning", "records", "the first of them")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Warnings)) {
		fmt.Fprintf(&b, "%-40s %8d  %s\n", name, s.Warnings[name].Records, mailsource.Printable(s.Warnings[name].Example))
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func (m *MailboxStats) print(b *strings.Builder) {
	fmt.Fprintf(b, "%-40s %8d %8d  %-10s  %-10s  %s\n", mailsource.Printable(m.Owner), m.Records, m.Copies, day(m.First), day(m.Last), mailsource.Printable(strings.Join(m.Aliases, " ")))
	for _, name := range slices.Sorted(maps.Keys(m.Folders)) {
		fmt.Fprintf(b, "  folder %-31s %8d %8d\n", mailsource.Printable(name), m.Folders[name].Records, m.Folders[name].Copies)
	}
	for _, year := range slices.Sorted(maps.Keys(m.Years)) {
		name := fmt.Sprintf("year %d", year)
		if year == 0 {
			name = "no date"
		}
		fmt.Fprintf(b, "  %-38s %8d %8d\n", name, m.Years[year].Records, m.Years[year].Copies)
	}
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateOnly)
}
