package mailsource

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// IsCustodian reports whether a mailbox name has the form of Enron's: surname,
// dash, initial.
func IsCustodian(name string) bool { return custodian.MatchString(name) }

// custodian is the form of Enron's mailbox names: surname, dash, initial.
var custodian = regexp.MustCompile(`^[a-z'_]+-[a-z]+[0-9]*$`)

// maildirName is a file's name in a Maildir, with the flags behind it.
var maildirName = regexp.MustCompile(`[:;!]2,([A-Za-z]*)$`)

// place tells mailbox and folder of a mail file from its path in the archive or
// tree: maildir/lay-k/inbox/1. is folder inbox of mailbox lay-k. A Maildir's
// cur and new are no folders. fallback names the mailbox of a file that lies in
// no folder, or in one that every Takeout has.
func place(file, fallback string) (mailbox, folder string) {
	parts := folders(file)
	if n := len(parts); n > 0 && (parts[n-1] == "cur" || parts[n-1] == "new" || parts[n-1] == "tmp") {
		parts = parts[:n-1]
	}
	if len(parts) > 0 && parts[0] == "Takeout" {
		return fallback, "inbox"
	}
	start := slices.IndexFunc(parts, custodian.MatchString)
	if start < 0 {
		start = 1 + slices.IndexFunc(parts, func(p string) bool { return strings.EqualFold(p, "maildir") })
	}
	switch {
	case start >= len(parts):
		return mailboxAbove(parts, fallback), "inbox"
	case strings.HasPrefix(parts[start], "."): // a folder of the Maildir above
		return mailboxAbove(parts[:start], fallback), strings.Join(parts[start:], "/")[1:]
	}
	folder = strings.TrimPrefix(strings.Join(parts[start+1:], "/"), ".")
	if folder == "" {
		folder = "inbox"
	}
	return parts[start], folder
}

// folders are the folders of a path, none that lead up.
func folders(file string) []string {
	parts := strings.Split(path.Clean(strings.ReplaceAll(file, `\`, "/")), "/")
	return slices.DeleteFunc(parts[:len(parts)-1], func(p string) bool { return p == "" || p == "." || p == ".." })
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

// notMail are endings of files that lie beside mail and are none: indexes of
// Thunderbird, what Takeout adds, what servers keep in a Maildir.
var notMail = regexp.MustCompile(`(?i)(\.msf|/desktop\.ini|/thumbs\.db|/archive_browser\.html|/maildirsize|/maildirfolder|/subscriptions|/courierimap[^/]*|/dovecot[^/]*)$`)

// isNoMail reports whether a file is a system's, an editor's or a mail
// program's own, not mail. What lies in a Maildir's tmp is not delivered yet.
func isNoMail(file string) bool {
	file = strings.ReplaceAll(file, `\`, "/")
	return strings.HasPrefix(path.Base(file), ".") || notMail.MatchString("/"+file) ||
		path.Base(path.Dir(file)) == "tmp" && custodian.FindString(strings.Join(folders(file), "\n")) == "" ||
		strings.HasPrefix(file, "Takeout/Mail/User Settings/")
}

// flagNames are what a Maildir's flags mean.
var flagNames = map[rune]string{'D': "Draft", 'F': "Flagged", 'P': "Passed", 'R': "Replied", 'S': "Seen", 'T': "Trashed"}

// flags are the labels in the name of a Maildir's file.
func flags(file string) (labels []string) {
	m := maildirName.FindStringSubmatch(path.Base(file))
	if m == nil {
		return nil
	}
	for _, letter := range m[1] {
		if name := flagNames[letter]; name != "" && !slices.Contains(labels, name) {
			labels = append(labels, name)
		}
	}
	return labels
}

// labelFolder is the folder that Gmail's labels mean, "" for none: a message
// has many labels, but lies in one of these places or is archived.
func labelFolder(labels []string) string {
	for _, name := range []string{"Sent", "Inbox", "Drafts", "Spam", "Trash", "Archived"} {
		if slices.Contains(labels, name) {
			return strings.ToLower(name)
		}
	}
	return ""
}

// boxFolder is the folder that an mbox given alone stands for: that of its
// name, if that is one of sent mail. Else nothing but its messages can tell.
func boxFolder(name string) string {
	if strings.HasPrefix(strings.Trim(strings.ToLower(name), "_"), "sent") {
		return name
	}
	return ""
}

// baseName is a file's name without its extensions.
func baseName(p string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(filepath.Base(p), "."), ".")
	return name
}

// mailboxNames names, for each path, the mailbox of what lies in no folder
// there. Two paths never mean one mailbox by having the same last name: as much
// of the folders above stands before it as tells them apart.
func mailboxNames(paths []string) map[string]string {
	names := map[string]string{}
	for _, p := range paths {
		names[p] = nameOf(p, 0)
	}
	for depth := 1; depth < maxFolders; depth++ {
		users := map[string]int{}
		for _, name := range names {
			users[name]++
		}
		alike := false
		for p, name := range names {
			if users[name] > 1 {
				names[p], alike = nameOf(p, depth), true
			}
		}
		if !alike {
			break
		}
	}
	return names
}

// maxFolders is how many folders a mailbox's name may be made of.
const maxFolders = 64

// nameOf is the name of a file or folder with depth folders above it. A Maildir
// is called as the folder that holds it.
func nameOf(p string, depth int) string {
	if abs, err := filepath.Abs(p); err == nil {
		p = abs
	}
	if strings.EqualFold(filepath.Base(p), "maildir") {
		p = filepath.Dir(p)
	}
	name := baseName(p)
	for range depth {
		if p = filepath.Dir(p); p == filepath.Dir(p) {
			break
		}
		name = filepath.Base(p) + "." + name
	}
	return name
}

// Printable makes a name from an archive fit for a terminal.
func Printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// numbered is the name of message n of a file of many.
func numbered(name string, n int) string { return fmt.Sprintf("%s:%d", name, n) }

// valid is a name as records can hold it.
func valid(name string) string { return strings.ToValidUTF8(name, "\ufffd") }
