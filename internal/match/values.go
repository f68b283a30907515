package match

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// judgeValues compares token by token with each of the gold answers, strictly
// before loosely, then looks whether the answer hedges.
func judgeValues(g Gold, answer string) Result {
	asked := read(g.Question)
	every := forms(g.Answers)
	golds := read(strings.Join(every, " ; "))
	for _, reading := range readings(answer) {
		said := read(reading)
		for _, rule := range []func(g Gold, asked, gold, said text) ([]int, string){says, loosely} {
			for _, form := range every {
				gold := read(form)
				if len(gold.tokens) == 0 || echoes(asked, gold, said) {
					continue
				}
				gold.loosen()
				said := said.asTime(gold)
				at, why := rule(g, asked, gold, said)
				if why == "" {
					continue
				}
				if refusal := hedge(asked, golds, said, at); refusal != "" {
					return Result{Hedged: true, Why: refusal}
				}
				return Result{Correct: true, Why: why}
			}
		}
	}
	return Result{Why: "does not say the gold answer"}
}

// loosely is what is tried where says finds no gold answer.
func loosely(g Gold, asked, gold, said text) (at []int, why string) {
	want, have := content(gold.tokens), content(said.tokens)
	if len(have) == 0 || otherName(asked, gold, said, want, have) {
		return nil, ""
	}
	if at := coarseDate(g, gold, said); at != nil {
		return at, "the date, less exact"
	}
	if at := acronym(gold, said, want, have); at != nil {
		return at, "an abbreviation"
	}
	if lacksValue(want, have) {
		return nil, ""
	}
	if whose.MatchString(asked.folded) && lacksFamilyName(gold, want, have) {
		return nil, ""
	}
	if at := gist(asked, gold, want, have); at != nil {
		return at, "what tells of it is there"
	}
	return nil, ""
}

// lacksValue says whether a fixed token of the gold is not in the answer.
func lacksValue(want, have []token) bool {
	return slices.ContainsFunc(want, func(w token) bool { return w.fixed() && !slices.ContainsFunc(have, w.fits) })
}

// echoes says whether an answer says a gold that stands in the question only
// because it repeats the question.
func echoes(asked, gold, said text) bool {
	if choice.MatchString(asked.folded) {
		return false
	}
	for _, w := range content(gold.tokens) {
		if !slices.ContainsFunc(asked.tokens, w.fits) {
			return false
		}
	}
	return len(surplus(asked, gold, said)) > 1
}

// choice: the gold of "Monday or Tuesday?" stands in the question.
var choice = regexp.MustCompile(`(?i)\bor\b|/|\bwhich\b`)

// fixed says whether a token of the gold must be in the answer whatever else is:
// values, and names with digits such as EB3270.
func (t token) fixed() bool {
	return t.kind != word && !t.soft || t.kind == word && strings.ContainsAny(t.text, "0123456789")
}

// tells says whether a fixed token is so special that it may stand for the whole
// gold: neither a small number nor the name of a month is.
func (t token) tells() bool {
	switch t.kind {
	case number:
		return t.unit != "" || t.bare > 12
	case date:
		return t.day != 0 || t.year != 0
	case word, clock, phone:
	}
	return true
}

// asTime reads the number of a very short answer as a time of day where the gold
// is one: 10 for 10 am.
func (t text) asTime(gold text) text {
	const short = 2 // tokens
	if len(t.tokens) > short || !slices.ContainsFunc(gold.tokens, func(g token) bool { return g.kind == clock }) {
		return t
	}
	t.tokens = slices.Clone(t.tokens)
	for i, tok := range t.tokens {
		if tok.kind == number && tok.whole() && !tok.nth && tok.value <= 12 && !strings.Contains(tok.text, ".") {
			t.tokens[i] = token{kind: clock, minutes: int(tok.value) * 60, start: tok.start, end: tok.end}
		}
	}
	return t
}

// forms are the gold answers, each also without what stands in parentheses, and
// the abbreviation alone where it is one of what stands before it.
func forms(golds []string) []string {
	var out []string
	for _, gold := range golds {
		out = append(out, gold)
		if m := numbered.FindStringSubmatch(gold); m != nil {
			out = append(out, m[2]+"th "+m[1])
		}
		i, j := strings.IndexByte(gold, '('), strings.LastIndexByte(gold, ')')
		if i <= 0 || j < i {
			continue
		}
		out = append(out, gold[:i]+gold[j+1:])
		if abbreviates(gold[i+1:j], gold[:i]) {
			out = append(out, gold[i+1:j])
		}
	}
	return out
}

// numbered: season 6 is the sixth season.
var numbered = regexp.MustCompile(`(?i)^(?:the )?(season|episode|chapter|volume|act|part|week|grade|section|phase|stage|round|floor) (\d{1,2})$`)

// abbreviates says whether short is the capitals of long's words, or of the
// parts of them: ADP of adenosine diphosphate.
func abbreviates(short, long string) bool {
	if len(short) < 2 || short != strings.ToUpper(short) || strings.ContainsAny(short, " 0123456789") {
		return false
	}
	long = strings.ToUpper(long)
	if long == "" || long[0] != short[0] {
		return false
	}
	for _, c := range []byte(short) {
		i := strings.IndexByte(long, c)
		if i < 0 {
			return false
		}
		long = long[i+1:]
	}
	return true
}

// says returns where and why the text says the gold, or "" if it does not. The
// place is the tokens of said that were matched.
func says(_ Gold, asked, gold, said text) (at []int, why string) {
	want, have := content(gold.tokens), content(said.tokens)
	if len(have) == 0 {
		return nil, ""
	}
	if personal(gold.folded, want) {
		want = want[:len(want)-suffixes(want)]
	}
	if at := squashed(want, have); at != nil {
		return at, "equal but for blanks"
	}
	match := align(want, have)
	places := positions(have, match)
	missingValue, telling, values, words, wordsFound := false, false, 0, 0, 0
	for i, w := range want {
		if w.fixed() {
			values++
			telling = telling || w.tells()
			missingValue = missingValue || match[i] < 0
			continue
		}
		words++
		if match[i] >= 0 {
			wordsFound++
		}
	}
	found := len(places)
	switch {
	case missingValue:
		return nil, ""
	case len(want) == 1 && (want[0].text == "yes" || want[0].text == "no"):
		if have[0].text != want[0].text {
			return nil, ""
		}
		return places[:1], "same yes or no"
	case found == len(want) && (len(want) == len(have)):
		return places, "equal"
	case found == len(want) && ordered(match):
		return places, "contained"
	case values > 0 && (telling && values >= words || 2*wordsFound >= words):
		return places, "all values are there"
	case found == len(want) && len(want) > 1:
		return places, "all words are there"
	}
	if at := shortName(gold.folded, want, have); at != nil {
		return at, "first and last name"
	}
	if otherName(asked, gold, said, want, have) {
		return nil, ""
	}
	rest := without(have, content(asked.tokens), match)
	if score := 2 * float64(found) / float64(len(want)+rest); score >= .6 {
		return places, "most words are there"
	}
	return nil, ""
}

// content drops little words, unless nothing else would be left.
func content(tokens []token) []token {
	var out []token
	for _, t := range tokens {
		if t.kind != word || !stops[t.text] {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return tokens
	}
	return out
}

var stops = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq("a an the of in on at to for by with and is was were are be been it they he she i we you my our your their his her its that this there as per more than over nearly almost estimated about approximately around roughly approx circa some mr mrs ms has have had did do does will would") {
		out[stem(w)] = true
	}
	return out
}()

// align gives each wanted token a token of the answer, in order where it can: a
// run of the whole gold first, else the first free fit.
func align(want, have []token) []int {
	for from := 0; from+len(want) <= len(have); from++ {
		if run := runAt(want, have, from); run != nil {
			return run
		}
	}
	used := make([]bool, len(have))
	match := make([]int, len(want))
	for i, w := range want {
		match[i] = -1
		for j, h := range have {
			if !used[j] && w.fits(h) {
				match[i], used[j] = j, true
				break
			}
		}
	}
	return match
}

func runAt(want, have []token, from int) []int {
	run := make([]int, len(want))
	for i, w := range want {
		if !w.fits(have[from+i]) {
			return nil
		}
		run[i] = from + i
	}
	return run
}

// ordered says whether the matched tokens follow each other without a gap.
func ordered(match []int) bool {
	for i := 1; i < len(match); i++ {
		if match[i] != match[i-1]+1 {
			return false
		}
	}
	return true
}

// positions are the places in the folded text of what was matched.
func positions(have []token, match []int) []int {
	var out []int
	for _, j := range match {
		if j >= 0 {
			out = append(out, have[j].start)
		}
	}
	slices.Sort(out)
	return out
}

// without counts the answer's tokens, those left out that only repeat the
// question and matched nothing.
func without(have, asked []token, match []int) int {
	n := 0
	for j, h := range have {
		repeats := slices.ContainsFunc(asked, h.fits) && !slices.Contains(match, j)
		if !repeats {
			n++
		}
	}
	return n
}

// fits says whether an answer's token says what the gold's token says.
func (t token) fits(a token) bool {
	switch {
	case t.kind == word && a.kind == word:
		return t.text == a.text || nearly(t.text, a.text) || akin(t.text, a.text)
	case t.kind == number && a.kind == number:
		return t.sameNumber(a)
	case t.kind == date && a.kind == date:
		return t.sameDate(a)
	case t.kind == clock && a.kind == clock:
		return t.sameTime(a)
	case t.kind == phone && a.kind == phone:
		return len(t.text) >= 4 && len(a.text) >= 4 && (strings.HasSuffix(t.text, a.text) || strings.HasSuffix(a.text, t.text))
	case t.kind == number && a.kind == date:
		return t.whole() && (!t.nth && a.year == int(t.value) || t.nth && a.day == int(t.value))
	case t.kind == date && a.kind == number:
		return a.whole() && a.nth && !a.soft && t.day == int(a.value)
	}
	return false
}

// sameNumber lets a unit be missing on one side, but not where that side counts
// something else: 2 people are not 2 years.
func (t token) sameNumber(a token) bool {
	switch {
	case t.unit != "" && a.unit != "":
		return t.unit == a.unit && t.near(t.value, a.value)
	case t.unit != "" && a.counts, a.unit != "" && t.counts, a.nth && !t.nth:
		return false
	}
	return t.near(t.bare, a.bare)
}

// near is equal but for a gold that says itself that it is no exact number.
func (t token) near(gold, said float64) bool {
	const rounding = .025
	return equal(gold, said) || t.loose && math.Abs(gold-said) <= rounding*math.Abs(gold)
}

// inexact are the words of a gold that leave room.
var inexact = regexp.MustCompile(`(?i)\b(?:about|around|approximately|approx|roughly|nearly|almost|more than|over|circa|estimated|up to|at least)\b|~`)

// loosen marks the numbers of a gold that is about right.
func (t *text) loosen() {
	if !inexact.MatchString(t.folded) {
		return
	}
	for i := range t.tokens {
		t.tokens[i].loose = t.tokens[i].kind == number && !t.tokens[i].nth && !t.tokens[i].likeYear()
	}
}

// whole says whether a number is 1, 2, 3 ... of nothing in particular.
func (t token) whole() bool { return t.unit == "" && t.value >= 1 && t.value == math.Trunc(t.value) }

// equal allows for the rounding of unit conversion, no more.
func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

// sameDate wants day and month where the gold says them; a year may be missing
// on either side.
func (t token) sameDate(a token) bool {
	if t.month != a.month && t.month != 0 || a.year != 0 && t.year != 0 && a.year != t.year {
		return false
	}
	switch {
	case t.short != 0:
		return t.shortFits(a)
	case a.short != 0:
		return t.day == a.short || t.day == 0 && (t.year == 0 || t.year%100 == a.short)
	}
	return t.day == 0 || t.day == a.day
}

// shortFits takes Dec01 for December 1 and for December 2001.
func (t token) shortFits(a token) bool {
	return (t.short == a.short || t.short == a.day || a.year != 0 && t.short == a.year%100)
}

func (t token) sameTime(a token) bool {
	if t.half && a.half {
		return t.minutes == a.minutes
	}
	return t.minutes%(12*60) == a.minutes%(12*60)
}

// akin says whether two long words are forms of one: sharecropper and
// sharecropping, lubricate and lubrication.
func akin(a, b string) bool {
	const stemLength, shortStem = 7, 5
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= stemLength && 4*n >= 3*max(len(a), len(b)) || n >= shortStem && endings[a[n:]] && endings[b[n:]]
}

// endings are what words of one stem may differ in; words have lost -s, -e, -ed
// and -ing already.
var endings = func() map[string]bool {
	out := map[string]bool{"": true}
	for e := range strings.FieldsSeq("ion ation or ory ive al ially ally ity ment er ance ence ant ent ous ic ical ically ly ness ful ism ist") {
		out[stem(e)], out[e] = true, true
	}
	return out
}()

// squashed finds the gold's letters where the answer sets blanks otherwise:
// Abid Ali and Abidali.
func squashed(want, have []token) []int {
	gold := joined(want)
	if gold == "" {
		return nil
	}
	for i := range have {
		for j := i + 1; j <= len(have) && j-i <= len(want)+2; j++ {
			if j-i != len(want) && joined(have[i:j]) == gold {
				return []int{have[i].start, have[j-1].start}
			}
		}
	}
	return nil
}

// joined is the letters and digits of tokens that are words or plain numbers, and
// long enough to be recognised; otherwise "".
func joined(tokens []token) string {
	const enough = 5
	var b strings.Builder
	for _, t := range tokens {
		if t.text == "" || t.kind == phone || t.unit != "" {
			return ""
		}
		b.WriteString(t.text)
	}
	if b.Len() < enough {
		return ""
	}
	return b.String()
}

// nearly allows one slip in a long word: a letter more, less, other or swapped.
func nearly(a, b string) bool {
	const long = 6
	if len(a) > len(b) {
		a, b = b, a
	}
	if strings.ContainsAny(a+b, "0123456789") || len(a) < long || len(b)-len(a) > 1 || a[0] != b[0] {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		return i == len(a) || a[i+1:] == b[i+1:] || swapped
	}
	return a[i:] == b[i+1:]
}
