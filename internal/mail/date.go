package mail

import (
	"strconv"
	"strings"
	"time"
)

// zones are the named zones that a date may carry, in minutes east of UTC. The
// table is fixed: what the machine's own zone database says does not matter.
var zones = map[string]int{
	"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0,
	"EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AST": -240, "ADT": -180, "AKST": -540, "AKDT": -480, "HST": -600, "NST": -210,
	"BST": 60, "WEST": 60, "CET": 60, "MET": 60, "MEZ": 60, "CEST": 120, "MEST": 120, "MESZ": 120, "EET": 120, "EEST": 180,
	"MSK": 180, "JST": 540, "KST": 540, "HKT": 480, "SGT": 480, "AEST": 600, "AEDT": 660, "NZST": 720, "NZDT": 780,
}

// months maps the first letters of month names, English and some others, to
// their numbers.
var months = map[string]time.Month{
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
	"maj": 5, "mai": 5, "mei": 5, "mag": 5, "okt": 10, "dez": 12, "des": 12, "ene": 1, "abr": 4, "ago": 8, "gen": 1, "dic": 12,
	"mär": 3, "mrt": 3, "fév": 2, "avr": 4, "aoû": 8, "déc": 12, "ott": 10, "set": 9, "lug": 7, "giu": 6,
}

// ParseDate reads a date as mail has it. It takes what RFC 5322 allows and much
// that it does not; each liberty is a warning. ok is false if there is no day in
// the text. A zone that cannot be read is taken as UTC, with a warning.
func ParseDate(s string) (t time.Time, warnings []string, ok bool) {
	if t, ok = plainDate(s); ok {
		return t, nil, true
	}
	p := dateParser{}
	for _, token := range dateTokens(shortZones(s)) {
		p.take(token)
	}
	return p.date()
}

// zoneNames are zones that are written out, as Windows does.
var zoneNames = strings.NewReplacer(
	"Pacific Standard Time", "PST", "Pacific Daylight Time", "PDT", "Mountain Standard Time", "MST", "Mountain Daylight Time", "MDT",
	"Central Standard Time", "CST", "Central Daylight Time", "CDT", "Eastern Standard Time", "EST", "Eastern Daylight Time", "EDT",
	"GMT Standard Time", "GMT", "GMT Daylight Time", "BST", "Greenwich Mean Time", "GMT", "Coordinated Universal Time", "UTC",
	"W. Europe Standard Time", "CET", "W. Europe Daylight Time", "CEST", "Romance Standard Time", "CET", "Romance Daylight Time", "CEST",
	"Central European Time", "CET", "Central European Summer Time", "CEST", "Central Europe Standard Time", "CET", "Central Europe Daylight Time", "CEST",
	"Tokyo Standard Time", "JST", "China Standard Time", "+0800", "India Standard Time", "+0530",
)

func shortZones(s string) string {
	if !strings.Contains(s, " Time") {
		return s
	}
	return zoneNames.Replace(s)
}

// plainDate is the fast way for "Wed, 13 Dec 2000 18:41:00 -0800 (PST)", which
// nearly all mail has. It takes nothing that would be a warning.
func plainDate(s string) (t time.Time, ok bool) {
	if len(s) > 4 && s[3] == ',' && s[4] == ' ' && isWeekday(s[:3]) {
		s = s[5:]
	}
	if len(s) < 2 {
		return t, false
	}
	day, width := number(s[:1]), 1
	if s[1] != ' ' {
		day, width = number(s[:2]), 2
	}
	s = s[width:] // " Dec 2000 18:41:00 -0800 (PST)"
	if len(s) < 24 || s[0] != ' ' || s[4] != ' ' || s[9] != ' ' || s[12] != ':' || s[15] != ':' || s[18] != ' ' || len(s) > 24 && !strings.HasPrefix(s[24:], " (") {
		return t, false
	}
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", s[1:4])
	year, hour, minute, sec, zone := number(s[5:9]), number(s[10:12]), number(s[13:15]), number(s[16:18]), number(s[20:24])
	if day < 1 || month < 0 || month%3 != 0 || year < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || sec < 0 || sec > 60 || zone < 0 || zone > 1400 || zone%100 > 59 {
		return t, false
	}
	offset := zone/100*60 + zone%100
	switch s[19] {
	case '+':
	case '-':
		offset = -offset
	default:
		return t, false
	}
	if len(s) > 24 && strings.IndexByte(s, ')') != len(s)-1 || day > daysIn(time.Month(month/3+1), year) {
		return t, false
	}
	return time.Date(year, time.Month(month/3+1), day, hour, minute-offset, sec, 0, time.UTC), true
}

// number reads digits alone; -1 is none.
func number(s string) (n int) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = 10*n + int(s[i]-'0')
	}
	return n
}

func daysIn(m time.Month, year int) int { return time.Date(year, m+1, 0, 0, 0, 0, 0, time.UTC).Day() }

// dateTokens splits at blanks and commas; comments in brackets are dropped.
func dateTokens(s string) []string {
	var plain strings.Builder
	depth := 0
	for _, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(0, depth-1)
		case depth == 0:
			plain.WriteRune(r)
		}
	}
	return strings.FieldsFunc(plain.String(), func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' || r == '\r' })
}

// A dateParser collects what the tokens of a date say.
type dateParser struct {
	day, year           int
	month               time.Month
	hour, min, sec      int
	offset              int // minutes
	dayOK, yearOK       bool
	timeOK, zoneOK, pm  bool
	am                  bool
	yearDigits          int
	named, badZone, odd bool
}

func (p *dateParser) take(token string) {
	switch {
	case !p.timeOK && strings.Contains(token, ":"):
		p.takeTime(token)
	case !p.timeOK && p.dayOK && p.yearOK && strings.Count(token, ".") == 2: // 10.30.00
		p.takeTime(strings.ReplaceAll(token, ".", ":"))
		p.odd = true
	case p.timeOK && !p.zoneOK && p.takeZone(token):
	case p.takeMonth(token), p.takeNumber(token), p.takeWhole(token):
	case strings.EqualFold(token, "pm"):
		p.pm, p.odd = true, true
	case strings.EqualFold(token, "am"):
		p.am, p.odd = true, true
	case p.dayOK || p.month != 0: // a word after the day; before it, it is a weekday
		p.odd = true
	case !englishWeekday(token):
		p.odd = true
	}
}

func englishWeekday(token string) bool {
	return len(token) == 3 && isWeekday(strings.ToUpper(token[:1])+strings.ToLower(token[1:]))
}

func isWeekday(name string) bool {
	switch name {
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		return true
	}
	return false
}

// takeTime reads HH:MM[:SS[.fraction]], also behind a date and a T, as ISO 8601
// has it, and with a zone at its end.
func (p *dateParser) takeTime(token string) {
	if day, clock, found := strings.Cut(token, "T"); found && p.takeWhole(day) {
		token, p.odd = clock, true
	}
	clock, zone := token, ""
	if i := strings.IndexAny(token, "Z+-"); i > 0 {
		clock, zone = token[:i], token[i:]
	}
	parts := strings.Split(clock, ":")
	for i, target := range []*int{&p.hour, &p.min, &p.sec} {
		if i >= len(parts) {
			break
		}
		digits, _, _ := strings.Cut(parts[i], ".")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > 60 || i == 0 && n > 24 {
			p.odd = true
			return
		}
		*target = n
		p.odd = p.odd || len(digits) != 2
	}
	p.timeOK = true
	if zone != "" {
		p.odd = true
		p.takeZone(zone)
	}
}

// takeZone reads +hhmm, +hh:mm or a name; GMT+0200 counts as its offset.
func (p *dateParser) takeZone(token string) bool {
	if minutes, ok := zones[strings.ToUpper(token)]; ok {
		p.offset, p.zoneOK, p.named = minutes, true, !strings.EqualFold(token, "Z")
		return true
	}
	if i := strings.IndexAny(token, "+-"); i > 0 && zones[strings.ToUpper(token[:i])] == 0 {
		if _, named := zones[strings.ToUpper(token[:i])]; named {
			token, p.odd = token[i:], true
		}
	}
	if token == "" || token[0] != '+' && token[0] != '-' {
		return false
	}
	p.zoneOK = true
	digits := strings.Replace(token[1:], ":", "", 1)
	n, err := strconv.Atoi(digits)
	if err == nil && n >= 0 && len(digits) <= 2 { // hours alone
		n, digits, p.odd = 100*n, "hhmm", true
	}
	if err != nil || n < 0 || len(digits) != 4 || n%100 > 59 || n > 1500 {
		p.badZone = true
		return true
	}
	if p.offset = n/100*60 + n%100; token[0] == '-' {
		p.offset = -p.offset
	}
	return true
}

func (p *dateParser) takeMonth(token string) bool {
	name := []rune(strings.ToLower(strings.TrimRight(token, ".")))
	if p.month != 0 || len(name) < 3 {
		return false
	}
	month, ok := months[string(name[:3])]
	if !ok {
		return false
	}
	p.month = month
	p.odd = p.odd || len(token) != 3 || !strings.Contains("jan feb mar apr may jun jul aug sep oct nov dec", string(name))
	return true
}

// takeNumber reads a day or a year standing alone.
func (p *dateParser) takeNumber(token string) bool {
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 {
		return false
	}
	switch {
	case !p.dayOK && !p.timeOK && (len(token) == 9 || len(token) == 10): // seconds since 1970
		t := time.Unix(int64(n), 0).UTC()
		p.day, p.month, p.dayOK = t.Day(), t.Month(), true
		p.setYear(t.Year(), 4)
		p.hour, p.min, p.sec = t.Clock()
		p.timeOK, p.zoneOK, p.odd = true, true, true
	case !p.dayOK && len(token) <= 2 && n >= 1 && n <= 31:
		p.odd = p.odd || p.month != 0 // "May 4": the month comes second in RFC 5322
		p.day, p.dayOK = n, true
	case !p.yearOK && len(token) <= 4:
		p.setYear(n, len(token))
	default:
		p.odd = true
	}
	return true
}

func (p *dateParser) setYear(n, digits int) {
	switch {
	case digits == 3:
		n += 1900
	case digits <= 2 && n >= 69:
		n += 1900
	case digits <= 2:
		n += 2000
	}
	p.year, p.yearOK, p.yearDigits = n, true, digits
}

// takeWhole reads a date in one token: 05-FEB-2021, 2021-02-05, 2/5/2021.
func (p *dateParser) takeWhole(token string) bool {
	parts := strings.FieldsFunc(token, func(r rune) bool { return r == '-' || r == '/' || r == '.' })
	if len(parts) != 3 || p.dayOK {
		return false
	}
	q := *p
	switch {
	case len(parts[0]) == 4: // year first
		parts[0], parts[2] = parts[2], parts[0]
	case strings.Contains(token, "/") && number(parts[0]) <= 12: // American
		parts[0], parts[1] = parts[1], parts[0]
	}
	if !q.takeNumber(parts[0]) || !q.takeMonthNumber(parts[1]) || !q.takeNumber(parts[2]) {
		return false
	}
	q.odd = true
	*p = q
	return true
}

func (p *dateParser) takeMonthNumber(token string) bool {
	if p.takeMonth(token) {
		return true
	}
	n, err := strconv.Atoi(token)
	if err != nil || n < 1 || n > 12 {
		return false
	}
	p.month = time.Month(n)
	return true
}

func (p *dateParser) date() (time.Time, []string, bool) {
	if !p.dayOK || !p.yearOK || p.month == 0 {
		return time.Time{}, nil, false
	}
	if p.pm && p.hour < 12 {
		p.hour += 12
	}
	if p.am && p.hour == 12 {
		p.hour = 0
	}
	t := time.Date(p.year, p.month, p.day, p.hour, p.min-p.offset, p.sec, 0, time.UTC)
	p.odd = p.odd || p.day > daysIn(p.month, p.year)
	return t, p.warnings(), true
}

func (p *dateParser) warnings() (w []string) {
	for _, c := range []struct {
		on   bool
		name string
	}{
		{p.odd || !p.timeOK, WarnDateOdd},
		{p.yearDigits == 3, WarnYear3},
		{p.badZone, WarnBadZone},
		{p.named, WarnNamedZone},
		{!p.zoneOK, WarnDateNoZone},
	} {
		if c.on {
			w = append(w, c.name)
		}
	}
	return w
}
