package ingest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
)

func TestPlace(t *testing.T) {
	for file, want := range map[string][2]string{
		"maildir/lund-e/inbox/1.":            {"lund-e", "inbox"},
		"./enron/maildir/lund-e/a/b/12.":     {"lund-e", "a/b"},
		"lund-e/inbox/1.":                    {"lund-e", "inbox"},
		"corpus/lund-e/inbox/1.":             {"lund-e", "inbox"},
		"maildir/lund-e/1.":                  {"lund-e", "inbox"},
		"maildir/Eve/inbox/1.":               {"Eve", "inbox"},
		"eve/Maildir/cur/1:2,S":              {"eve", "inbox"},
		"eve/cur/1:2,S":                      {"eve", "inbox"},
		"eve/.Sent/new/1":                    {"eve", "Sent"},
		"1.eml":                              {"fallback", "inbox"},
		"/abs/../maildir/lund-e/x/1.":        {"lund-e", "x"},
		`maildir\lund-e\inbox\1.`:            {"lund-e", "inbox"},
		"maildir/skilling-j2/all_documents/": {"skilling-j2", "inbox"},
	} {
		if mailbox, folder := place(file, "fallback"); mailbox != want[0] || folder != want[1] {
			t.Errorf("%s is in %s, %s, want %v", file, mailbox, folder, want)
		}
	}
}

func TestCompareNatural(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"x/2.", "x/10.", -1}, {"x/10.", "x/2.", 1}, {"x/010.", "x/10.", 0}, {"a", "b", -1}, {"a", "a1", -1}, {"a1b", "a1b", 0}, {"99999999999999999999", "100000000000000000000", -1}, {"", "", 0},
	} {
		if got := compareNatural(tt.a, tt.b); got != tt.want {
			t.Errorf("compareNatural(%s, %s) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestSeparator(t *testing.T) {
	for line, want := range map[string]bool{
		"From MAILER-DAEMON Mon Jan  1 00:00:00 2001": true,
		"From 159@xxx Mon Jul 06 10:00:00 +0000 2020": true,
		"From ":                                 true,
		"From a@example.com":                    true,
		"From memory the March curve was 4.10.": false,
		"From here on use the new sheet.":       false,
		"From: a@example.com":                   false,
		"From the office: we meet on 5 Mar 2001, at 10:00, yes": true, // the next line decides
	} {
		if _, ok := separator([]byte(line)); ok != want {
			t.Errorf("%q: %v, want %v", line, ok, want)
		}
	}
}

func TestSamePerson(t *testing.T) {
	for _, tt := range []struct {
		name, address string
		want          bool
	}{
		{"Reed, Kenneth M.", "ken.reed@x", true},
		{"Ken Reed", "kenneth.reed@x", true},
		{"Mike Reed", "michael.reed@x", true},
		{"Bob Reed", "robert.reed@x", true},
		{"Ken Reed", "kent.reed@x", true},
		{"Ann Reed", "ken.reed@x", false},
		{"Ken Lund", "ken.reed@x", false},
		{"Ken", "ken.reed@x", false},
		{"", "ken.reed@x", false},
	} {
		p, ok := personOf(tt.address)
		if got := ok && p.same(nameOf(tt.name)); got != tt.want {
			t.Errorf("%q and %s: %v, want %v", tt.name, tt.address, got, tt.want)
		}
	}
	for _, address := range []string{"areed@x", "a..reed@x", ".reed@x", "a.reed@x", "@", ""} {
		if p, ok := personOf(address); ok {
			t.Errorf("%q was read as %v", address, p)
		}
	}
}

func TestSharedAliasIsNobodys(t *testing.T) {
	boxes := map[string]*mailbox{}
	for _, name := range []string{"reed-a", "reed-b"} {
		box := newMailbox(name)
		first := map[string]string{"reed-a": "ana", "reed-b": "ben"}[name]
		for _, to := range []string{first + ".reed@x", "team@x"} {
			box.who.see(&mail.Message{Email: mail.Email{From: "eve@x", To: []string{to}}, XTo: first + " Reed"})
		}
		boxes[name] = box
	}
	for _, o := range identify(boxes, nil) {
		if len(o.Aliases) > 0 {
			t.Errorf("%s has aliases %v: both lay claim to team@x", o.Owner, o.Aliases)
		}
	}
	owners := identify(boxes, map[string]string{"reed-b": "ana.reed@x"})
	if len(owners) != 1 || owners[0].Owner != "ana.reed@x" {
		t.Errorf("two mailboxes of one named owner became %v", owners)
	}
}

func TestThread(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, day) }
	const me, bo, cy = "me@x", "bo@x", "cy@x"
	emails := []*mail.Email{
		{MessageID: "<root>", Date: at(0), From: bo, To: []string{me}, Subject: "curve"},
		{MessageID: "<reply>", Date: at(1), From: me, To: []string{bo}, Subject: "RE: curve"},
		{MessageID: "<again>", Date: at(2), From: bo, To: []string{me}, Subject: "curve"},
		{MessageID: "<other>", Date: at(3), From: cy, To: []string{me}, Subject: "Re: Curve"},
		{MessageID: "<late>", Date: at(60), From: bo, To: []string{me}, Subject: "Re: curve"},
		{MessageID: "<ref>", Date: at(61), From: cy, To: []string{me}, Subject: "new", References: []string{"<gone>", "<reply>"}},
		{MessageID: "<ref2>", Date: at(62), From: cy, To: []string{me}, Subject: "newer", InReplyTo: "<gone>"},
		{MessageID: "<own>", Date: at(63), From: cy, To: []string{me}, Subject: "x", ThreadID: "159"},
		{MessageID: "<fwd>", Date: at(64), From: me, To: []string{me}, Subject: "FW: Re[2]: curve"},
	}
	thread(emails, map[string]bool{me: true})
	got := map[string]string{}
	for _, e := range emails {
		got[e.MessageID] = e.ThreadID
	}
	want := map[string]string{
		"<root>": "<root>", "<reply>": "<root>", "<again>": "<again>", "<other>": "<other>", "<late>": "<late>",
		"<ref>": "<root>", "<ref2>": "<root>", "<own>": "159", "<fwd>": "<late>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseShard(t *testing.T) {
	for in, ok := range map[string]bool{"": true, "1/1": true, "2/4": true, "0/2": false, "3/2": false, "1/0": false, "1": false, "1/2/3": false, "a/b": false, "-1/2": false} {
		if _, err := ParseShard(in); (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
	}
}
