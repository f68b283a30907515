package extract

import (
	"regexp"
	"strings"
)

// A pattern finds spans of one kind: group 1 of re where it has one, else the
// whole match, unless ok, which may shorten it, refuses it. It is tried only
// where a word or number of the right sort begins, which is what makes it fast:
// starts has d for digits and signs, u for capitals, and first the small words.
type pattern struct {
	kind   Kind
	re     *regexp.Regexp // anchored
	starts string
	first  map[string]bool // nil with l in starts: any
	ok     func(text string, s *Span) bool
	hint   func(text string) bool // cheaply refuses most starts where re would fail; nil: none
}

// A start is a place where a word, a number or a sign begins.
type start struct {
	at    int
	class byte
	word  string // of small letters
}

// window is how far a match may reach.
const window = 160

// startsOf lists the starts of text.
func startsOf(text string) []start {
	var out []start
	for i := range len(text) {
		c := text[i]
		inside := i > 0 && isWordByte(text[i-1])
		switch {
		case inside && (isWordByte(c) || c != '$' && c != '('):
		case isDigit(c) || c == '$' || c == '(' || c == '+' || c == 0xe2 || c == 0xc2:
			out = append(out, start{i, 'd', ""})
		case 'A' <= c && c <= 'Z':
			out = append(out, start{i, 'u', ""})
		case 'a' <= c && c <= 'z':
			n := i
			for n < len(text) && 'a' <= text[n] && text[n] <= 'z' {
				n++
			}
			out = append(out, start{i, 'l', text[i:n]})
		}
	}
	return out
}

// find returns the spans of p in text.
func (p pattern) find(text string, starts []start) []Span {
	var spans []Span
	end := 0
	for _, st := range starts {
		if st.at < end || strings.IndexByte(p.starts, st.class) < 0 || st.class == 'l' && p.first != nil && !p.first[st.word] {
			continue
		}
		ahead := text[st.at:min(len(text), st.at+window)]
		if p.hint != nil && !p.hint(ahead) {
			continue
		}
		m := p.re.FindStringSubmatchIndex(ahead)
		if m == nil {
			continue
		}
		s := Span{p.kind, st.at + m[0], st.at + m[1]}
		if len(m) > 2 && m[2] >= 0 {
			s.Start, s.End = st.at+m[2], st.at+m[3]
		}
		trim(text, &s, " \n\t,;:")
		if s.End > s.Start && wholeWords(text, s) && (p.ok == nil || p.ok(text, &s)) {
			spans = append(spans, s)
			end = s.End
		}
	}
	return spans
}

// trim takes the bytes of cutset off both ends of s.
func trim(text string, s *Span, cutset string) {
	s.End = s.Start + len(strings.TrimRight(s.Text(text), cutset))
	s.Start = s.End - len(strings.TrimLeft(s.Text(text), cutset))
}

// wholeWords refuses spans that begin or end inside a word or a number.
func wholeWords(text string, s Span) bool {
	if s.Start > 0 && isWordByte(text[s.Start]) && isWordByte(text[s.Start-1]) {
		return false
	}
	if s.End == len(text) {
		return true
	}
	if isWordByte(text[s.End-1]) && isWordByte(text[s.End]) {
		return false
	}
	return !(isDigit(text[s.End-1]) && s.End+1 < len(text) && strings.IndexByte(".,:/-", text[s.End]) >= 0 && isDigit(text[s.End+1]))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}

// Pieces of the patterns below. ws lets a fact run over a line break.
const (
	ws       = `[ \t]*\n?[ \t]*`
	sp       = `(?:[ \t]+|[ \t]*\n[ \t]*)`
	month    = `(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\.?`
	weekday  = `(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Mon|Tues|Tue|Wed|Thurs|Thur|Thu|Fri|Sat|Sun)\b\.?`
	longDay  = `(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)`
	dayNum   = `(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?`
	year     = `(?:19[89]\d|20[0-4]\d)`
	small    = `(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen|twenty|thirty|forty|fifty|sixty)`
	number   = `(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?`
	clockT   = `(?:1[0-2]|0?[1-9])(?::[0-5]\d)?[ \t]?\n?(?:[aApP]\.?[mM]\b\.?)`
	clock24  = `(?:2[0-3]|[01]?\d):[0-5]\d`
	anyClock = `(?:` + clockT + `|` + clock24 + `|noon\b|midnight\b)`
	capWord  = `[A-Z][A-Za-z'’&]+`
)

// monthDay is a day of a month, with or without weekday and year.
const monthDay = `(?:` + weekday + `,?` + sp + `)?(?:the` + sp + `week` + sp + `of` + sp + `)?(?:` + month + sp + dayNum + `(?:,?` + sp + year + `)?|` + dayNum + sp + `(?:of` + sp + `)?` + month + `(?:,?` + sp + year + `)?)`

var (
	smallWords    = set(`two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen eighteen twenty thirty forty fifty sixty a half`)
	durationWords = set(`one a an half two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen eighteen twenty thirty forty fifty sixty`)
)

// at compiles an anchored expression.
func at(expr string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + expr + `)`) }

// patterns lists all patterns, the more specific before the more general.
var patterns = []pattern{
	{Link, at(`(?:https?://|www\.)[^\s<>"')\]]*[^\s<>"')\].,;:!?]`), "l", set(`http https www`), nil, nil},
	{Email, at(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`), "dul", nil, nil, atSign},
	{Phone, at(`(?:\+?1[-. ])?\(?\d{3}\)?[-. /]{1,2}\d{3}[-.]\d{4}(?:[ ,]+(?:x|ext\.?) ?\d{2,5})?`), "d", nil, nil, manyDigits},
	{Phone, at(`\+\d{1,3}(?:[ -]\d{1,4}){2,5}|011(?:-\d{1,4}){2,5}`), "d", nil, nil, manyDigits},
	{Phone, at(`(?:(?i:ext\.?|extension)[ \t]|\bx)(\d-?\d{3,4})`), "ul", set(`ext extension x`), nil, nil},
	{Phone, at(`\b\d{3}-\d{4}\b`), "d", nil, notPartOfNumber, manyDigits},
	{Flight, at(`\b[Ff]light[ \t](?:is|was|will be)[ \t]([A-Z]{2}[ \t]?\d{2,4})\b`), "ul", set(`flight flights`), nil, nil},
	{Flight, at(`\b[Ff]lights?[ \t](?:number[ \t]|no\.?[ \t]|#)?((?:[A-Z]{2}[ \t]?)?\d{2,4})\b`), "ul", set(`flight flights`), nil, nil},
	{Date, at(monthDay), "dul", set(`the`), notMay, dayOrMonth},
	{Date, at(`(?:` + weekday + `,?` + sp + `)(?:the` + sp + `)?` + dayNum), "u", nil, ordinalOrLongDay, dayName},
	{Date, at(`(?:` + weekday + `,?` + sp + `)?\b(?:0?[1-9]|1[0-2])/(?:3[01]|[12]\d|0?[1-9])(?:/(?:\d{4}|\d{2}))?\b`), "du", nil, nil, slash},
	{Date, at(`\b` + year + `-(?:0[1-9]|1[0-2])-(?:3[01]|[12]\d|0[1-9])\b`), "d", nil, nil, dash},
	{Date, at(`\b(?:(?:the` + sp + `)?(?:end|beginning|middle|start) of |mid-|early |late )?(?:January|February|March|April|May|June|July|August|September|October|November|December)(?:` + sp + year + `)\b`), "ul", set(`the end beginning middle start mid early late`), nil, nil},
	{Date, at(`\b(?:the` + sp + `)?(?:end|beginning|middle|start) of (?:January|February|March|April|May|June|July|August|September|October|November|December|the (?:month|year|quarter|week)|next (?:month|week|year))\b`), "l", set(`the end beginning middle start`), nil, nil},
	{Date, at(`\b(?:next|this|last|the following)` + sp + longDay + `\b`), "l", set(`next this last the`), nil, nil},
	{Date, at(`\b(?:on|by|for|to|until|before|from|in|during|since|through|of|is|was)` + sp + `((?:mid-|early |late )?(?:January|February|March|April|June|July|August|September|October|November|December)|next (?:week|month|quarter|year))\b`), "l", set(`on by for to until before from in during since through of is was`), nil, nil},
	{Date, at(`\bthe \d{1,2}(?:st|nd|rd|th)\b`), "l", set(`the`), notFloor, nil},
	{Time, at(`\b(?:(?:1[0-2]|0?[1-9])(?::[0-5]\d)?|` + anyClock + `)` + ws + `(?:-|–|to|until|and)` + ws + anyClock), "dl", set(`noon midnight`), rangeOfTimes, clockAhead},
	{Time, at(`\b` + anyClock), "dl", set(`noon midnight`), notRatio, clockAhead},
	{Date, at(`\b` + longDay + `(?:` + sp + `(?:morning|afternoon|evening|night))?\b`), "u", nil, nil, dayName},
	{Amount, at(`(?:US|USD|CAD|EUR)?[ \t]?[$€£][ \t]?` + number + `(?:[ \t]?(?:million|billion|thousand|MM|mm|[MKkB]|bn)\b)?(?:(?:` + sp + `per` + sp + `|/|` + sp + `an?` + sp + `)(?:square foot|[A-Za-z]+))?`), "du", nil, trimPer, money},
	{Amount, at(`\b(?:` + number + `|` + small + `)(?:[ \t]?(?:million|billion|thousand))?` + sp + `(?:dollars|cents|euros|pounds sterling)(?:(?: per | an? )[a-z]+)?\b`), "dl", smallWords, nil, moneyWord},
	{Percentage, at(`\b` + number + `(?:[ \t]?%|` + sp + `percent(?:age points?)?\b|` + sp + `per cent\b)`), "d", nil, nil, percent},
	{Percentage, at(`\b` + small + sp + `percent\b`), "l", smallWords, nil, percent},
	{Address, at(`\b\d{1,5}[ \t](?:(?:North|South|East|West|N\.|S\.|E\.|W\.)[ \t])?(?:[A-Z0-9][A-Za-z0-9.'-]*[ \t]){1,3}?(?:Street|St\b\.?|Avenue|Ave\b\.?|Road|Rd\b\.?|Drive|Dr\b\.?|Lane|Ln\b\.?|Boulevard|Blvd\b\.?|Way|Court|Ct\b\.?|Parkway|Pkwy\b\.?|Square|Terrace|Highway)(?:,?[ \t](?:Suite|Ste\.?|Apt\.?|Unit|Floor)[ \t][A-Za-z0-9-]+)?`), "d", nil, nil, nil},
	{Room, at(`\b(?:(?:[Cc]onference|[Mm]eeting|[Tt]raining)` + sp + `)?[Rr]oom` + sp + `(?:[A-Z]?-?\d+[A-Z]?\d*|[A-Z]\b)`), "ul", set(`conference meeting training room`), nil, roomAhead},
	{Room, at(`\b(?:EB|ECS|ECN)[ \t-]?[A-Z]?\d[A-Z0-9]{1,5}\b`), "u", nil, nil, nil},
	{Room, at(`\b(?:[Tt]he` + sp + `)?` + capWord + `(?:[ \t]` + capWord + `)?` + sp + `(?:(?:[Cc]onference|[Mm]eeting|[Tt]raining)` + sp + `)?[Rr]oom\b`), "ul", set(`the`), notDining, roomAhead},
	{Room, at(`\b(?:[Tt]he[ \t])?(?:\d{1,2}(?:st|nd|rd|th)|ground|first|second|third|fourth|fifth)[ -][Ff]loor(?:` + sp + `(?:conference room|boardroom|training room|kitchen|lounge))?\b`), "udl", set(`the ground first second third fourth fifth`), nil, nil},
	{Duration, at(`\b(?:` + number + `|` + small + `|(?:one|an?)(?: and a half)?|half an)(?:(?: to |-| or )(?:` + number + `|` + small + `))?[ -](?:(?:business|working|calendar|full)[ -])?(?:minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?)\b`), "dl", durationWords, plainDuration, nil},
	{Code, at(`\b(?i:code|pin|password|passcode|number|no\.|ticket|case|invoice|confirmation|order|reference|locator|ref|policy|claim|badge|docket|account|serial number)(?:[ \t](?:number|code|no\.))?(?:[ \t](?:is|was|will be|are)(?:[ \t]now)?|:)?[ \t](?:#[ \t]?)?([A-Z0-9]+(?:-[A-Z0-9]+)*)\b`), "ul", set(`code pin password passcode number no ticket case invoice confirmation order reference locator ref policy claim badge docket account serial combination`), codeLike, nil},
	{Code, at(`\b(?i:code|pin|password|passcode|number|combination|locator|reference)(?: [A-Za-z'-]+){1,8}?[ \t](?:is|was|to|has the number)(?:[ \t]now)?[ \t]([A-Z0-9]+(?:-[A-Z0-9]+)*)\b`), "ul", set(`code pin password passcode number no ticket case invoice confirmation order reference locator ref policy claim badge docket account serial combination`), codeLike, nil},
	{Code, at(`\b(?:temporary |new |initial )?(?:[Pp]assword|[Ll]ogin)(?: [A-Za-z'-]+){0,6}?[ \t](?:is|was|:)[ \t]([A-Za-z0-9]*\d[A-Za-z0-9]*)\b`), "ul", set(`temporary new initial password login`), codeLike, nil},
	{Code, at(`\b[A-Z]{1,4}-\d{2,7}(?:-[A-Z0-9]+)*\b`), "u", nil, nil, nil},
	{Code, at(`\b[A-Z0-9]{5,8}\b`), "du", nil, mixed, nil},
	{Place, placeRE, "ul", set(`the front main lobby cafeteria loading parking mail break auditorium boardroom visitor reception guard security supply copy north south east west rear training board`), nil, nameGoesOn},
	{Org, orgRE, "u", nil, alone, nameGoesOn},
	{Person, personRE, "u", nil, person, nil},
	{Place, cityRE, "u", nil, alone, nil},
	{Quantity, at(`\b(?:` + number + `|` + small + `|a dozen|half a dozen)(?:[ \t](?:` + qualifiers + `))?` + sp + `(?:[a-z]+[ \t])?` + counted + `\b`), "dl", smallWords, nil, nil},
	{Quantity, at(`\b(?:` + number + `|` + small + `)[ \t][a-z]+s\b`), "dl", smallWords, countedNoun, nil},
}

// The hints look at what begins at a start. Each is true wherever its pattern
// matches.

func manyDigits(text string) bool {
	n := 0
	for i := 0; i < len(text) && i < 24; i++ {
		if isDigit(text[i]) {
			n++
		}
	}
	return n >= 3
}

// threes are the first three letters of days and months.
var threes = set(`Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec the`)

var days = set(`Mon Tue Wed Thu Fri Sat Sun`)

func dayName(text string) bool { return len(text) > 2 && days[text[:3]] }

// dayOrMonth takes "March 14", "the week of March 14", and "14 March".
func dayOrMonth(text string) bool {
	if len(text) < 4 {
		return false
	}
	if !isDigit(text[0]) {
		return threes[text[:3]]
	}
	rest := strings.TrimLeft(text[1:], "0123456789stndrhof \t\n")
	return rest != "" && strings.IndexByte("JFMASOND", rest[0]) >= 0
}

func slash(text string) bool { return strings.IndexByte(text[:min(len(text), 22)], '/') > 0 }

func dash(text string) bool { return len(text) > 4 && text[4] == '-' }

func atSign(text string) bool { return strings.IndexByte(text, '@') > 0 }

func percent(text string) bool { return strings.Contains(text, "%") || strings.Contains(text, "cent") }

func money(text string) bool {
	for i := 0; i < len(text) && i < 5; i++ {
		if text[i] == '$' || text[i] >= 0x80 {
			return true
		}
	}
	return false
}

func moneyWord(text string) bool {
	return strings.Contains(text, "dollars") || strings.Contains(text, "cents") || strings.Contains(text, "euros") || strings.Contains(text, "pounds")
}

// clockAhead takes "noon", "midnight", "2:30", "2 pm" and "9 to 11 am".
func clockAhead(text string) bool {
	if !isDigit(text[0]) {
		return true
	}
	ahead := text[:min(len(text), 60)]
	return strings.IndexByte(ahead, ':') > 0 || strings.ContainsAny(ahead, "mM") || strings.Contains(ahead, "noon")
}

func roomAhead(text string) bool { return strings.Contains(text, "oom") }

// numbered are words that make a place with a number after them.
var numbered = set(`Dock Pier Gate Bay Terminal Platform`)

// nameGoesOn reports whether the second word is a capital one, or joins one.
func nameGoesOn(text string) bool {
	first := strings.IndexAny(text, " \t\n")
	if first < 0 {
		return false
	}
	next := strings.TrimLeft(text[first:], " \t\n")
	return next != "" && (text[0] >= 'a' || numbered[text[:first]] || 'A' <= next[0] && next[0] <= 'Z' || next[0] == '&' || hasAnyPrefix(next, "and", "of", "on"))
}

// qualifiers stand between a number and what is counted.
const qualifiers = `new|more|additional|full|extra|of the|signed|spare|used|open|other|people|final|printed|bound`

// counted are nouns that business mail counts.
const counted = `(?:people|seats|pallets|boxes|copies|units|tons|barrels|crates|cases|laptops|desks|chairs|monitors|phones|tickets|rooms|parking spaces|spaces|badges|licenses|licences|seats|cartons|drums|trucks|truckloads|containers|valves|pumps|meters|panels|servers|trainees|interns|engineers|analysts|candidates|guests|attendees|pages|samples|sets|rolls|gallons|pounds|feet|miles|square feet|acres|shares|invoices|orders|sites|stores|switches|printers|headsets|cables|bottles|trays|lunches|sandwiches|shirts|bags|rows|windows|doors|shifts|hires|positions|applicants|complaints|defects|tickets|users|accounts|employees|members|volunteers|runners|players|children|kids|bidders|vendors|customers|lots|drawings|bearings|filters|sensors|cameras|keys|vans|cars|buses)`

var (
	perTail    = regexp.MustCompile(`(?: per |/| an? )([A-Za-z]+)$`)
	durTail    = regexp.MustCompile(`^[ \t\n](?:ago|old|later|earlier|too|late|early|before|after|over|behind|ahead|away|short|longer|of each)\b`)
	countsNext = regexp.MustCompile(`^[ \t\n]+[a-z]+s\b`)
	timeTail   = regexp.MustCompile(`(?i)(?:[ap]\.?m|noon|midnight|:\d\d)`)
)

func notPartOfNumber(text string, s *Span) bool {
	before := s.Start == 0 || strings.IndexByte("-./$", text[s.Start-1]) < 0
	after := s.End >= len(text) || strings.IndexByte("-/", text[s.End]) < 0
	return before && after
}

// notMay refuses the verb "may" and the name "Mar" in "May 5 of us".
func notMay(text string, s *Span) bool {
	return s.End-s.Start > 4
}

func ordinalOrLongDay(text string, s *Span) bool {
	return strings.Contains(s.Text(text), "th") || strings.Contains(s.Text(text), "st") || strings.Contains(s.Text(text), "rd") || strings.Contains(s.Text(text), "nd")
}

func notFloor(text string, s *Span) bool {
	rest := strings.TrimLeft(text[s.End:], " -\n\t")
	return rest == "" || !('a' <= rest[0] && rest[0] <= 'z') || hasAnyPrefix(rest, "at ", "of ", "in ", "to ", "and ", "or ", "for ", "from ", "if ", "when ", "so ", "with ", "is ", "was ", "works ", "through ", "until ")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func rangeOfTimes(text string, s *Span) bool {
	trimMeridiem(text, s)
	t := s.Text(text)
	return timeTail.MatchString(t) && (!strings.Contains(t, " and ") || strings.Count(t, "m") > 1 || strings.Count(t, ":") > 1)
}

// trimMeridiem takes the full stop of a sentence off "pm." but not off "p.m.".
func trimMeridiem(text string, s *Span) {
	if t := s.Text(text); strings.HasSuffix(t, "m.") && !strings.HasSuffix(t, ".m.") {
		s.End--
	}
}

// notRatio refuses 24-hour times that are part of a longer number or a ratio.
func notRatio(text string, s *Span) bool {
	trimMeridiem(text, s)
	return s.Start == 0 || strings.IndexByte(":.$#/-", text[s.Start-1]) < 0
}

// trimPer takes off a tail such as "a while" that is no unit.
func trimPer(text string, s *Span) bool {
	m := perTail.FindStringSubmatchIndex(s.Text(text))
	if m != nil && !units[strings.ToLower(s.Text(text)[m[2]:m[3]])] {
		s.End = s.Start + m[0]
	}
	return true
}

func plainDuration(text string, s *Span) bool {
	t := s.Text(text)
	return !durTail.MatchString(text[s.End:]) && (isDigit(t[0]) || len(t) > 6)
}

// codeLike accepts upper-case codes with a digit and numbers of 3 digits or more.
func codeLike(text string, s *Span) bool {
	t := s.Text(text)
	digits := 0
	for i := range len(t) {
		if isDigit(t[i]) {
			digits++
		}
	}
	if digits == len(t) && countsNext.MatchString(text[s.End:]) {
		return false // "order 287 valves"
	}
	return digits >= 3 || digits >= 1 && len(t) >= 4
}

// mixed accepts words of capitals and digits with at least two of each.
func mixed(text string, s *Span) bool {
	t := s.Text(text)
	digits := 0
	for i := range len(t) {
		if isDigit(t[i]) {
			digits++
		}
	}
	return digits >= 2 && len(t)-digits >= 2 && notPartOfNumber(text, s)
}

func notDining(text string, s *Span) bool {
	t := strings.ToLower(s.Text(text))
	return !strings.Contains(t, "chat room") && !strings.HasPrefix(t, "which") && !strings.HasPrefix(t, "no ")
}

// countedNoun refuses plural-looking words that are not things.
func countedNoun(text string, s *Span) bool {
	if s.Start > 0 && strings.IndexByte(".:/-,", text[s.Start-1]) >= 0 {
		return false
	}
	t := s.Text(text)
	noun := t[strings.LastIndexAny(t, " \t")+1:]
	return len(noun) > 3 && !notCounted[noun] && !strings.HasSuffix(noun, "ss") && !isYear(t)
}

func isYear(t string) bool {
	return len(t) > 4 && t[4] == ' ' && (strings.HasPrefix(t, "19") || strings.HasPrefix(t, "20"))
}

var byBefore = regexp.MustCompile(`(?i)\b(?:by|before|no later than|not later than|due|due on|due by|due in|deadline is|deadline of|closes on|close on|cutoff is|cut-off is)(?:[ \t\n]+(?:close of business|cob|the end of the day|end of day|noon|midnight|` + anyClock + `))?(?:[ \t\n]+on)?[ \t\n]+$`)

// deadlineBefore reports whether the text before a date makes it a deadline.
func deadlineBefore(before string) bool {
	if len(before) > 60 {
		before = before[len(before)-60:]
	}
	return byBefore.MatchString(before)
}
