package mail

import "strings"

// DisplayNames splits X-From, X-To and their like, which Exchange's export has,
// into display names.
func DisplayNames(s string) (names []string) {
	if s != "" && strings.IndexByte(s, ',') < 0 && strings.IndexByte(s, '<') < 0 {
		if s = cleanName(s); s == "" {
			return nil
		}
		return []string{s}
	}
	for _, e := range exchangeEntries(s) {
		if name := cleanName(e.name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// An exchangeEntry is a person or list in a header of Exchange's.
type exchangeEntry struct {
	name string
	path string // what stands in angle brackets: /O=…/CN=X
}

// exchangeEntries splits "Last, First </O=…/CN=X>" and plain names or addresses,
// all separated by ", ", so a comma is part of a name only before an Exchange
// path.
func exchangeEntries(s string) (entries []exchangeEntry) {
	if s == "" {
		return nil
	}
	for piece := range strings.SplitSeq(s, ">,") {
		text, path, isPath := strings.Cut(piece, "<")
		parts := strings.Split(text, ", ")
		if n := len(parts); isPath && n >= 2 && !strings.Contains(parts[n-2], "@") {
			parts = append(parts[:n-2:n-2], parts[n-2]+", "+parts[n-1])
		}
		for i, part := range parts {
			e := exchangeEntry{name: strings.TrimSpace(part)}
			if i == len(parts)-1 {
				e.path = strings.TrimRight(path, "> ")
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// exchangeAddresses are the addresses in a header of Exchange's. Someone of the
// own house stands there by name and path only: "Kim, Bo </O=EXAMPLE/…/CN=BKIM>"
// becomes bo.kim@example, after the name of the organisation.
func exchangeAddresses(s string) (list []string) {
	for _, e := range exchangeEntries(s) {
		switch org, inHouse := organisation(e.path); {
		case isHidden(e.name):
		case strings.Contains(e.name, "@"):
			if addr := cleanAddress(e.name); addr != "" {
				list = append(list, addr)
			}
		case inHouse:
			if local := localPart(e.name); local != "" {
				list = append(list, local+"@"+org)
			}
		}
	}
	return list
}

// organisation is the O of an Exchange path.
func organisation(path string) (org string, ok bool) {
	path = strings.ToLower(path)
	if org, ok = strings.CutPrefix(path, "/o="); ok {
		org, _, _ = strings.Cut(org, "/")
		org = strings.Join(strings.Fields(org), ".")
	}
	return org, ok && org != ""
}

// exchangeID is the last CN of an Exchange path at the end of s, in lower case.
func exchangeID(s string) string {
	s, ok := strings.CutSuffix(strings.TrimRight(s, " "), ">")
	i := strings.LastIndex(s, "/CN=")
	if !ok || i < 0 || i < strings.LastIndexByte(s, '<') {
		return ""
	}
	return strings.ToLower(shown(s[i+len("/CN="):]))
}

// isHidden reports what stands in place of recipients that are not told.
func isHidden(name string) bool {
	if len(name) < len("recipient list") {
		return false
	}
	name = strings.ToLower(name)
	return strings.Contains(name, "undisclosed") && strings.Contains(name, "recipient") || strings.Contains(name, "recipient list") || strings.Contains(name, "recipients not")
}

// isNotes reports a name in Lotus Notes' form, such as Bo Kim/HOU/CORP@CORP: path
// or blanks before the '@', and behind it no domain of the Internet.
func isNotes(s string) bool {
	s = strings.TrimSpace(s)
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at == len(s)-1 || strings.ContainsAny(s, "<>\"();:\\") || strings.ContainsAny(s[at:], ". \t/") {
		return false
	}
	return strings.ContainsAny(s[:at], "/ ") && s[0] != '/'
}

// notesAddress is bo.kim@corp of Bo Kim/HOU/CORP@CORP.
func notesAddress(s string) string {
	at := strings.LastIndexByte(s, '@')
	name, _, _ := strings.Cut(s[:at], "/")
	name, _, _ = strings.Cut(name, "@")
	local, domain := localPart(name), strings.Join(strings.FieldsFunc(strings.ToLower(s[at+1:]), isUnshown), "")
	if local == "" || domain == "" {
		return ""
	}
	return local + "@" + domain
}

// localPart writes a name as addresses have it: bo.kim of "Kim, Bo (Houston)".
func localPart(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "(")
	if last, first, found := strings.Cut(name, ","); found {
		name = first + " " + last
	}
	words := strings.FieldsFunc(name, func(r rune) bool {
		return r <= ' ' || r == '.' || r == '/' || r == '@' || r == '"' || r == '<' || r == '>' || r == ',' || r == ';' || isUnshown(r)
	})
	return strings.Join(words, ".")
}
