// Package samplemail invents the mail of a company, so that everything can be
// tried without anybody's real mail.
//
// Most callers want Write. The mail is laid out like the Enron corpus as CMU
// publishes it: maildir/<custodian>/<folder>/<n>., a Message-ID of its own for
// every copy. S1: the same Config gives the same bytes. S2: all people, firms
// and numbers are invented and all domains end in .example.
package samplemail

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"agentmill/internal/seed"
)

// Config says how much mail is wanted.
type Config struct {
	Seed     uint64
	Inboxes  int // mailboxes, at least 2
	Messages int // files in all mailboxes together, at least 40 a mailbox
}

// Default is the sample that the pipelines use.
var Default = Config{Seed: 1, Inboxes: 8, Messages: 4000}

// A Message is one file of the sample.
type Message struct {
	Custodian string
	Folder    string
	Number    int // of the file in its folder, from 1
	ID        string
	Date      time.Time
	From, To  Person
	Cc        []Person
	Subject   string
	Body      string
	Kind      string // of message: kickoff, quote, newsletter-company …
	Topic     string // of the kind: meetings, prices, noise …
}

// Most mail that a Config may ask for: beyond it a mailbox runs out of things
// to write about.
const (
	maxInboxes = 26
	maxPerBox  = 1200
)

// Check returns an error that names the first size out of range.
func (c Config) Check() error {
	if c.Inboxes < 2 || c.Inboxes > maxInboxes {
		return fmt.Errorf("inboxes is %d: want 2 to %d", c.Inboxes, maxInboxes)
	}
	if least, most := 40*c.Inboxes, maxPerBox*c.Inboxes; c.Messages < least || c.Messages > most {
		return fmt.Errorf("messages is %d: want %d to %d for %d inboxes", c.Messages, least, most, c.Inboxes)
	}
	return nil
}

// Generate invents all messages, in order of mailbox, folder and number.
func Generate(cfg Config) ([]Message, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	s, err := loadScript()
	if err != nil {
		return nil, err
	}
	worlds := newWorlds(s, cfg.Seed, cfg.Inboxes)
	shared := newPostroom(worlds)
	for i, w := range worlds {
		n := cfg.Messages / cfg.Inboxes
		if i < cfg.Messages%cfg.Inboxes {
			n++
		}
		box := &box{world: w, script: s, room: shared, run: cfg.Seed, index: i, rnd: seed.Stream(cfg.Seed, "box", i), want: n}
		box.write()
	}
	return number(shared.messages(worlds, cfg)), nil
}

// number gives each file its number in its folder, by date.
func number(all []Message) []Message {
	slices.SortStableFunc(all, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Custodian, b.Custodian), cmp.Compare(a.Folder, b.Folder), a.Date.Compare(b.Date), cmp.Compare(a.ID, b.ID))
	})
	last, n := "", 0
	for i := range all {
		folder := all[i].Custodian + "/" + all[i].Folder
		if folder != last {
			last, n = folder, 0
		}
		n++
		all[i].Number = n
	}
	return all
}
