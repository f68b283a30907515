package mail

import (
	"encoding/hex"
	"slices"
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
	if list, ok := plainAddresses(nil, s); ok {
		if list == nil {
			return nil
		}
		all := make([]Address, len(list))
		for i, addr := range list {
			all[i].Addr = addr
		}
		return all
	}
	var list []Address
	for _, element := range splitAddresses(s) {
		if a, ok := parseAddress(element); ok {
			list = append(list, a)
		}
	}
	return list
}

// appendAddresses adds the addresses of a list, without names.
func appendAddresses(list []string, s string) []string {
	if plain, ok := plainAddresses(list, s); ok {
		return plain
	}
	for _, element := range splitAddresses(s) {
		if a, ok := parseAddress(element); ok {
			list = append(list, a.Addr)
		}
	}
	return list
}

// notPlain are the bytes that "a@b, c@d" does not have.
var notPlain = func() (table [256]bool) {
	for c := range table {
		table[c] = c < ' ' && c != '\t' || c >= 0x7f || strings.IndexByte("\"'<>()[];:=\\", byte(c)) >= 0
	}
	return table
}()

// plainAddresses is the fast way for "a@b, c@d", which most of Enron is.
func plainAddresses(list []string, s string) ([]string, bool) {
	commas := 0
	for i := range len(s) {
		if notPlain[s[i]] {
			return list, false
		}
		if s[i] == ',' {
			commas++
		}
	}
	all := slices.Grow(list, commas+1)
	for rest, more := strings.ToLower(strings.Clone(s)), true; more; {
		var element string
		element, rest, more = strings.Cut(rest, ",")
		if element = strings.TrimSpace(element); element == "" {
			continue
		}
		at := strings.IndexByte(element, '@')
		if at < 1 || at == len(element)-1 || strings.ContainsAny(element, " \t/%") || strings.IndexByte(element[at+1:], '@') >= 0 {
			return list, false
		}
		if strings.HasPrefix(element, "imcea") {
			element = decodeIMCEA(element)
		}
		all = append(all, element)
	}
	if len(all) == 0 {
		return nil, true
	}
	return all, true
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
	if isHidden(element) {
		return Address{}, false
	}
	name, addr := element, ""
	if open := strings.LastIndexByte(element, '<'); open >= 0 {
		addr, _, _ = strings.Cut(element[open+1:], ">")
		name = element[:open]
	}
	if !strings.Contains(addr, "@") {
		if name, addr = scanAddress(element); isNotes(element) {
			name, addr = element[:strings.IndexAny(element, "/@")], element
		}
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
	if isNotes(addr) {
		return notesAddress(addr)
	}
	addr = strings.ToLower(strings.TrimPrefix(strings.Trim(addr, " \t'\"<>()[],;"), "mailto:"))
	if !isNotes(addr) && strings.ContainsFunc(addr, isUnshown) {
		addr = strings.Join(strings.FieldsFunc(addr, isUnshown), "")
	}
	if isNotes(addr) { // without what stood around it and in it
		return notesAddress(addr)
	}
	if at := strings.IndexByte(addr, '@'); at < 1 || at == len(addr)-1 {
		return ""
	}
	return decodeIMCEA(addr)
}

var nameMarks = strings.NewReplacer(`"`, "", "(", " ", ")", " ", "<", " ", ">", " ")

// cleanName drops quotes, comment brackets and what Exchange appends. What is
// left of an address standing in place of a name is none.
func cleanName(name string) string {
	name, _, _ = strings.Cut(decodeWords(name), "</O=")
	if strings.ContainsAny(name, "\"()<>") {
		name = nameMarks.Replace(name)
	}
	return strings.Trim(shown(name), " '\t,;")
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
	foreign = strings.Join(strings.FieldsFunc(strings.ToLower(strings.Trim(foreign, "'")), isUnshown), "")
	if strings.Count(foreign, "@") == 1 && strings.Trim(foreign, "@") == foreign && !strings.HasPrefix(foreign, "imcea") {
		return foreign
	}
	return addr
}
