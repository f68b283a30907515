package samplemail

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A filler fills slots such as {project}, {amount:90-400} or {date2}. Slots of
// things (a project, a vendor, the kind's key) have one value in a mail; slots
// of facts (dates, amounts, people) have one value a line, and no fact of a
// mail has the value of another.
type filler struct {
	script *script
	world  *world
	rnd    *rand.Rand
	at     time.Time         // of the mail
	key    string            // the kind's key
	things map[string]string // values of a mail
	line   map[string]string // values of the line being filled
	used   map[string]bool   // fact values that the mail already shows, and days
}

var slotRE = regexp.MustCompile(`\{([a-z]+)(\d?)('?)(?::([^}]*))?\}`)

// thing lists the slots that have one value in a mail.
var thing = map[string]bool{
	"project": true, "dept": true, "customer": true, "vendor": true, "city": true, "sitekind": true, "item": true, "service": true, "system": true,
	"software": true, "laptop": true, "course": true, "product": true, "case": true, "event": true, "charity": true, "run": true, "band": true, "season": true,
	"street": true, "job": true, "lot": true, "clinic": true, "book": true, "family": true, "candidate": true, "friend": true, "child": true, "speaker": true, "hotel": true, "topic": true,
}

// fill returns line with its slots filled, beginning with a capital. values
// holds the line's facts afterwards.
func (f *filler) fill(line string) string {
	text := slotRE.ReplaceAllStringFunc(line, func(slot string) string {
		m := slotRE.FindStringSubmatch(slot)
		return f.value(m[1], m[2], m[3], m[4])
	})
	text = strings.ReplaceAll(text, "the the ", "the ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// value returns the value of a slot, drawn at its first use.
func (f *filler) value(name, num, fresh, arg string) string {
	key := name + num + fresh
	if key == "item2" {
		name = key
	}
	values := f.line
	if (thing[name] && fresh == "") || name == f.key || name == "item2" {
		values = f.things
		if arg != "" && name != f.key {
			key += ":" + arg
		}
	}
	if v, ok := values[key]; ok {
		return v
	}
	v := f.draw(name, arg)
	for range 20 {
		if !f.used[v] {
			break
		}
		v = f.draw(name, arg)
	}
	values[key] = v
	f.used[v] = true
	return v
}

// draw draws a value for a slot.
func (f *filler) draw(name, arg string) string {
	switch name {
	case "person":
		return f.world.colleague(f.rnd)
	case "candidate", "inventor":
		return f.world.stranger(f.rnd)
	case "friend", "child":
		return pick(f.rnd, f.world.family)
	case "date":
		return f.date(f.at.AddDate(0, 0, 3+f.rnd.IntN(38)))
	case "past":
		return f.date(f.at.AddDate(0, 0, -1-f.rnd.IntN(20)))
	case "weekday":
		return time.Weekday(1 + f.rnd.IntN(5)).String()
	case "time":
		return clockText(f.rnd)
	case "amount":
		return "$" + grouped(between(f.rnd, arg))
	case "price":
		return fmt.Sprintf("$%d.%02d", f.rnd.IntN(max(1, span(arg)))+low(arg, 1), 5*f.rnd.IntN(20))
	case "cents":
		return strconv.Itoa(26 + f.rnd.IntN(20))
	case "pct":
		return percent(f.rnd)
	case "n":
		return grouped(between(f.rnd, arg))
	case "dur":
		return duration(f.rnd, arg)
	case "phone":
		return phone(f.rnd)
	case "ext":
		return fmt.Sprintf("%d-%04d", 3+f.rnd.IntN(4), f.rnd.IntN(10000))
	case "code":
		return pattern(f.rnd, arg)
	case "flight":
		return pick(f.rnd, f.script.lists["airline"]) + " " + strconv.Itoa(100+f.rnd.IntN(1800))
	case "addr":
		return f.address()
	case "site":
		return f.value("city", "", "", "") + " " + f.value("sitekind", "", "", "")
	case "mail":
		return pick(f.rnd, []string{"orders", "desk", "sales", "parts", "service"}) + strconv.Itoa(1+f.rnd.IntN(9)) + "@" + firmDomain(f.value("vendor", "", "", ""))
	case "link":
		return pick(f.rnd, f.script.lists["link"]) + pattern(f.rnd, "aa00")
	}
	return f.fromList(name, arg)
}

func (f *filler) fromList(name, arg string) string {
	switch {
	case arg == "any":
		var all []string
		for _, l := range []string{"vendor", "vendor:cleaning", "vendor:movers"} {
			all = append(all, f.script.lists[l]...)
		}
		return pick(f.rnd, all)
	case arg != "":
		return pick(f.rnd, f.script.lists[name+":"+arg])
	}
	list, ok := f.script.lists[name]
	if !ok {
		panic("samplemail: no values for slot " + name) // a kind's file is part of the program; the tests fill every line
	}
	return pick(f.rnd, list)
}

// date writes a day as people do.
func (f *filler) date(t time.Time) string {
	for t.Weekday() == time.Saturday || t.Weekday() == time.Sunday || f.used[t.Format(time.DateOnly)] {
		t = t.AddDate(0, 0, 1)
	}
	f.used[t.Format(time.DateOnly)] = true
	switch n := f.rnd.IntN(20); {
	case n < 9:
		return t.Format("January 2")
	case n < 16:
		return t.Format("Monday, January 2")
	case n < 18:
		return t.Format("1/2/06")
	}
	return t.Format("January 2, 2006")
}

func (f *filler) address() string {
	streets := []string{"Alder Street", "Clay Street", "Commerce Avenue", "Old Mill Road", "Fannin Street", "Harvest Lane", "Industrial Drive", "Kirby Drive", "Lakeshore Boulevard", "Mercer Street", "Quarry Road", "Sycamore Avenue", "Tidewater Parkway", "Union Street", "Wharf Street"}
	text := strconv.Itoa(100+f.rnd.IntN(8900)) + " " + pick(f.rnd, streets)
	if f.rnd.IntN(3) == 0 {
		text += ", Suite " + strconv.Itoa(100*(1+f.rnd.IntN(9))+10*f.rnd.IntN(4))
	}
	return text
}

func pick[T any](rnd *rand.Rand, list []T) T { return list[rnd.IntN(len(list))] }

// between draws a whole number from "low-high", rounded as people round.
func between(rnd *rand.Rand, arg string) int {
	n := low(arg, 10) + rnd.IntN(span(arg)+1)
	switch {
	case n >= 100000:
		return n / 5000 * 5000
	case n >= 10000:
		return n / 500 * 500
	case n >= 2000:
		return n / 50 * 50
	}
	return n
}

func low(arg string, otherwise int) int {
	from, _, _ := strings.Cut(arg, "-")
	if n, err := strconv.Atoi(from); err == nil {
		return n
	}
	return otherwise
}

func span(arg string) int {
	from, to, _ := strings.Cut(arg, "-")
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || b < a {
		return 5
	}
	return b - a
}

// grouped writes n with a comma a thousand.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func clockText(rnd *rand.Rand) string {
	hour, minute := 7+rnd.IntN(12), 15*rnd.IntN(4)
	half := "am"
	if hour >= 12 {
		half = "pm"
	}
	if hour > 12 {
		hour -= 12
	}
	if minute == 0 && rnd.IntN(2) == 0 {
		return fmt.Sprintf("%d %s", hour, half)
	}
	return fmt.Sprintf("%d:%02d %s", hour, minute, half)
}

func percent(rnd *rand.Rand) string {
	switch rnd.IntN(3) {
	case 0:
		return fmt.Sprintf("%d.%d%%", 1+rnd.IntN(18), 1+rnd.IntN(9))
	case 1:
		return fmt.Sprintf("%d percent", 2+rnd.IntN(38))
	}
	return fmt.Sprintf("%d%%", 2+rnd.IntN(38))
}

func duration(rnd *rand.Rand, unit string) string {
	words := []string{"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	switch unit {
	case "minutes":
		return strconv.Itoa(5*(2+rnd.IntN(8))) + " minutes"
	case "hours":
		return strconv.Itoa(2+rnd.IntN(22)) + " hours"
	case "days":
		return strconv.Itoa(2+rnd.IntN(43)) + " days"
	}
	return pick(rnd, words) + " " + unit
}

// phone draws a number of the 555-01xx block, which belongs to nobody.
func phone(rnd *rand.Rand) string {
	area := pick(rnd, []string{"713", "281", "918", "303", "402", "503", "206", "520"})
	n := rnd.IntN(100)
	switch rnd.IntN(3) {
	case 0:
		return fmt.Sprintf("(%s) 555-01%02d", area, n)
	case 1:
		return fmt.Sprintf("%s-555-01%02d", area, n)
	}
	return fmt.Sprintf("%s.555.01%02d", area, n)
}

// pattern draws a code: 0 is a digit, A a capital, a a small letter, all else
// stands for itself. Letters that look like digits are left out. Letters next
// to a hyphen or to other letters of a fixed prefix are written as they are.
func pattern(rnd *rand.Rand, p string) string {
	prefix := ""
	if i := strings.IndexByte(p, '-'); i > 0 && strings.Trim(p[:i], "A") != "" {
		prefix, p = p[:i], p[i:]
	}
	out := []byte(prefix)
	for i := range len(p) {
		switch p[i] {
		case '0':
			out = append(out, byte('0'+rnd.IntN(10)))
		case 'A':
			out = append(out, "ABCDEFGHJKLMNPQRSTUVWXYZ"[rnd.IntN(24)])
		case 'a':
			out = append(out, "abcdefghjkmnpqrstuvwxyz"[rnd.IntN(23)])
		default:
			out = append(out, p[i])
		}
	}
	return string(out)
}
