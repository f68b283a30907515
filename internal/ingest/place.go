package ingest

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// custodian is the form of Enron's mailbox names: surname, dash, initial.
var custodian = regexp.MustCompile(`^[a-z'_]+-[a-z]+[0-9]*$`)

// place tells mailbox and folder of a mail file from its path in the archive or
// tree: maildir/lay-k/inbox/1. is folder inbox of mailbox lay-k. A Maildir's
// cur and new are no folders. fallback names the mailbox of a file that lies in
// no folder.
func place(file, fallback string) (mailbox, folder string) {
	parts := strings.Split(path.Clean(strings.ReplaceAll(file, `\`, "/")), "/")
	parts = slices.DeleteFunc(parts[:len(parts)-1], func(p string) bool { return p == "" || p == "." || p == ".." })
	if n := len(parts); n > 0 && (parts[n-1] == "cur" || parts[n-1] == "new" || parts[n-1] == "tmp") {
		parts = parts[:n-1]
	}
	start := slices.IndexFunc(parts, custodian.MatchString)
	if start < 0 {
		start = 1 + slices.IndexFunc(parts, func(p string) bool { return strings.EqualFold(p, "maildir") })
	}
	if start >= len(parts) {
		return mailboxAbove(parts, fallback), "inbox"
	}
	folder = strings.TrimPrefix(strings.Join(parts[start+1:], "/"), ".")
	if folder == "" {
		folder = "inbox"
	}
	return parts[start], folder
}

// mailboxAbove is the folder that holds a Maildir, as in bo/Maildir/cur/1.
func mailboxAbove(parts []string, fallback string) string {
	for _, p := range slices.Backward(parts) {
		if !strings.EqualFold(p, "maildir") {
			return p
		}
	}
	return fallback
}

// isHidden reports whether a file is a system's or an editor's, not mail.
func isHidden(file string) bool { return strings.HasPrefix(path.Base(file), ".") }
