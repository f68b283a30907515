package mail

import (
	"encoding/hex"
	"strings"
)

// An Address is one mailbox of an address header.
type Address struct {
	Name string // display name, may be empty
	Addr string // lower case; always has an '@'
}

// ParseAddresses reads an address list. Each element counts for itself: one
// that is damaged never costs the others. Elements without an '@' (names of
// groups, "undisclosed-recipients") are left out.
func ParseAddresses(s string) []Address {
	if list, ok := plainList(s); ok {
		return list
	}
	var list []Address
	for _, element := range splitAddresses(s) {
		if a, ok := parseAddress(element); ok {
			list = append(list, a)
		}
	}
	return list
}

// plainList is the fast way for "a@b, c@d", which most of Enron is.
func plainList(s string) (list []Address, ok bool) {
	if strings.ContainsAny(s, "\"'<>()[];:=\\") {
		return nil, false
	}
	for element := range strings.SplitSeq(s, ",") {
		element = strings.TrimSpace(element)
		if element == "" {
			continue
		}
		if strings.ContainsAny(element, " \t") || strings.Count(element, "@") != 1 {
			return nil, false
		}
		list = append(list, Address{Addr: decodeIMCEA(strings.ToLower(element))})
	}
	return list, true
}

// splitAddresses cuts at commas and semicolons outside quotes, angle brackets
// and comments. A quote that never closes counts as a letter.
func splitAddresses(s string) (elements []string) {
	var quoted, angle bool
	depth, start := 0, 0
	if strings.Count(s, `"`)%2 == 1 {
		s = strings.ReplaceAll(s, `"`, " ")
	}
	lastAngle, lastComment := strings.LastIndexByte(s, '>'), strings.LastIndexByte(s, ')')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<':
			angle = i < lastAngle
		case c == '>':
			angle = false
		case c == '(' && i < lastComment:
			depth++
		case c == ')' && depth > 0:
			depth--
		case (c == ',' || c == ';') && !angle && depth == 0:
			elements = append(elements, s[start:i])
			start = i + 1
		}
	}
	return append(elements, s[start:])
}

func parseAddress(element string) (Address, bool) {
	name, addr := element, ""
	if open := strings.LastIndexByte(element, '<'); open >= 0 {
		addr, _, _ = strings.Cut(element[open+1:], ">")
		name = element[:open]
	}
	if !strings.Contains(addr, "@") {
		name, addr = scanAddress(element)
	}
	if addr = cleanAddress(addr); addr == "" {
		return Address{}, false
	}
	return Address{Name: cleanName(name), Addr: addr}, true
}

// scanAddress finds the first word with an '@'; the rest, comments included,
// is the name.
func scanAddress(element string) (name, addr string) {
	for _, word := range strings.FieldsFunc(element, func(r rune) bool { return strings.ContainsRune(" \t()<>[]:;,\"", r) }) {
		if strings.Contains(word, "@") {
			return strings.ReplaceAll(element, word, ""), word
		}
	}
	return element, ""
}

func cleanAddress(addr string) string {
	addr = strings.ToLower(strings.TrimPrefix(strings.Trim(addr, " \t'\"<>()[],;"), "mailto:"))
	addr = strings.Join(strings.Fields(addr), "")
	if at := strings.IndexByte(addr, '@'); at < 1 || at == len(addr)-1 {
		return ""
	}
	return decodeIMCEA(addr)
}

var nameMarks = strings.NewReplacer(`\"`, `"`, `"`, "", "(", " ", ")", " ", "<", " ", ">", " ")

// cleanName drops quotes, comment brackets and what Exchange appends. What is
// left of an address standing in place of a name is none.
func cleanName(name string) string {
	name, _, _ = strings.Cut(decodeWords(name), "</O=")
	name = strings.Join(strings.Fields(nameMarks.Replace(name)), " ")
	return strings.Trim(name, " '\t,;")
}

// decodeIMCEA reads Exchange's way to wrap a foreign address:
// imceanotes-bo+2ekim+40example+2ecom@enron.com is bo.kim@example.com.
func decodeIMCEA(addr string) string {
	if !strings.HasPrefix(addr, "imcea") {
		return addr
	}
	_, wrapped, found := strings.Cut(addr, "-")
	wrapped, _, _ = strings.Cut(wrapped, "@")
	if !found {
		return addr
	}
	var inner strings.Builder
	for i := 0; i < len(wrapped); i++ {
		if wrapped[i] == '+' && i+2 < len(wrapped) {
			if b, err := hex.DecodeString(wrapped[i+1 : i+3]); err == nil {
				inner.Write(b)
				i += 2
				continue
			}
		}
		inner.WriteByte(wrapped[i])
	}
	_, foreign := scanAddress(strings.ToValidUTF8(inner.String(), ""))
	if foreign = strings.ToLower(strings.Trim(foreign, "'")); strings.Count(foreign, "@") == 1 && !strings.HasPrefix(foreign, "imcea") {
		return foreign
	}
	return addr
}

// exchangeNames splits X-From, X-To and their like into display names. They
// hold "Last, First </O=…/CN=X>" and plain names or addresses, all separated by
// ", ", so a comma is part of a name only before an Exchange path.
func exchangeNames(s string) (names []string) {
	for piece := range strings.SplitSeq(s, ">,") {
		text, _, isPath := strings.Cut(piece, "<")
		parts := strings.Split(text, ", ")
		if n := len(parts); isPath && n >= 2 && !strings.Contains(parts[n-2], "@") {
			parts = append(parts[:n-2:n-2], parts[n-2]+", "+parts[n-1])
		}
		for _, part := range parts {
			if part = cleanName(part); part != "" {
				names = append(names, part)
			}
		}
	}
	return names
}
