package match

import (
	"regexp"
	"slices"
	"strings"
)

// shortName finds a personal name written otherwise: Richard Ashby, R. Ashby,
// Rick Ashby or Richard C. Ashby for Richard Crispin Ashby.
func shortName(gold string, want, have []token) []int {
	if !personal(gold, want) {
		return nil
	}
	want = familyLast(want)
	given, last := want[:len(want)-1], want[len(want)-1]
	for j, h := range have {
		if !last.fits(h) {
			continue
		}
		for back := 1; back <= 3 && back <= j; back++ {
			f := have[j-back]
			if f.kind == word && (slices.ContainsFunc(given, f.sameGiven) || strings.TrimSuffix(f.text, ".") == firstLetters(given)) {
				return []int{f.start, h.start}
			}
		}
	}
	return nil
}

// otherName says whether an answer names another than the gold under a part of
// its name: Jermaine Ashby or Richard Heyward for Richard Ashby, Larkfield Hall
// for Larkfield Castle.
func otherName(asked, gold, said text, want, have []token) bool {
	if len(want) < 2 || !capitals(gold.folded) {
		return false
	}
	if headReplaced(asked, gold, said, want, have) {
		return true
	}
	if !whose.MatchString(asked.folded) || !personal(gold.folded, want) || shortName(gold.folded, want, have) != nil {
		return false
	}
	want = familyLast(want)
	last, other := want[len(want)-1], false
	for j, h := range have {
		if !last.fits(h) {
			continue
		}
		if j == 0 || !nameGoesOn(asked, said, have[j-1], h) || !said.capital(have[j-1]) && said.capital(h) {
			return false
		}
		other = true
	}
	return other
}

// lacksFamilyName says whether the gold is a person whom the answer does not name
// by the family name.
func lacksFamilyName(gold text, want, have []token) bool {
	if !personal(gold.folded, want) {
		return false
	}
	want = familyLast(want)
	return !slices.ContainsFunc(have, want[len(want)-1].fits)
}

// headReplaced says whether the answer goes on otherwise after the gold's first
// words, and never says its last.
func headReplaced(asked, gold, said text, want, have []token) bool {
	n := len(want) - 1
	if slices.ContainsFunc(have, want[n].fits) || gold.between(want[n-1], want[n]) != " " {
		return false
	}
	for j := 0; j+1 < len(have); j++ {
		if want[n-1].fits(have[j]) && nameGoesOn(asked, said, have[j], have[j+1]) &&
			(said.capital(have[j+1]) || !said.capital(have[j])) {
			return true
		}
	}
	return false
}

// nameGoesOn says whether two words of an answer stand together and are not
// there for the question's sake.
func nameGoesOn(asked, said text, a, b token) bool {
	return a.kind == word && b.kind == word && said.between(a, b) == " " &&
		!slices.ContainsFunc(asked.tokens, a.fits) && !slices.ContainsFunc(asked.tokens, b.fits)
}

var whose = regexp.MustCompile(`(?i)\b(?:who|whom|whose)\b`)

// capital says whether a token begins with a capital.
func (t text) capital(k token) bool { return t.folded[k.start] >= 'A' && t.folded[k.start] <= 'Z' }

// between is what stands between two tokens, "" where they are of one piece.
func (t text) between(a, b token) string { return t.folded[min(a.end, b.start):b.start] }

// personal says whether a gold reads as a personal name: two to five words, all
// with a capital.
func personal(gold string, want []token) bool {
	gold = parenthesis.ReplaceAllString(gold, "")
	return len(want) >= 2 && len(want) <= 5 && !strings.ContainsAny(gold, ";/:0123456789") &&
		!strings.Contains(strings.Replace(gold, ", Jr", "", 1), ",") && capitals(gold) && len(familyLast(want)) >= 2 && !slices.ContainsFunc(want, func(t token) bool { return bodies[t.text] })
}

// bodies are words of names that no person has.
var bodies = stemmed("school university college company inc corp ltd bank street st park castle county court hall league association church hotel airport museum office department committee council party club army navy force empire kingdom republic state union group team board commission institute society trust center theater river lake sea ocean island mountain valley city")

var parenthesis = regexp.MustCompile(` ?\([^)]*\)`)

// familyLast drops what stands before and behind a name: Dr., Jr., III.
func familyLast(want []token) []token {
	for len(want) > 0 && titles[want[0].text] {
		want = want[1:]
	}
	return want[:len(want)-suffixes(want)]
}

// suffixes counts what stands behind a name of at least two words.
func suffixes(want []token) int {
	n := 0
	for n+2 < len(want) {
		if t := want[len(want)-1-n].text; t != "jr" && t != "sr" && t != "2" && t != "3" && t != "4" {
			break
		}
		n++
	}
	return n
}

var titles = stemmed("dr prof professor rev reverend sir lord lady dame captain capt colonel col general gen senator sen governor gov president king queen prince princess saint st pope judge justice")

// sameGiven says whether two given names may be one person's.
func (t token) sameGiven(a token) bool {
	return t.fits(a) || shortens(t.text, a.text) || shortens(a.text, t.text) || nicknames[[2]string{t.text, a.text}] || nicknames[[2]string{a.text, t.text}]
}

// shortens says whether a is b's first letter or its first three or more: R or
// Rich for Richard.
func shortens(a, b string) bool {
	return a != "" && strings.HasPrefix(b, a) && len(a) != 2 && len(a) < len(b)
}

// nicknames are the short names that are no beginnings of the long ones.
var nicknames = func() map[[2]string]bool {
	const lists = `william bill billy will liam; robert bob bobby rob robbie bert; richard dick rick ricky; james jim jimmy jamie; john jack johnny;
		michael mike mickey mick; anthony tony; edward ted teddy ed eddie ned; theodore ted teddy; thomas tommy; charles chuck charlie; henry hank harry;
		elizabeth liz lizzie beth betty bess libby; katherine kate kathy katie kit; catherine cathy kate; margaret peggy meg maggie; mary molly polly;
		lawrence larry; gerald jerry; jeremiah jerry; harold hal harry; eugene gene; deborah debbie; rebecca becky; patricia patty trish; barbara babs;
		joseph joey; stephen steve; steven steve; andrew andy drew; alexander sandy alec; albert bert; francis frank; franklin frank; david davey;
		susan suzy; jacob jake; leonard lenny; matthew matt; nicholas nick; peter pete; ronald ronnie; walter wally; dorothy dot; virginia ginny; martha patty; sarah sally`
	out := map[[2]string]bool{}
	for list := range strings.SplitSeq(lists, ";") {
		names := strings.Fields(list)
		for _, short := range names[1:] {
			out[[2]string{stem(names[0]), stem(short)}] = true
		}
	}
	return out
}()

// capitals says whether all words of a text begin with a capital.
func capitals(s string) bool {
	for f := range strings.FieldsSeq(s) {
		if f = strings.Trim(f, `"'.,`); f != "" && (f[0] < 'A' || f[0] > 'Z') {
			return false
		}
	}
	return true
}

func stemmed(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[stem(w)] = true
	}
	return out
}

// acronym finds the capitals of a long gold in the answer, or what a gold of
// capitals stands for: NIRA for National Industrial Recovery Act.
func acronym(gold, said text, want, have []token) []int {
	const least = 3 // letters
	if len(want) == 1 && want[0].kind == word && len(want[0].text) >= least && gold.upper(want[0]) {
		return spelledOut(want[0].text, said, have)
	}
	if len(want) < least || !capitals(strings.NewReplacer(" of ", " ", " the ", " ", " and ", " ", " for ", " ").Replace(strings.TrimPrefix(strings.TrimPrefix(gold.folded, "the "), "The "))) {
		return nil
	}
	short := firstLetters(want)
	for _, h := range have {
		if len(short) == len(want) && h.kind == word && h.text == short && said.upper(h) {
			return []int{h.start}
		}
	}
	return nil
}

// firstLetters are those of the words.
func firstLetters(words []token) string {
	var out strings.Builder
	for _, w := range words {
		if w.kind == word && w.text != "" {
			out.WriteByte(w.text[0])
		}
	}
	return out.String()
}

// upper says whether all letters of a token are capitals.
func (t text) upper(k token) bool {
	s := t.folded[k.start:k.end]
	return s == strings.ToUpper(s) && s != strings.ToLower(s)
}

// spelledOut finds words with a capital whose first letters are the given ones.
func spelledOut(letters string, said text, have []token) []int {
	for i := 0; i+len(letters) <= len(have); i++ {
		n := 0
		for n < len(letters) && have[i+n].kind == word && have[i+n].text[0] == letters[n] && said.capital(have[i+n]) {
			n++
		}
		if n == len(letters) {
			return []int{have[i].start, have[i+n-1].start}
		}
	}
	return nil
}
