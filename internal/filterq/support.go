package filterq

import (
	"regexp"
	"slices"
	"strings"

	"agentmill/internal/mailbox"
)

// An answer is supported where more than half of its words stand close together
// in the source mails: numbers count double, and within supportWindow words
// they are one statement. What these two limits cost was measured on questions
// that people wrote: nearly all of them pass, and nearly no value of the same
// kind from another mail does.
const (
	supportLimit  = .5
	aliasSupport  = .75 // of an alias that shares a word with the answer
	supportWindow = 25
)

// supported reports whether the words of texts say q's answer.
func supported(answer string, aliases []string, texts []string) bool {
	words := placed(terms(strings.Join(texts, "\n")))
	window := supportWindow
	if len(texts) > 1 {
		window = len(words) // the answer is put together of several mails
	}
	want := joined(terms(yesNo.ReplaceAllString(answer, "")))
	if len(want) == 0 || closeTogether(want, words, window) > supportLimit {
		return true
	}
	for _, a := range aliases {
		if also := joined(terms(a)); shares(also, want) && closeTogether(also, words, window) >= aliasSupport {
			return true
		}
	}
	return false
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// A word is a term of a text and its place.
type word struct {
	term string
	at   int
}

// placed numbers the terms of a text. A day of the month stands there also with
// its month: "mar 14" of "March 12 to 14" and of "the 14th of March".
func placed(terms []string) []word {
	out := make([]word, 0, len(terms))
	month := "" // of the days that follow it
	for i, t := range terms {
		out = append(out, word{t, i})
		switch {
		case isMonth[t]:
			month = t
		case !isDay(t):
			month = ""
		default:
			if month != "" {
				out = append(out, word{month + " " + t, i})
			}
			if next := i + 1; next < len(terms) && isMonth[terms[next]] {
				out = append(out, word{terms[next] + " " + t, i})
			}
		}
	}
	return out
}

// joined makes one term of a month and the day beside it.
func joined(terms []string) []string {
	var out []string
	for _, t := range terms {
		last := len(out) - 1
		if last >= 0 && isDay(t) && isMonth[out[last]] {
			out[last] += " " + t
			continue
		}
		out = append(out, t)
	}
	return out
}

func isDay(t string) bool {
	return len(t) <= 2 && isNumber(t) && t <= "31" || len(t) == 1 && isNumber(t)
}

// isMonth are the names of months as terms.
var isMonth = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range monthNames {
		m[w[:3]] = true
	}
	return m
}()

// closeTogether is the largest share of want that stands in words within one
// window.
func closeTogether(want []string, words []word, window int) float64 {
	weight, total := map[string]int{}, 0
	for _, w := range want {
		if _, ok := weight[w]; !ok {
			weight[w] = weightOf(w)
			total += weight[w]
		}
	}
	var hits []word
	for _, w := range words {
		for t := range weight {
			if w.term == t || alike(w.term, t) {
				hits = append(hits, word{t, w.at})
			}
		}
	}
	have, sum, best, from := map[string]int{}, 0, 0, 0
	for _, h := range hits {
		if have[h.term]++; have[h.term] == 1 {
			sum += weight[h.term]
		}
		for ; hits[from].at < h.at-window; from++ {
			if have[hits[from].term]--; have[hits[from].term] == 0 {
				sum -= weight[hits[from].term]
			}
		}
		best = max(best, sum)
	}
	return float64(best) / float64(max(total, 1))
}

// weightOf: numbers count double, a day of a month threefold.
func weightOf(term string) int {
	switch {
	case strings.Contains(term, " "):
		return 3
	case isNumber(term):
		return 2
	}
	return 1
}

func isNumber(term string) bool { return '0' <= term[0] && term[0] <= '9' }

// alike reports whether two words begin with the same five letters.
func alike(a, b string) bool {
	return len(a) >= 5 && len(b) >= 5 && a[:5] == b[:5] && !isNumber(a) && !strings.Contains(a, " ")
}

var (
	termRE     = regexp.MustCompile(`\d+:[0-5]\d|\d+(?:\.\d+)?|[\pL]+`)
	thousands  = regexp.MustCompile(`(\d)[, ](\d{3})(\D|$)`)
	inK        = regexp.MustCompile(`\b(?:(\d{1,3})-)?(\d{1,3}) ?k\b`)    // "55k", "50-100k"
	theMonth   = regexp.MustCompile(`\bMay\b`)                            // and not the verb
	dottedTime = regexp.MustCompile(`\b(\d{1,2})\.([0-5]\d) ?([ap]\.?m)`) // "7.30 pm"
	yesNo      = regexp.MustCompile(`(?i)^(?:yes|no)\b[,;:. -]*`)
	slashDate  = regexp.MustCompile(`\b(\d{1,2})/(\d{1,2})(?:/\d+)?\b`)
	monthNames = strings.Fields(`january february march april maymonth june july august september october november december`)
	shortTerms = shortened()
	emptyTerms = setOf(`a an the of in on at to for with and or nor by from about as into over under up down out off per than then so if but not no
		yes is was were be been are i me my we us our you your he him his she her they them their it its this that these those who will would should can
		could may might has have had do did does more most less least around approximately roughly nearly total some there only also just after before
		during until since because between don t s`)
)

func setOf(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// shortened maps the names of months and days to three letters and small
// numbers to digits.
func shortened() map[string]string {
	m := map[string]string{"half": "0.5", "dozen": "12", "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sept": "sep"}
	for i, w := range strings.Fields(`one two three four five six seven eight nine ten eleven twelve`) {
		m[w] = digits[i+1]
	}
	for _, w := range monthNames {
		m[w] = w[:3]
	}
	for w := range strings.FieldsSeq(`monday tuesday wednesday thursday friday saturday sunday`) {
		m[w] = w[:3]
	}
	return m
}

var digits = strings.Fields(`0 1 2 3 4 5 6 7 8 9 10 11 12`)

// terms are the telling words of a text in their plainest form: numbers without
// separators and zeros, months and days by three letters, "3/14" as "mar 14".
func terms(text string) []string {
	text = strings.ToLower(theMonth.ReplaceAllString(text, "maymonth"))
	text = thousands.ReplaceAllString(thousands.ReplaceAllString(text, "$1$2$3"), "$1$2$3")
	text = dottedTime.ReplaceAllString(text, "$1:$2 $3")
	text = inK.ReplaceAllString(text, "${1}000 ${2}000")
	text = slashDate.ReplaceAllStringFunc(text, func(d string) string {
		m := slashDate.FindStringSubmatch(d)
		if n := strings.TrimPrefix(m[1], "0"); len(n) > 0 {
			for i, w := range digits[1:] {
				if w == n {
					return monthNames[i] + " " + m[2]
				}
			}
		}
		return d
	})
	var out []string
	for _, w := range termRE.FindAllString(text, -1) {
		short, ok := shortTerms[w]
		if ok {
			w = short
		}
		switch {
		case isNumber(w):
			w = plainNumber(w)
		case !ok && emptyTerms[w] || len(w) < 2:
			continue
		default:
			w = mailbox.Stem(w)
		}
		out = append(out, w)
	}
	return out
}

func plainNumber(w string) string {
	w = strings.TrimSuffix(w, ":00")
	if strings.Contains(w, ".") {
		w = strings.TrimSuffix(strings.TrimRight(w, "0"), ".")
	}
	if w = strings.TrimLeft(w, "0"); w == "" || w[0] == '.' {
		w = "0" + w
	}
	return w
}
