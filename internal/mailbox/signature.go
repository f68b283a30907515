package mailbox

import (
	"regexp"
	"slices"
	"strings"

	"agentmill/internal/extract"
)

// What signatures tell of their writers.
const (
	SignedPhone   = "phone"
	SignedFax     = "fax"
	SignedCell    = "cell"
	SignedTitle   = "title"
	SignedCompany = "company"
	SignedRoom    = "room"
	SignedAddress = "address"
)

// A Signed is a fact that the signature below a mail tells of its sender.
type Signed struct {
	Name  string // the sender
	What  string // one of the constants
	Value string // white space folded
	Fact  extract.Span
	Block extract.Range // from the name to the fact
}

// Signature returns what the signature of the doc tells of its sender.
func (d *Doc) Signature() []Signed {
	d.signing.Do(func() { d.signed = readSignature(d) })
	return d.signed
}

// signatureLines is how far below the name a signature reaches.
const signatureLines = 8

// readSignature reads the signature of d's sender: the name on a line of its own,
// and the facts on the lines below.
func readSignature(d *Doc) []Signed {
	end := len(d.Body)
	if h := extract.HistoryStart(d.Body); h >= 0 {
		end = h
	}
	lines := linesOf(d.Body[:end])
	at, name := nameLine(d, lines)
	if at < 0 {
		return nil
	}
	var out []Signed
	blank := 0
	for _, l := range lines[at+1 : min(len(lines), at+1+signatureLines)] {
		text := l.Text(d.Body)
		if strings.TrimSpace(text) == "" {
			if blank++; blank > 1 {
				break
			}
			continue
		}
		if len(strings.Fields(text)) > 10 || strings.HasPrefix(strings.TrimSpace(text), ">") {
			break // prose
		}
		for _, s := range factsOfLine(text, name, len(out) == 0) {
			s.Fact.Start, s.Fact.End = s.Fact.Start+l.Start, s.Fact.End+l.Start
			s.Name, s.Value = name, Fold(s.Fact.Text(d.Body))
			s.Block = extract.Range{Start: lines[at].Start, End: l.End}
			out = append(out, s)
		}
	}
	return businesslike(once(out))
}

// businesslike leaves an address out where nothing else tells that it is an
// office's.
func businesslike(all []Signed) []Signed {
	office := slices.ContainsFunc(all, func(s Signed) bool { return s.What == SignedCompany || s.What == SignedTitle })
	return slices.DeleteFunc(all, func(s Signed) bool { return s.What == SignedAddress && !office })
}

// signedWords are the words by which what signatures tell is asked for.
var signedWords = map[string][]string{
	SignedPhone: {"phone", "telephone", "call", "reach"}, SignedFax: {"fax"}, SignedCell: {"cell", "mobile", "phone", "call", "reach"},
	SignedTitle: {"title", "job", "position", "hold"}, SignedCompany: {"company", "work"}, SignedRoom: {"office", "sit"}, SignedAddress: {"street", "office"},
}

// asked reports whether a question whose words are matter is for this: it names
// the sender, and nothing that this is not.
func (s *Signed) asked(matter []string) bool {
	name, what := stems(s.Name), signedWords[s.What]
	named, wanted := 0, false
	for _, w := range matter {
		switch {
		case name[w]:
			named++
		case slices.Contains(what, w):
			wanted = wanted || w == what[0] || s.What == SignedCell && w == "mobile"
		default:
			return false
		}
	}
	return named >= 2 && (wanted || s.What != SignedFax && s.What != SignedCell)
}

// once drops what a signature tells twice: nobody knows which is meant.
func once(all []Signed) []Signed {
	count := map[string]int{}
	for _, s := range all {
		count[s.What]++
	}
	return slices.DeleteFunc(all, func(s Signed) bool { return count[s.What] > 1 })
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

var nameOnLine = regexp.MustCompile(`^[ \t]*([A-Z][a-z]+(?: [A-Z]\.?)?(?: [A-Z][A-Za-z'-]+){1,2})[ \t]*[,.]?[ \t]*$`)

// nameLine finds the last line that is the sender's name.
func nameLine(d *Doc, lines []extract.Span) (at int, name string) {
	local, _, _ := strings.Cut(strings.ToLower(d.From), "@")
	for i, l := range slices.Backward(lines) {
		m := nameOnLine.FindStringSubmatch(l.Text(d.Body))
		if m == nil {
			continue
		}
		words := strings.Fields(strings.ToLower(m[1]))
		if first, last := words[0], words[len(words)-1]; len(last) > 2 && strings.Contains(local, last) && (strings.HasPrefix(local, first[:1]) || strings.Contains(local, first)) {
			return i, m[1]
		}
	}
	return -1, ""
}

var (
	faxLine  = regexp.MustCompile(`(?i)\bfax\b|\bfacsimile\b|^[ \t]*f[ .:]`)
	cellLine = regexp.MustCompile(`(?i)\bcell(?:ular)?\b|\bmobile\b|^[ \t]*[cm][ .:]`)
	privat   = regexp.MustCompile(`(?i)\bhome\b|\bpager\b|\b(?:toll|800)\b|^[ \t]*h[ .:]`)
	titleRE  = regexp.MustCompile(`(?:^|[ -])(?:[Pp]resident|[Cc]hairman|[Dd]irector|[Mm]anager|[Aa]nalyst|[Aa]ssociate|[Ss]pecialist|[Cc]oordinator|[Cc]ounsel|[Aa]ttorney|[Aa]ssistant|[Ee]ngineer|[Cc]onsultant|[Ee]ditor|[Pp]rofessor|[Tt]rader|[Oo]fficer|[Pp]artner|[Ss]upervisor|[Aa]dministrator|[Rr]epresentative|CEO|CFO|COO|CIO)(?:$|[ ,/&-])`)
	companyR = regexp.MustCompile(`\b(?:Inc|Corp|Corporation|Company|Co|LLC|L\.L\.C|LLP|L\.L\.P|L\.P|LP|Ltd|Group|Partners|University|Association|Institute|Bank|Foundation)\b\.?[ \t]*$`)
)

// factsOfLine reads one line of a signature; only the first may be a title.
func factsOfLine(text, name string, first bool) []Signed {
	facts := extract.Spans(text)
	plain := strings.TrimSpace(text)
	if len(facts) == 0 || facts[0].Kind == extract.Org || facts[0].Kind == extract.Person {
		whole := extract.Span{Start: strings.Index(text, plain), End: strings.Index(text, plain) + len(plain)}
		switch {
		case strings.ContainsAny(plain, "0123456789:@*\"()|") || len(plain) < 4:
		case first && titleRE.MatchString(plain) && len(strings.Fields(plain)) <= 6:
			whole.Kind = extract.Title
			return []Signed{{What: SignedTitle, Fact: whole}}
		case companyR.MatchString(plain) && !strings.Contains(plain, name):
			whole.Kind = extract.Org
			return []Signed{{What: SignedCompany, Fact: whole}}
		}
	}
	var out []Signed
	for _, f := range facts {
		s := Signed{Fact: f}
		switch f.Kind {
		case extract.Phone:
			s.What = numberOn(text, f, facts)
		case extract.Room:
			s.What = SignedRoom
		case extract.Address:
			s.What = SignedAddress
		}
		if s.What != "" {
			out = append(out, s)
		}
	}
	return out
}

// numberOn says what kind of number a phone number is by the words around it,
// "" where that is not clear or nobody's business.
func numberOn(text string, f extract.Span, facts []extract.Span) string {
	around := text
	if n := len(slices.DeleteFunc(slices.Clone(facts), func(s extract.Span) bool { return s.Kind != extract.Phone })); n > 1 {
		before := text[:f.Start]
		if i := strings.LastIndexAny(before, "0123456789"); i >= 0 {
			before = before[i+1:]
		}
		around = before // each number has its word before it
		if !strings.ContainsFunc(before, isLetter) {
			return ""
		}
	}
	if len(strings.FieldsFunc(f.Text(text), func(r rune) bool { return r < '0' || r > '9' })) < 2 {
		return "" // an extension
	}
	switch {
	case privat.MatchString(around):
		return ""
	case faxLine.MatchString(around):
		return SignedFax
	case cellLine.MatchString(around):
		return SignedCell
	}
	return SignedPhone
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
