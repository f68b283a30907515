package synthq

import (
	"regexp"
	"strings"

	"agentmill/internal/extract"
	"agentmill/internal/mailbox"
)

// A label is a word before a colon that says what a line of a notice tells.
type label struct {
	name *regexp.Regexp
	kind extract.Kind
	ways []way // %s is the event
}

var labels = []label{
	{regexp.MustCompile(`(?i)^(?:date|day|when|date & time|date and time|date/time)$`), extract.Date, []way{
		{"when is %s", "when %s is"}, {"what day is %s", "what day %s is"}, {"on what date is %s", "on what date %s is"},
	}},
	{regexp.MustCompile(`(?i)^(?:time|when|date & time|date and time|date/time)$`), extract.Time, []way{
		{"what time is %s", "what time %s is"}, {"at what time do I have to be at %s", "at what time I have to be at %s"},
	}},
	{regexp.MustCompile(`(?i)^(?:where|location|place|venue|room)$`), extract.Place, []way{
		{"where is %s", "where %s is"}, {"where will %s be held", "where %s will be held"}, {"where does %s take place", "where %s takes place"}, {"where do I have to go for %s", "where I have to go for %s"},
	}},
	{regexp.MustCompile(`(?i)^(?:cost|price|fee|registration fee)$`), extract.Amount, []way{
		{"how much does %s cost", "how much %s costs"}, {"what do I pay for %s", "what I pay for %s"},
	}},
	{regexp.MustCompile(`(?i)^(?:dial[- ]?in(?: number| #)?|call[- ]?in(?: number| #)?|conference call number|telephone number|phone number|number)$`), extract.Phone, []way{
		{"what number do I dial for %s", "what number I dial for %s"}, {"what is the dial-in number for %s", "what the dial-in number for %s is"}, {"how do I call in to %s", "how I call in to %s"},
	}},
	{regexp.MustCompile(`(?i)^(?:pass ?code|participant (?:pass ?)?code|access code|conference code|code|pin)$`), extract.Code, []way{
		{"what is the passcode for %s", "what the passcode for %s is"}, {"which code do I enter for %s", "which code I enter for %s"},
	}},
	{regexp.MustCompile(`(?i)^(?:speakers?|presenter|instructor|host)$`), extract.Person, []way{
		{"who speaks at %s", "who speaks at %s"}, {"who is the speaker at %s", "who the speaker at %s is"},
	}},
	{regexp.MustCompile(`(?i)^(?:rsvp(?: by)?|deadline|registration deadline|due date|reply by)$`), extract.Deadline, []way{
		{"by when do I have to answer about %s", "by when I have to answer about %s"}, {"what is the deadline for %s", "what the deadline for %s is"},
	}},
}

// A labelled is a line "label: value" of a body.
type labelled struct {
	label      string
	line       extract.Span
	valueStart int
}

var (
	labelLine = regexp.MustCompile(`^[ \t]*([A-Z][A-Za-z/&' -]{1,24}?)[ \t]*:[ \t]+(\S.{0,100})$`)
	ofHeaders = wordSet(`from to cc bcc sent subject importance received`)
)

// notices returns the questions that can be made of the labelled lines of a
// mail about an event: two lines or more of a block, each label once.
func notices(d *mailbox.Doc) []candidate {
	event, ok := eventOf(d.Subject)
	if !ok {
		return nil
	}
	blocks := blocksOf(d.Body)
	count := map[extract.Kind]int{}
	for _, b := range blocks {
		for _, l := range b {
			for _, x := range labels {
				if x.name.MatchString(l.label) {
					count[x.kind]++
				}
			}
		}
	}
	var out []candidate
	for _, b := range blocks {
		for i, l := range b {
			for _, x := range labels {
				if !x.name.MatchString(l.label) || count[x.kind] > 1 {
					continue
				}
				if at, ok := x.value(d.Body, l); ok {
					out = append(out, noticed(d, b, i, x, at, event))
				}
			}
		}
	}
	return out
}

// blocksOf finds the runs of labelled lines of a body, without headers of mails.
func blocksOf(body string) [][]labelled {
	var out [][]labelled
	var run []labelled
	header, blank := false, 0
	flush := func() {
		if len(run) > 1 && !header {
			out = append(out, run)
		}
		run, header = nil, false
	}
	for _, l := range linesOf(body) {
		text := strings.TrimRight(l.Text(body), " \t\r")
		if text == "" {
			if blank++; blank > 1 {
				flush()
			}
			continue
		}
		blank = 0
		m := labelLine.FindStringSubmatchIndex(text)
		if m == nil {
			flush()
			continue
		}
		name := text[m[2]:m[3]]
		header = header || ofHeaders[strings.ToLower(name)]
		run = append(run, labelled{name, extract.Span{Start: l.Start, End: l.Start + len(text)}, l.Start + m[4]})
	}
	flush()
	return out
}

// value finds what a line tells of its label's kind.
func (x *label) value(body string, l labelled) (extract.Span, bool) {
	text := body[l.valueStart:l.line.End]
	facts := extract.Spans(text)
	if x.kind == extract.Place {
		end := len(text)
		if i := strings.IndexAny(text, "(;:<"); i >= 0 {
			end = i
		}
		plain := strings.TrimRight(text[:end], " \t,.-")
		s := extract.Span{Kind: extract.Place, Start: l.valueStart, End: l.valueStart + len(plain)}
		if len(facts) > 0 && (facts[0].Kind == extract.Room || facts[0].Kind == extract.Address) && facts[0].Start == 0 && facts[0].End == len(plain) {
			s.Kind = facts[0].Kind
		}
		return s, len(plain) > 2 && len(strings.Fields(plain)) <= 8 && !vagueValue.MatchString(plain)
	}
	for _, f := range facts {
		if extract.Answers(f.Kind, x.kind) || x.kind == extract.Code && f.Kind == extract.Code {
			return extract.Span{Kind: x.kind, Start: l.valueStart + f.Start, End: l.valueStart + f.End}, f.Start < 16
		}
	}
	if x.kind == extract.Code && codeValue.MatchString(text) {
		return extract.Span{Kind: x.kind, Start: l.valueStart, End: l.valueStart + len(strings.TrimRight(text, "#*. \t"))}, true
	}
	return extract.Span{}, false
}

var (
	vagueValue = regexp.MustCompile(`(?i)\b(?:tb[ad]|to be (?:determined|announced)|see below|various|same|n/a|none|tentative)\b|[@"*=]|https?:|www\.`)
	codeValue  = regexp.MustCompile(`^[0-9][0-9 -]{2,12}[#*]?[. \t]*$`)
)

// noticed is the question for the value at at of line i of a block.
func noticed(d *mailbox.Doc, block []labelled, i int, x label, at extract.Span, event string) candidate {
	from, to := i, i
	words := func(from, to int) int { return len(strings.Fields(d.Body[block[from].line.Start:block[to].line.End])) }
	for from > 0 && words(from-1, to) <= 40 {
		from--
	}
	for to+1 < len(block) && words(from, to+1) <= 40 {
		to++
	}
	c := candidate{
		doc: d, answer: mailbox.Fold(at.Text(d.Body)), start: at.Start,
		sentence: extract.Range{Start: block[from].line.Start, End: block[to].line.End},
		words:    wording{kind: x.kind, wh: strings.ToLower(block[i].label), answer: at},
	}
	c.words.kind = at.Kind
	c.evidence = mailbox.Fold(d.Body[c.sentence.Start:c.sentence.End])
	for _, w := range x.ways {
		c.ways = append(c.ways, w.about(event))
	}
	return c
}

// events are nouns for what takes place.
var events = wordSet(`meeting conference call lunch luncheon dinner breakfast party seminar training workshop session presentation reception tournament retreat offsite
	forum class event celebration game trip tour briefing teleconference summit symposium picnic banquet ceremony gala outing happy webcast roundtable barbecue bbq shower roast
	reunion marathon race auction course`)

// notInEvent are words of subjects that are no names of events.
var notInEvent = wordSet(`re fw fwd please your you i we my is are was were will has have had don't not no can cannot canceled cancelled cancellation changed change rescheduled reschedule
	and or reminder update updated notice invitation invite agenda minutes notes request confirmation confirmed tentative for about regarding schedule details info information new today tomorrow this next`)

// eventOf is the event that a subject line names, as "the staff meeting".
func eventOf(subject string) (string, bool) {
	t := Topic(subject)
	words := strings.Fields(t)
	if len(words) < 2 || len(words) > 7 || strings.Contains(t, " - ") || strings.ContainsAny(t, `?!"*:;,()<>@/&#$`) {
		return "", false
	}
	for i, w := range words {
		low := strings.ToLower(w)
		if notInEvent[low] || strings.HasSuffix(w, ".") {
			return "", false
		}
		if w == strings.ToUpper(w) && len(w) > 5 {
			words[i] = low // shouted
		}
	}
	if !events[strings.ToLower(words[len(words)-1])] {
		return "", false
	}
	switch low := strings.ToLower(words[0]); {
	case low == "the" || low == "a" || low == "an" || low == "our":
		words = words[1:]
	case strings.HasSuffix(low, "'s"):
		return strings.Join(words, " "), true
	}
	if len(words) < 2 {
		return "", false // "the meeting": which?
	}
	if low := strings.ToLower(words[0]); events[low] && words[1] == strings.ToLower(words[1]) {
		words[0] = low
	}
	return "the " + strings.Join(words, " "), true
}

func linesOf(text string) []extract.Span {
	var out []extract.Span
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n
		}
		out = append(out, extract.Span{Start: at, End: end})
		at = end + 1
	}
	return out
}
