package ingest

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"agentmill/internal/mail"
	"agentmill/internal/mailsource"
	"agentmill/internal/mailstore"
)

// An owner is one person's mailbox in the output; it may come from several
// mailboxes of the input.
type owner struct {
	mailstore.Mailbox
	boxes []string // their names
}

// addresses are all of the owner, as a set.
func (o *owner) addresses() map[string]bool {
	set := map[string]bool{o.Owner: true}
	for _, alias := range o.Aliases {
		set[alias] = true
	}
	return set
}

// identity is what the headers of a mailbox say about whose it is.
type identity struct {
	sent      map[string]int            // senders in folders of sent mail
	seen      map[string]int            // mails that an address is a party of
	received  map[string]int            // mails sent to an address
	delivered map[string]int            // addresses of delivery
	names     map[string]map[string]int // address → display names
	ids       map[string]map[string]int // Exchange id → addresses of its sender
}

func newIdentity() *identity {
	return &identity{
		sent: map[string]int{}, seen: map[string]int{}, received: map[string]int{}, delivered: map[string]int{},
		names: map[string]map[string]int{}, ids: map[string]map[string]int{},
	}
}

func (w *identity) see(m *mail.Message) {
	if isSent(m.Folder) {
		w.sent[m.From]++
	}
	w.seen[m.From]++
	for _, address := range slices.Concat(m.To, m.Cc) {
		w.seen[address]++
		w.received[address]++
	}
	if m.Delivered != "" {
		w.delivered[m.Delivered]++
	}
	count(w.names, m.From, cmp.Or(m.XFrom, m.FromName))
	if len(m.To) == 1 {
		if names := mail.DisplayNames(m.XTo); len(names) == 1 { // one of each: the name is the address's
			count(w.names, m.To[0], names[0])
		}
	}
	count(w.ids, m.ExchangeID, m.From)
}

// sight is what see looks at.
func sight(m *mail.Message) *mail.Message {
	s := &mail.Message{FromName: m.FromName, XFrom: m.XFrom, ExchangeID: m.ExchangeID, Delivered: m.Delivered}
	s.From, s.To, s.Cc, s.Folder = m.From, m.To, m.Cc, m.Folder
	if len(m.To) == 1 {
		s.XTo = m.XTo
	}
	return s
}

func count(m map[string]map[string]int, key, value string) {
	if key == "" || value == "" {
		return
	}
	if m[key] == nil {
		m[key] = map[string]int{}
	}
	m[key][value]++
}

// identities tells what the mail of each mailbox says about whose it is.
type identities interface {
	names() []string // sorted
	identity(mailbox string) (*identity, error)
}

// identify finds the owner of every mailbox. named overrides by mailbox name.
// Mailboxes with the same owner become one. The result is in order of owners.
func identify(boxes identities, named map[string]string) ([]owner, error) {
	byAddress := map[string]*owner{}
	for _, name := range boxes.names() {
		who, err := boxes.identity(name)
		if err != nil {
			return nil, err
		}
		found := who.canonical(name)
		address := cmp.Or(named[name], found)
		o := byAddress[address]
		if o == nil {
			o = &owner{Mailbox: mailstore.Mailbox{Owner: address, Name: name}}
			byAddress[address] = o
		} else {
			o.Aliases = append(o.Aliases, name)
		}
		o.boxes = append(o.boxes, name)
		o.Aliases = append(o.Aliases, who.aliases(address)...)
		if found != address {
			o.Aliases = append(o.Aliases, found)
		}
	}
	return uniqueAliases(byAddress), nil
}

// uniqueAliases drops aliases that more than one mailbox lays claim to.
func uniqueAliases(byAddress map[string]*owner) (owners []owner) {
	claims := map[string]int{}
	for address, o := range byAddress {
		slices.Sort(o.Aliases)
		o.Aliases = slices.Compact(o.Aliases)
		claims[address]++
		claims[o.Name]++
		for _, alias := range o.Aliases {
			claims[alias]++
		}
	}
	for _, address := range slices.Sorted(maps.Keys(byAddress)) {
		o := byAddress[address]
		o.Aliases = slices.DeleteFunc(o.Aliases, func(alias string) bool { return claims[alias] > 1 })
		owners = append(owners, *o)
	}
	return owners
}

// canonical is the address of the owner of a mailbox of that name. One named by
// an address is that address's. One named surname-initial has a name to look
// for; otherwise the owner is who sent the sent mail, else to whom most mail was
// delivered or sent.
func (w *identity) canonical(name string) string {
	if list := mail.ParseAddresses(name); len(list) == 1 && strings.EqualFold(list[0].Addr, name) {
		return list[0].Addr
	}
	if surname, initial, ok := custodianName(name); ok {
		score := map[string]int{}
		for address, n := range w.seen {
			p, ok := personOf(address)
			if ok && p.last == surname && strings.HasPrefix(p.first, initial) && len(p.first) > len(initial) {
				score[address] = n + 3*w.sent[address]
			}
		}
		if address := most(score); address != "" {
			return address
		}
	}
	return cmp.Or(most(w.sent), most(w.delivered), most(w.received), most(w.seen), strings.ToLower(name))
}

func custodianName(name string) (surname, initial string, ok bool) {
	name = strings.ToLower(name)
	i := strings.LastIndexByte(name, '-')
	if i < 0 || !mailsource.IsCustodian(name) {
		return "", "", false
	}
	return letters(name[:i]), letters(name[i+1:]), true
}

// most returns the key with the highest count, the lowest among equals.
func most(counts map[string]int) (best string) {
	for key, n := range counts {
		if key != "" && (best == "" || n > counts[best] || n == counts[best] && key < best) {
			best = key
		}
	}
	return best
}

// minReceived is how often an address of the form klay@ must have been written
// to in a mailbox, to be taken for its owner's.
const minReceived = 2

// aliases finds the other addresses of the person behind address: first and
// last name in another form, an address whose display name is that person's, the
// Exchange id or initial and surname before the '@'.
func (w *identity) aliases(address string) (found []string) {
	p, ok := personOf(address)
	if !ok {
		return nil
	}
	ids := w.exchangeIDs(p, address)
	for other := range w.seen {
		local, domain, _ := strings.Cut(other, "@")
		q, named := personOf(other)
		switch {
		case other == address || other == "":
		case named && p.same(q),
			p.same(nameOf(most(w.names[other]))),
			(ids[local] || local == p.first[:1]+p.last) && w.received[other] >= minReceived && sameHouse(domain, address):
			found = append(found, other)
		}
	}
	slices.Sort(found)
	return found
}

// exchangeIDs are the ids under which p sends from address.
func (w *identity) exchangeIDs(p person, address string) map[string]bool {
	ids := map[string]bool{}
	for id, senders := range w.ids {
		from := most(senders)
		if from == address || p.same(nameOf(most(w.names[from]))) {
			ids[id] = true
		}
	}
	return ids
}

// sameHouse reports whether domain is that of address or one below or above it.
func sameHouse(domain, address string) bool {
	_, house, _ := strings.Cut(address, "@")
	return domain == house || strings.HasSuffix(domain, "."+house) || strings.HasSuffix(house, "."+domain)
}

// A person is a first and a last name in lower-case letters.
type person struct{ first, last string }

// personOf reads first.last@…, with other names between; the first name must be
// more than an initial.
func personOf(address string) (person, bool) {
	local, _, _ := strings.Cut(address, "@")
	parts := strings.FieldsFunc(local, func(r rune) bool { return r == '.' || r == '_' })
	if len(parts) < 2 || len(parts[0]) < 2 {
		return person{}, false
	}
	p := person{letters(parts[0]), letters(parts[len(parts)-1])}
	return p, p.first != "" && p.last != ""
}

// nameOf reads a display name, "First M. Last" or "Last, First M.".
func nameOf(name string) person {
	name = strings.ToLower(name)
	if last, first, found := strings.Cut(name, ","); found {
		name = first + " " + last
	}
	parts := strings.Fields(strings.ReplaceAll(name, ".", " "))
	if len(parts) < 2 {
		return person{}
	}
	return person{letters(parts[0]), letters(parts[len(parts)-1])}
}

// same reports whether p and q are one person by their names. First names may
// be short forms.
func (p person) same(q person) bool {
	if p.last != q.last || p.first == "" || q.first == "" {
		return false
	}
	a, b := p.first, q.first
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) >= 3 && strings.HasPrefix(b, a) || nicknames[a] != "" && nicknames[a] == cmp.Or(nicknames[b], b)
}

// nicknames maps short forms that are no beginnings to the full name.
var nicknames = map[string]string{
	"dave": "david", "mike": "michael", "bob": "robert", "bill": "william", "jim": "james", "dick": "richard",
	"rick": "richard", "liz": "elizabeth", "beth": "elizabeth", "kate": "katherine", "tony": "anthony", "chuck": "charles",
	"jack": "john", "hank": "henry", "peggy": "margaret", "larry": "lawrence", "geoff": "geoffrey", "steve": "stephen",
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r > 127 {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

// readOwners reads a file of mailbox names and their owners' addresses.
func readOwners(path string) (map[string]string, error) {
	named := map[string]string{}
	if path == "" {
		return named, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, address, found := strings.Cut(line, "\t")
		if name, address = strings.TrimSpace(name), strings.ToLower(strings.TrimSpace(address)); !found || name == "" || !strings.Contains(address, "@") {
			return nil, fmt.Errorf("%s:%d: want a mailbox name, a tab and an address", path, n)
		}
		if other, twice := named[name]; twice && other != address {
			return nil, fmt.Errorf("%s:%d: mailbox %s has the owner %s already", path, n, name, other)
		}
		named[name] = address
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read owners %s: %w", path, err)
	}
	return named, nil
}
