package samplemail

import (
	"fmt"
	"strings"
	"time"
)

// body writes a mail round its lines: greeting, an opening, the lines in random
// order (the first seldom first), fillers, a closing and a name.
func (b *box) body(l letter, lines []string) string {
	if l.topic != "noise" {
		lines = b.order(lines)
	} else {
		for i := range lines {
			lines[i] = strings.Trim(lines[i], "\x00 ")
		}
	}
	if b.rnd.IntN(10) < 6 {
		lines = append([]string{pick(b.rnd, b.script.filler["open"])}, lines...)
	}
	for words(lines) < 34+b.rnd.IntN(40) {
		at := 1 + b.rnd.IntN(len(lines))
		lines = append(lines[:at], append([]string{pick(b.rnd, b.script.filler["filler"])}, lines[at:]...)...)
	}
	if b.rnd.IntN(10) < 6 {
		lines = append(lines, pick(b.rnd, b.script.filler["close"]))
	}
	text := b.greeting(l) + b.paragraphs(dedup(lines)) + "\n\n" + b.signature(l.from)
	if b.rnd.IntN(2) == 0 {
		return wrap(text, 70+b.rnd.IntN(8))
	}
	return text
}

// order shuffles lines, and mostly keeps the first line, the fact, from the front.
func (b *box) order(lines []string) []string {
	out := make([]string, len(lines))
	for i, j := range b.rnd.Perm(len(lines)) {
		out[j] = lines[i]
	}
	if out[0] == lines[0] && len(out) > 1 && b.rnd.IntN(4) > 0 {
		j := 1 + b.rnd.IntN(len(out)-1)
		out[0], out[j] = out[j], out[0]
	}
	return out
}

func words(lines []string) int { return len(strings.Fields(strings.Join(lines, " "))) }

// dedup drops lines that were drawn twice.
func dedup(lines []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, l := range lines {
		if !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return out
}

// paragraphs joins lines to one, two or three paragraphs.
func (b *box) paragraphs(lines []string) string {
	var out strings.Builder
	left := 2 + b.rnd.IntN(4)
	for i, l := range lines {
		if i > 0 {
			if left--; left == 0 {
				out.WriteString("\n\n")
				left = 2 + b.rnd.IntN(4)
			} else {
				out.WriteString(" ")
			}
		}
		out.WriteString(l)
	}
	return out.String()
}

func (b *box) greeting(l letter) string {
	name := l.to.first
	if len(l.cc) > 1 && !l.aboutRecipient {
		name = pick(b.rnd, []string{"all", "everybody", "team"})
	}
	switch b.rnd.IntN(6) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Hi %s,\n\n", name)
	case 2:
		return strings.ToUpper(name[:1]) + name[1:] + " -\n\n"
	case 3:
		return "Good morning,\n\n"
	}
	return strings.ToUpper(name[:1]) + name[1:] + ",\n\n"
}

// signature is the name of the writer, sometimes with more.
func (b *box) signature(p Person) string {
	switch n := b.rnd.IntN(10); {
	case n < 5:
		return p.first
	case n < 7:
		return "Thanks,\n" + p.first
	case n < 8:
		return "Regards,\n\n" + p.Name() + "\n" + phone(b.rnd)
	}
	return p.Name()
}

// wrap breaks the lines of text at width columns.
func wrap(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		var out strings.Builder
		col := 0
		for j, w := range strings.Fields(line) {
			switch {
			case j > 0 && col+1+len(w) > width:
				out.WriteString("\n")
				col = 0
			case j > 0:
				out.WriteString(" ")
				col++
			}
			out.WriteString(w)
			col += len(w)
		}
		lines[i] = out.String()
	}
	return strings.Join(lines, "\n")
}

// changed is a later mail of the same writer in which the fact is another.
func (b *box) changed(l letter) letter {
	f := *l.fill
	f.line = l.fact
	c := letter{from: l.from, to: l.to, cc: l.cc, kind: l.kind + "-change", topic: l.topic, aboutRecipient: true}
	c.date = l.date.Add(time.Duration(20+b.rnd.IntN(200)) * time.Hour)
	f.at = c.date
	c.subject = pick(b.rnd, []string{"Re: ", "RE: ", "Change: ", "Update: "}) + l.subject
	lines := []string{f.fill(l.change), pick(b.rnd, b.script.filler["filler"]), pick(b.rnd, b.script.filler["filler"])}
	c.body = b.body(c, lines) + history(l, b.rnd.IntN(3), c)
	return c
}

// reply is the owner's or the other side's short answer with history.
func (b *box) reply(l letter) letter {
	r := letter{from: l.to, to: l.from, cc: l.cc, kind: "reply", topic: l.topic, subject: "Re: " + l.subject}
	if b.rnd.IntN(3) == 0 {
		r.subject = "RE: " + l.subject
	}
	r.date = l.date.Add(time.Duration(10+b.rnd.IntN(3000)) * time.Minute)
	r.body = pick(b.rnd, b.script.filler["reply"]) + "\n\n" + r.from.first + history(l, b.rnd.IntN(3), r)
	return r
}

// chatter is a mail about the same matter that says nothing of it: it competes
// for the words of questions.
func (b *box) chatter(l letter) letter {
	c := letter{to: b.world.owner, kind: "chatter", topic: l.topic, fill: l.fill, aboutRecipient: true}
	c.from = pick(b.rnd, b.world.colleagues)
	if b.rnd.IntN(4) == 0 {
		c.from, c.to = c.to, c.from
	}
	c.date = l.date.Add(time.Duration(b.rnd.IntN(500)-200) * time.Hour)
	c.subject = pick(b.rnd, []string{"Re: ", "Re: ", "RE: ", "", "Question: "}) + l.subject
	lines := []string{strings.ReplaceAll(pick(b.rnd, b.script.filler["chatter"]), "{re}", l.subject)}
	for range 1 + b.rnd.IntN(2) {
		lines = append(lines, pick(b.rnd, b.script.filler["reply"]), pick(b.rnd, b.script.filler["filler"]))
	}
	c.body = b.greeting(c) + b.paragraphs(dedup(lines)) + "\n\n" + b.signature(c.from)
	return c
}

// vague is what people say as long as they do not know.
var vague = map[string]string{
	"date": "some day soon", "past": "some day", "weekday": "some weekday", "time": "some hour", "hours": "the usual hours", "amount": "some amount", "price": "some amount",
	"cents": "so many", "n": "some", "pct": "some percent", "person": "somebody", "room": "some room", "place": "some place", "dur": "some time", "phone": "a number that I lost",
	"addr": "an address that I do not have", "dock": "one of the docks", "bay": "one of the bays", "floor": "another floor", "platform": "some platform", "link": "the usual place", "mail": "some mailbox", "monthyear": "some month",
	"cause": "something went wrong", "testcause": "something went wrong", "customscause": "something is missing", "title": "something higher", "material": "something solid", "restaurant": "some restaurant",
	"hotel": "some hotel", "courtroom": "some room", "corner": "some corner", "park": "some park", "venue": "some hall", "month": "some month",
}

// hearsay is an earlier mail that tells the same without the facts: it fits the
// words of a question as well as the mail that answers it.
func (b *box) hearsay(k *kind, l letter) letter {
	h := letter{from: pick(b.rnd, b.world.colleagues), to: b.world.owner, kind: "hearsay", topic: l.topic, aboutRecipient: true}
	h.date = l.date.Add(-time.Duration(4+b.rnd.IntN(300)) * time.Hour)
	h.subject = pick(b.rnd, []string{"", "", "Re: ", "Fyi: "}) + l.subject
	all := append([]string{pick(b.rnd, k.facts)}, k.also...)
	lines := []string{pick(b.rnd, b.script.filler["hearsay"])}
	for _, i := range b.rnd.Perm(len(all))[:min(len(all), 2+b.rnd.IntN(2))] {
		if !strings.Contains(all[i], "{code") && !strings.Contains(all[i], "{flight") {
			lines = append(lines, l.fill.vaguely(all[i]))
		}
	}
	lines = append(lines, pick(b.rnd, b.script.filler["later"]))
	if b.rnd.IntN(2) == 0 {
		lines = append(lines, pick(b.rnd, b.script.filler["filler"]))
	}
	h.body = b.greeting(h) + b.paragraphs(dedup(lines)) + "\n\n" + b.signature(h.from)
	return h
}

// vaguely fills a line's things and leaves its facts open.
func (f *filler) vaguely(line string) string {
	open := slotRE.ReplaceAllStringFunc(line, func(slot string) string {
		m := slotRE.FindStringSubmatch(slot)
		if v, ok := vague[m[1]]; ok && !(thing[m[1]] && m[1] != "hotel") && m[1] != f.key {
			return v
		}
		return slot
	})
	return f.fillNew(open)
}

// forward passes a letter on to a colleague, with or without a word.
func (b *box) forward(l letter) letter {
	f := letter{from: b.world.owner, to: pick(b.rnd, b.world.colleagues), kind: "forward", topic: l.topic, subject: "Fw: " + l.subject}
	if b.rnd.IntN(2) == 0 {
		f.subject = "FW: " + l.subject
	}
	f.date = l.date.Add(time.Duration(10+b.rnd.IntN(5000)) * time.Minute)
	f.body = strings.TrimLeft(pick(b.rnd, append([]string{""}, b.script.filler["forward"]...))+history(l, b.rnd.IntN(2), f), "\n")
	return f
}

// history quotes l below an answer, in one of the styles of the time.
func history(l letter, style int, by letter) string {
	switch style {
	case 0:
		return fmt.Sprintf("\n\n-----Original Message-----\nFrom: \t%s\nSent:\t%s\nTo:\t%s\nSubject:\t%s\n\n%s",
			l.from.Name(), local(l.date).Format("Monday, January 02, 2006 3:04 PM"), l.to.Name(), l.subject, l.body)
	case 1:
		return fmt.Sprintf("\n\n---------------------- Forwarded by %s/CORVANE on %s ---------------------------\n\n\n%s\n%s\nTo:\t%s/CORVANE\ncc:\t \nSubject:\t%s\n\n%s",
			by.from.Name(), local(by.date).Format("01/02/2006 03:04 PM"), l.from.Name(), local(l.date).Format("01/02/2006 03:04 PM"), l.to.Name(), l.subject, l.body)
	}
	quoted := "> " + strings.ReplaceAll(wrap(l.body, 66), "\n", "\n> ")
	return fmt.Sprintf("\n\nOn %s, %s wrote:\n%s", local(l.date).Format("Mon, 2 Jan 2006"), l.from.Name(), quoted)
}

// local is t where the company sits, with its rough rule for daylight time.
func local(t time.Time) time.Time {
	if t.Month() >= time.April && t.Month() <= time.October {
		return t.In(time.FixedZone("CDT", -5*3600))
	}
	return t.In(time.FixedZone("CST", -6*3600))
}
