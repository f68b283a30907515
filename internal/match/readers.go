package match

import (
	"regexp"
	"strconv"
	"strings"
)

// A reader takes one kind of thing from the start of a text. first are the bytes
// that it may begin with, in small letters; "" is any. make may still say no: the
// 13th month is not a date.
type reader struct {
	first string
	re    *regexp.Regexp
	make  func(m []string) ([]token, bool)
}

const (
	digitFirst = "0123456789"
	monthFirst = "jfmasond"
)

const (
	monthRE = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	yearRE  = `(\d{4}|'\d{2})`
)

func re(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:` + s + `)`) }

// readers in order of trial: what is more special comes first.
var readers = []reader{
	{digitFirst + "+(", re(`(?:\+?1[-. ])?\(?(\d{3})\)?[-. /]{0,2}(\d{3})[-. ](\d{4})`), telephone},
	{digitFirst, re(`(\d{3})-(\d{4})`), telephone},
	{"xe", re(`(?:x|ext\.?|extension)[ :]*(\d)?-?(\d{4,5})`), telephone},
	{digitFirst, re(`(\d{4})-(\d{1,2})-(\d{1,2})(?:T00:00(?::00)?Z?)?`), func(m []string) ([]token, bool) { return dateOf(m[1], m[2], m[3]) }},
	{digitFirst, re(`(\d{1,2})([/-])(\d{1,2})([/-])(\d{4}|\d{2})`), slashDate},
	{digitFirst, re(`(\d{1,2})/(\d{1,2})`), func(m []string) ([]token, bool) { return monthDay(m[1], m[2], "") }},
	{digitFirst, re(`(\d{1,2})(?:st|nd|rd|th)?[ -]*(?:of )?` + monthRE + `(?:,?[ -]*` + yearRE + `)?`), func(m []string) ([]token, bool) { return namedDate(m[2], m[1], m[3]) }},
	{monthFirst, re(monthRE + `[ -]*(\d{1,2})(?:st|nd|rd|th)?(?:,? *` + yearRE + `)`), func(m []string) ([]token, bool) { return namedDate(m[1], m[2], m[3]) }},
	{monthFirst, re(monthRE + `,? *(?:of )?` + yearRE), func(m []string) ([]token, bool) { return namedDate(m[1], "", m[2]) }},
	{monthFirst, re(monthRE + `[-']?(\d{2})`), shortDate},
	{monthFirst, re(monthRE + ` *(\d{1,2})(?:st|nd|rd|th)?`), func(m []string) ([]token, bool) { return namedDate(m[1], m[2], "") }},
	{monthFirst, re(monthRE), monthAlone},
	{digitFirst, re(`(\d{1,2})(?:[:.](\d{2}))? *([ap])\.?m\b\.?`), timeOfDay},
	{digitFirst, re(`(\d{1,2}):(\d{2})(?::\d{2})?(?:ish)?`), timeOfDay},
	{digitFirst, re(`(\d{1,2})() ?o'clock(?: (?:in the )?([ma])(?:orning|fternoon))?`), timeOfDay},
	{"1nm", re(`(12 )?(noon|midday|midnight)`), noon},
	{digitFirst + "+-$.(u\xc2\xe2", re(numberRE), digits},
	{"zotfsenhmbda", re(spelledRE), spelled},
	{"", re(`(?:[a-z]\. ?){2,}`), initials},
	{"", re(`[\pL\pN]+(?:'[\pL\pN]+)*`), plainWord},
}

func telephone(m []string) ([]token, bool) {
	return []token{{kind: phone, text: strings.Join(m[1:], "")}}, true
}

func dateOf(year, month, day string) ([]token, bool) {
	t := token{kind: date, year: yearOf(year), month: atoi(month), day: atoi(day)}
	return []token{t}, t.month >= 1 && t.month <= 12 && t.day <= 31
}

// slashDate wants the same separator twice.
func slashDate(m []string) ([]token, bool) {
	if m[2] != m[4] {
		return nil, false
	}
	return monthDay(m[1], m[3], m[5])
}

// monthDay reads 3/14 as the mails write it, month first, and 14/3 as the only
// date that it can be.
func monthDay(first, second, year string) ([]token, bool) {
	if atoi(first) > 12 {
		first, second = second, first
	}
	tokens, ok := dateOf(year, first, second)
	return tokens, ok && atoi(second) > 0
}

func namedDate(month, day, year string) ([]token, bool) {
	return dateOf(year, strconv.Itoa(monthNumber(month)), day)
}

// shortDate reads Dec01 and Dec-01: a day, or a year of two digits.
func shortDate(m []string) ([]token, bool) {
	return []token{{kind: date, month: monthNumber(m[1]), short: atoi(m[2])}}, true
}

// monthAlone leaves march and may to the words unless they begin with a capital.
func monthAlone(m []string) ([]token, bool) {
	name := strings.TrimSuffix(m[0], ".")
	plain := strings.EqualFold(name, "march") || strings.EqualFold(name, "may") || strings.EqualFold(name, "mar")
	if plain && name[0] >= 'a' {
		return nil, false
	}
	return []token{{kind: date, month: monthNumber(name)}}, true
}

func monthNumber(name string) int {
	return strings.Index("  jan feb mar apr may jun jul aug sep oct nov dec", strings.ToLower(name[:3]))/4 + 1
}

func yearOf(s string) int {
	y := atoi(strings.TrimPrefix(s, "'"))
	switch {
	case s == "" || y >= 100:
		return y
	case y < 50:
		return 2000 + y
	}
	return 1900 + y
}

func timeOfDay(m []string) ([]token, bool) {
	hour, minute, half := atoi(m[1]), atoi(m[2]), ""
	if len(m) > 3 {
		half = strings.ToLower(m[3])
	}
	switch {
	case hour > 24 || minute > 59 || half != "" && hour > 12:
		return nil, false
	case half == "p" && hour < 12:
		hour += 12
	case (half == "a" || half == "m") && hour == 12:
		hour = 0
	}
	return []token{{kind: clock, minutes: hour*60 + minute, half: half != "" || hour > 12}}, true
}

func noon(m []string) ([]token, bool) {
	t := token{kind: clock, minutes: 12 * 60, half: true}
	if strings.EqualFold(m[2], "midnight") {
		t.minutes = 0
	}
	return []token{t}, true
}

// initials joins D.C. and J. K. to one word.
func initials(m []string) ([]token, bool) {
	letters := strings.ToLower(strings.NewReplacer(".", "", " ", "").Replace(m[0]))
	if stops[letters] {
		return []token{{text: letters + "."}}, true // M. S. is no Ms
	}
	return wordTokens(letters, true), true
}

func plainWord(m []string) ([]token, bool) {
	upper := m[0] == strings.ToUpper(m[0])
	return wordTokens(strings.ToLower(m[0]), upper), true
}

// wordTokens stems a word and writes some names in one way.
func wordTokens(w string, upper bool) []token {
	w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "'")
	if full, ok := spellings[w]; ok && (upper || len(w) > 3) {
		var out []token
		for part := range strings.FieldsSeq(full) {
			out = append(out, token{text: stem(part)})
		}
		return out
	}
	return []token{{text: stem(strings.ReplaceAll(w, "'", ""))}}
}

// spellings maps names to the way both texts are written in. Keys of up to
// three letters count only in capitals.
var spellings = map[string]string{
	"us": "united states", "usa": "united states", "uk": "united kingdom",
	"street": "st", "saint": "st", "avenue": "ave", "mount": "mt", "doctor": "dr", "boulevard": "blvd",
	"bce": "bc", "ce": "ad", "versus": "v", "incorporated": "inc", "corporation": "corp", "company": "co", "limited": "ltd",
	"britain": "united kingdom", "fx": "foreign exchange", "forex": "foreign exchange", "hq": "headquarters", "nyc": "new york city", "uae": "united arab emirates",
	"vp": "vice president", "vps": "vice president", "coo": "chief operating officer", "cto": "chief technology officer", "ceo": "chief executive officer", "cfo": "chief financial officer",
	"ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "xi": "11", "xii": "12", "xiii": "13", "xiv": "14", "xv": "15", "xvi": "16",
	"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thur": "thursday", "thurs": "thursday", "fri": "friday",
	"theatre": "theater", "colour": "color", "centre": "center", "harbour": "harbor", "grey": "gray", "defence": "defense",
}

// stem takes the endings -s, -ing and -ed from a word. It is the same for both
// texts, so it need not be right.
func stem(w string) string {
	const least = 3 // letters left
	switch {
	case len(w) <= least, strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	}
	w = strings.TrimSuffix(w, "s")
	for _, ending := range []string{"ing", "ed"} {
		if s, ok := strings.CutSuffix(w, ending); ok && len(s) >= least && strings.ContainsAny(s, "aeiouy") {
			return strings.TrimSuffix(s, "e")
		}
	}
	return strings.TrimSuffix(w, "e")
}

// atoi is for digits that a pattern has matched; "" is 0.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
