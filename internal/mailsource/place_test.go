package mailsource

import "testing"

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
		"Maildir/.Sent/cur/1:2,S":            {"fallback", "Sent"},
		"eve/Maildir/.Sent/cur/1:2,S":        {"eve", "Sent"},
		"eve/Maildir/.Lists.gas/cur/1":       {"eve", "Lists.gas"},
		"Takeout/Mail/Work.mbox":             {"fallback", "inbox"},
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
