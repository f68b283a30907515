package samplemail

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"agentmill/internal/seed"
)

// The sample's mail lies between these days.
var (
	firstDay = time.Date(2001, time.January, 8, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2002, time.February, 22, 0, 0, 0, 0, time.UTC)
)

// A letter is a message before it is put into folders.
type letter struct {
	from, to       Person
	cc             []Person
	date           time.Time
	subject, body  string
	kind, topic    string
	fact           map[string]string // the slots of its fact line
	fill           *filler
	change         string // a line for a later mail, "" for none
	aboutRecipient bool   // it says "you"
}

// A box writes the mail of one mailbox.
type box struct {
	world  *world
	script *script
	room   *postroom
	run    uint64
	index  int
	rnd    *rand.Rand
	want   int
	told   map[string]bool // kind and key that the mailbox already has
}

// A postroom holds what each mailbox got.
type postroom struct {
	owners []Person
	files  [][]Message
}

func newPostroom(worlds []*world) *postroom {
	p := &postroom{files: make([][]Message, len(worlds))}
	for _, w := range worlds {
		p.owners = append(p.owners, w.owner)
	}
	return p
}

// messages returns the files of all mailboxes, each with an id of its own.
func (p *postroom) messages(worlds []*world, cfg Config) []Message {
	var all []Message
	for i, files := range p.files {
		rnd := seed.Stream(cfg.Seed, "ids", i)
		for _, m := range files {
			m.Custodian = worlds[i].owner.custodian()
			m.ID = fmt.Sprintf("<%d.%d.JavaMail.mill@thistle.example>", 1000000+rnd.IntN(33000000), 1075840000000+rnd.IntN(26000000))
			all = append(all, m)
		}
	}
	return all
}

// write fills the mailbox: kinds in random order, round after round, with
// noise between them.
func (b *box) write() {
	b.told = map[string]bool{}
	for n := 0; !b.full(); {
		for _, i := range b.rnd.Perm(len(b.script.kinds)) {
			if b.full() {
				break
			}
			b.thread(&b.script.kinds[i])
			if n++; n%5 == 0 && !b.full() {
				b.file(b.noise())
			}
		}
	}
	b.room.files[b.index] = b.room.files[b.index][:b.want]
}

func (b *box) full() bool { return len(b.room.files[b.index]) >= b.want }

// thread writes a mail of kind k and what follows from it.
func (b *box) thread(k *kind) {
	l, ok := b.compose(k)
	if !ok {
		return
	}
	b.file(l)
	if b.rnd.IntN(14) == 0 && l.to == b.world.owner && !l.aboutRecipient && l.from.domain == domain {
		b.shareWithOthers(l)
	}
	for n := b.rnd.IntN(10); n < 7 && !b.full(); n += 4 {
		b.file(b.hearsay(k, l))
	}
	for n := b.rnd.IntN(10); n < 5 && !b.full(); n += 3 {
		b.file(b.chatter(l))
	}
	switch n := b.rnd.IntN(100); {
	case l.change != "" && n < 50:
		b.file(b.changed(l))
	case n < 66:
		b.file(b.reply(l))
	case n < 76:
		b.file(b.forward(l))
	}
}

// shareWithOthers delivers a letter to the next mailbox too.
func (b *box) shareWithOthers(l letter) {
	if b.index+1 < len(b.room.owners) {
		other := b.index + 1 + b.rnd.IntN(len(b.room.owners)-b.index-1)
		l.cc = append(slices.Clone(l.cc), b.room.owners[other])
		b.room.files[other] = append(b.room.files[other], l.message("inbox"))
	}
}

// message is the letter as a file of folder.
func (l letter) message(folder string) Message {
	return Message{Folder: folder, Date: l.date, From: l.from, To: l.to, Cc: l.cc, Subject: l.subject, Body: l.body, Kind: l.kind, Topic: l.topic}
}

// file puts a letter into the folders where a mail program of the time kept it.
func (b *box) file(l letter) {
	var folders []string
	chance := func(folder string, percent int) {
		if b.rnd.IntN(100) < percent {
			folders = append(folders, folder)
		}
	}
	if l.from == b.world.owner {
		folders = append(folders, "sent")
		chance("_sent_mail", 55)
		chance("all_documents", 45)
	} else {
		folders = append(folders, pick(b.rnd, []string{"inbox", "inbox", "inbox", "notes_inbox", "deleted_items", l.topic}))
		chance("all_documents", 30)
		chance("discussion_threads", 12)
	}
	for _, f := range folders {
		b.room.files[b.index] = append(b.room.files[b.index], l.message(f))
	}
}

// compose writes a mail of kind k about a thing that the mailbox has no such
// mail of yet.
func (b *box) compose(k *kind) (letter, bool) {
	for range 12 {
		f := b.newFiller(k.key)
		f.value(k.key, "", "", "")
		template := pick(b.rnd, k.facts)
		fact := f.fill(b.instead(template))
		told := k.name + "\x00" + f.things[k.key]
		if b.told[told] {
			continue
		}
		b.told[told] = true
		return b.letter(k, f, template, fact), true
	}
	return letter{}, false
}

func (b *box) newFiller(key string) *filler {
	f := &filler{script: b.script, world: b.world, rnd: b.rnd, key: key, at: b.day()}
	f.things, f.line = map[string]string{}, map[string]string{}
	f.used = map[string]bool{b.world.owner.Name(): true}
	return f
}

// day draws a moment in working hours.
func (b *box) day() time.Time {
	t := firstDay.AddDate(0, 0, b.rnd.IntN(int(lastDay.Sub(firstDay).Hours()/24)))
	if t.Weekday() == time.Saturday || t.Weekday() == time.Sunday {
		t = t.AddDate(0, 0, 2)
	}
	return t.Add(time.Duration(13*60+b.rnd.IntN(10*60)) * time.Minute)
}

// letter writes the mail round its fact.
func (b *box) letter(k *kind, f *filler, template, fact string) letter {
	l := letter{kind: k.name, topic: k.topic, date: f.at, fact: f.line, fill: f}
	lines := []string{fact}
	templates := []string{template}
	for _, i := range b.rnd.Perm(len(k.also))[:min(len(k.also), 1+b.rnd.IntN(2))] {
		templates = append(templates, k.also[i])
		lines = append(lines, f.fillNew(b.instead(k.also[i])))
	}
	for _, t := range templates {
		if b.rnd.IntN(2) == 0 {
			lines = append(lines, b.stale(f, t))
		}
	}
	lines = append(lines, b.decoys(k, f)...)
	for _, i := range b.rnd.Perm(len(k.sides))[:min(len(k.sides), 1+b.rnd.IntN(3))] {
		lines = append(lines, f.fillNew(k.sides[i]))
	}
	l.aboutRecipient = says(lines, "you", "your", "You", "Your")
	l.subject = f.fillNew(pick(b.rnd, k.subjects))
	b.address(&l, k)
	if len(k.changes) > 0 {
		l.change = pick(b.rnd, k.changes)
	}
	l.body = b.body(l, lines)
	return l
}

// stale says a line as it once was: the same words with other facts, and words
// round them by which a reader knows that they no longer hold.
func (b *box) stale(f *filler, template string) string {
	line := strings.TrimSuffix(f.fillNew(template), ".")
	if first, _, _ := strings.Cut(line, " "); first == "The" || first == "We" || first == "You" || first == "Your" || first == "Our" || first == "Please" || first == "From" {
		line = strings.ToLower(line[:1]) + line[1:]
	}
	line = strings.TrimPrefix(line, "please ")
	return strings.ReplaceAll(pick(b.rnd, b.script.filler["stale"]), "{line}", line)
}

// endSlot is a fact at the end of a line.
var endSlot = regexp.MustCompile(`\{(date|past|time|weekday|amount|price|person|room|courtroom|floor|place|dur|pct|phone|addr|restaurant|park|venue)(:[^}]*)?\}\.$`)

// instead tells, in about every third line that ends in a fact, what was there
// before it: "on May 4 instead of April 28".
func (b *box) instead(line string) string {
	roll := b.rnd.IntN(6)
	m := endSlot.FindStringSubmatch(line)
	if m == nil || roll > 1 {
		return line
	}
	old := "{" + m[1] + "9" + m[2] + "}"
	if roll == 0 {
		return strings.TrimSuffix(line, ".") + " instead of " + old + "."
	}
	if first, _, _ := strings.Cut(line, " "); first == "The" || first == "We" || first == "You" || first == "Your" || first == "Our" {
		line = strings.ToLower(line[:1]) + line[1:]
	}
	return "Instead of " + old + ", " + line
}

// decoys are sentences about the mail's matter that hold facts of the same sorts
// as its lines, and not the ones that matter: what was planned first, what an
// old list says. Without them the sentence that shares most words with a
// question would nearly always hold its answer.
func (b *box) decoys(k *kind, f *filler) []string {
	var pools []string
	for _, template := range append(append([]string{}, k.facts...), k.also...) {
		for _, m := range slotRE.FindAllStringSubmatch(template, -1) {
			name := "decoy:" + sortOf(m[1])
			if _, ok := b.script.filler[name]; ok && m[1] != k.key && !slices.Contains(pools, name) {
				pools = append(pools, name)
			}
		}
	}
	var out []string
	for _, i := range b.rnd.Perm(len(pools))[:min(len(pools), 4)] {
		if b.rnd.IntN(2) == 0 {
			continue
		}
		out = append(out, f.fillNew(strings.ReplaceAll(pick(b.rnd, b.script.filler[pools[i]]), "{name}", k.title)))
	}
	return out
}

// sortOf is the slot whose decoys serve for a slot.
func sortOf(slot string) string {
	switch slot {
	case "past", "weekday":
		return "date"
	case "price", "cents":
		return "amount"
	case "restaurant", "hotel", "park", "venue", "corner", "dock", "bay", "platform":
		return "place"
	case "courtroom", "floor":
		return "room"
	}
	return slot
}

// fillNew fills a line with facts of its own.
func (f *filler) fillNew(line string) string {
	f.line = map[string]string{}
	return f.fill(line)
}

// says reports whether any line has one of words.
func says(lines []string, words ...string) bool {
	for _, line := range lines {
		for _, w := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,.'’;?", r) }) {
			if slices.Contains(words, w) {
				return true
			}
		}
	}
	return false
}

// address chooses who writes to whom.
func (b *box) address(l *letter, k *kind) {
	l.to = b.world.owner
	from, arg, _ := strings.Cut(k.from, ":")
	switch from {
	case "vendor":
		l.from = b.world.contact(b.rnd, l.fill.value("vendor", "", "", ""))
	case "lawyer":
		l.from = b.world.contact(b.rnd, "Ellison Pruett")
	case "travel":
		l.from = Person{"Travel", "Desk", domain}
	case "clinic":
		l.from = Person{"Front", "Desk", "frontdesk.example"}
	case "friend":
		l.from = Person{pick(b.rnd, b.world.family), pick(b.rnd, b.script.lists["last"]), "postbox.example"}
	case "list":
		l.from = Person{arg, "", "lists.example"}
	default:
		l.from = pick(b.rnd, b.world.colleagues)
		if from == "" && !l.aboutRecipient && b.rnd.IntN(100) < 20 {
			l.from, l.to = b.world.owner, l.from
		}
		for range b.rnd.IntN(4) {
			if c := pick(b.rnd, b.world.colleagues); c != l.from && c != l.to && !slices.Contains(l.cc, c) {
				l.cc = append(l.cc, c)
			}
		}
	}
}

// noise writes a mail that nobody needs.
func (b *box) noise() letter {
	k := pick(b.rnd, b.script.noise)
	f := b.newFiller("")
	l := letter{kind: k.name, topic: k.topic, date: f.at, fill: f, aboutRecipient: true}
	l.subject = f.fill(pick(b.rnd, k.subjects))
	l.body = f.fillNew(pick(b.rnd, k.bodies))
	b.address(&l, &k)
	if strings.HasPrefix(k.from, "list:") {
		l.body = wrap(l.body, 72)
	} else {
		l.body = b.body(l, strings.SplitAfter(strings.ReplaceAll(l.body, ". ", ".\x00 "), "\x00 "))
	}
	return l
}
