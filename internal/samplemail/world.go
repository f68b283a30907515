package samplemail

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/seed"
)

// domain is the company's.
const domain = "corvane.example"

// A Person has a name and an address.
type Person struct {
	first, last, domain string
}

// Name is given name and surname.
func (p Person) Name() string { return strings.TrimSpace(p.first + " " + p.last) }

// Address is the person's mail address.
func (p Person) Address() string {
	if p.last == "" {
		return p.first + "@" + p.domain
	}
	clean := strings.NewReplacer(" ", "", "'", "", ".", "").Replace
	return strings.ToLower(clean(p.first)+"."+clean(p.last)) + "@" + p.domain
}

// custodian is the name of the mailbox's folder: "ruiz-d".
func (p Person) custodian() string {
	return strings.ToLower(p.last) + "-" + strings.ToLower(p.first[:1])
}

// A world is who is who around one mailbox.
type world struct {
	owner      Person
	colleagues []Person // of the owner, in the company
	family     []string // first names of friends and children
	contacts   map[string]Person
	script     *script
	strangers  func(*rand.Rand) string
}

// newWorlds invents the company and the surroundings of its mailboxes. Some
// given names and surnames belong to several people.
func newWorlds(s *script, run uint64, inboxes int) []*world {
	rnd := seed.Stream(run, "company")
	staff := people(rnd, s, domain, max(60, inboxes*2))
	worlds := make([]*world, inboxes)
	for i := range worlds {
		rnd := seed.Stream(run, "world", i)
		w := &world{owner: staff[i], script: s, contacts: map[string]Person{}}
		for _, j := range rnd.Perm(len(staff))[:24] {
			if j != i {
				w.colleagues = append(w.colleagues, staff[j])
			}
		}
		used := map[string]bool{w.owner.first: true}
		for len(w.family) < 9 {
			if n := pick(rnd, s.lists["first"]); !used[n] {
				used[n] = true
				w.family = append(w.family, n)
			}
		}
		outside := people(rnd, s, "", 40)
		w.strangers = func(r *rand.Rand) string { return pick(r, outside).Name() }
		worlds[i] = w
	}
	return worlds
}

// people draws n people with names of their own; custodians' folders differ too.
func people(rnd *rand.Rand, s *script, domain string, n int) []Person {
	firsts := s.lists["first"]
	lasts := slices.Clone(s.lists["last"])
	rnd.Shuffle(len(lasts), func(i, j int) { lasts[i], lasts[j] = lasts[j], lasts[i] })
	used := map[string]bool{}
	var out []Person
	for len(out) < n {
		// squaring favors the front of the lists, so that names are shared
		p := Person{pick(rnd, firsts), lasts[int(float64(len(lasts))*rnd.Float64()*rnd.Float64())], domain}
		if !used[p.Name()] && !used[p.custodian()] {
			used[p.Name()], used[p.custodian()] = true, true
			out = append(out, p)
		}
	}
	return out
}

// colleague draws a colleague's name: those at the front more often.
func (w *world) colleague(rnd *rand.Rand) string {
	return w.colleagues[min(rnd.IntN(len(w.colleagues)), rnd.IntN(len(w.colleagues)))].Name()
}

func (w *world) stranger(rnd *rand.Rand) string { return w.strangers(rnd) }

// contact returns the person who writes for a firm, always the same one.
func (w *world) contact(rnd *rand.Rand, firm string) Person {
	p, ok := w.contacts[firm]
	if !ok {
		p = Person{pick(rnd, w.script.lists["first"]), pick(rnd, w.script.lists["last"]), firmDomain(firm)}
		w.contacts[firm] = p
	}
	return p
}

// firmDomain makes a domain of a firm's name.
func firmDomain(firm string) string {
	return strings.ReplaceAll(strings.ToLower(strings.Fields(firm)[0]), "'", "") + strconv.Itoa(len(firm)%3+1) + ".example"
}
