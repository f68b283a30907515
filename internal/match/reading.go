package match

import (
	"regexp"
	"strconv"
	"strings"
)

// readings are the ways to read an answer: as written, and with what was run
// together by the loss of a blank or of a footnote's sign taken apart, if that
// makes a difference.
func readings(answer string) []string {
	out := []string{answer}
	if apart := takeApart(fold(answer)); apart != fold(answer) {
		out = append(out, apart)
	}
	return out
}

// glued are the signs of lost blanks and footnotes in running text.
var glued = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(\d), (\d{3})\b`), "$1,$2"},                         // 500, 000
	{regexp.MustCompile(`^(\D{0,12}\d)\. (\d+\D{0,12})$`), "$1.$2"},          // 3. 97
	{regexp.MustCompile(`([a-z]{2})([A-Z][a-z])`), "$1 $2"},                  // byTaron
	{regexp.MustCompile(`([a-z]{2})((?:1[5-9]|20)\d\d)\b`), "$1 $2"},         // the2014
	{regexp.MustCompile(`\b((?:1[5-9]|20)\d\d)([a-z]{2})`), "$1 $2"},         // 1973on
	{regexp.MustCompile(`([a-z]{3})(\d{1,2})([.,;]|$)`), "$1$3"},             // Parker12.
	{regexp.MustCompile(`\b((?:1[5-9]|20)\d\d)(\d{1,2})(\. |\.?$)`), "$1$3"}, // 19521.
}

func takeApart(s string) string {
	for _, g := range glued {
		s = g.re.ReplaceAllString(s, g.to)
	}
	return s
}

// coarseDate takes a longer time that holds the gold's: the month or year of a
// day, the decade or century of a year, where the question asks when something
// was. It does not where the gold is of the time of asking: then the year says
// nothing.
func coarseDate(g Gold, gold, said text) []int {
	want := content(gold.tokens)
	if len(want) != 1 || !when.MatchString(g.Question) {
		return nil
	}
	day := want[0]
	if day.kind == number && day.unit == "" && day.end-day.start >= 3 {
		day = token{kind: date, year: int(day.value)}
	}
	if day.kind != date || day.year == 0 || recent(g.Asked, day.year) {
		return nil
	}
	return holds(said, day)
}

// holds returns where a text names a longer time that holds the day, if it names
// no other time.
func holds(said text, day token) []int {
	var at []int
	for _, t := range said.tokens {
		switch {
		case t.kind == date && t.day == 0 && t.short == 0 && t.month == day.month && t.year == day.year,
			t.kind == number && t.unit == "" && day.month != 0 && t.value == float64(day.year) && t.end-t.start == 4:
			at = append(at, t.start)
		case t.kind == date && t.month != 0, t.likeYear():
			return nil // names another time as well
		}
	}
	for _, m := range period.FindAllStringSubmatchIndex(said.folded, -1) {
		var from, to int
		if m[2] >= 0 {
			to = 100 * atoi(said.folded[m[2]:m[3]])
			from = to - 99
		} else {
			from = 10 * atoi(said.folded[m[4]:m[5]])
			to = from + 9
		}
		if m[6] >= 0 || day.year < from || day.year > to {
			return nil
		}
		at = append(at, m[0])
	}
	return at
}

// period: the 18th century, the 1920s. What is before Christ is not read.
var period = regexp.MustCompile(`(?i)\b(?:(\d{1,2})(?:st|nd|rd|th)[ -]century|(\d{3})0'?s\b)( *b\.?c)?`)

var when = regexp.MustCompile(`(?i)^(?:when|what year|which year|in what year|in which year)\b`)

// recent says whether a year is that of the day of asking or one beside it.
func recent(asked string, year int) bool {
	const near = 2 // years
	head, _, _ := strings.Cut(asked, "-")
	y, err := strconv.Atoi(head)
	return err == nil && year >= y-near && year <= y+near
}
