package synthq

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"agentmill/internal/mail"
	"agentmill/internal/mailbox"
)

// A voice turns the words of a mail's sender into those of the mailbox's owner,
// who asks: "your flight" is "my flight", "I" is the sender.
type voice struct {
	fromOwner bool
	inside    bool         // the sender works where the owner does
	sender    string       // name of the sender, "" if the address does not show it
	recipient string       // the one recipient of a mail of the owner, "" if several
	box       *mailbox.Box // how words are written in it
}

// newVoice reads from e's addresses who speaks to whom.
func newVoice(e *mail.Email, mine func(address string) bool, box *mailbox.Box) voice {
	v := voice{fromOwner: mine(e.From), box: box}
	v.inside = domainOf(e.From) == domainOf(e.Owner)
	v.sender = nameOf(e.From)
	if v.fromOwner && len(e.To) == 1 && len(e.Cc) == 0 {
		v.recipient = nameOf(e.To[0])
	}
	return v
}

func domainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// nameOf reads "Dana Ruiz" from dana.ruiz@corvane.example, and nothing from
// addresses that are not of this form.
func nameOf(address string) string {
	local, _, _ := strings.Cut(address, "@")
	parts := strings.Split(local, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return ""
	}
	last := parts[len(parts)-1]
	if len(parts[0]) < 2 || len(last) < 2 || parts[0] == "no" || last == "desk" {
		return ""
	}
	for _, p := range []string{parts[0], last} {
		if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' }) {
			return ""
		}
	}
	return capital(parts[0]) + " " + capital(last)
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// A subject is who or what a question is about, and how verbs agree with it.
type subject struct {
	text  string
	third bool // I, we and plurals take "do", others "does"
	first bool // it is "I"
}

// subject maps the grammatical subject of a statement; ok is false where it
// would not be clear who is meant.
func (v voice) subject(s string) (sub subject, ok bool) {
	switch strings.ToLower(s) {
	case "i":
		return v.speaker(v.fromOwner, "I", v.sender)
	case "we":
		return v.speaker(v.fromOwner || v.inside, "we", v.sender)
	case "you":
		return v.speaker(!v.fromOwner, "I", v.recipient)
	}
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		if w == "his" || w == "her" || w == "their" || w == "its" {
			return sub, false
		}
	}
	text, ok := v.text(v.decapital(s))
	return subject{text: text}, ok
}

// speaker is the pronoun where it is the owner who is meant, else the name.
func (v voice) speaker(own bool, pronoun, name string) (subject, bool) {
	if own {
		return subject{text: pronoun, first: pronoun == "I"}, true
	}
	return subject{text: name, third: true}, name != ""
}

// decapital lowers the first letter of a phrase that began a sentence, unless
// its first word is a name.
func (v voice) decapital(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	low := strings.ToLower(first)
	if rest != "" && 'A' <= rest[0] && rest[0] <= 'Z' && !alwaysLower[low] {
		return s // a name of several words
	}
	if alwaysLower[low] || commonNoun[low] || strings.HasSuffix(low, "s") && !v.box.Names()[first] || v.box.Lower()[low] && first != "I" {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

var alwaysLower = wordSet(`the a an our your my all both each every this his her their its some any no one two three four five six seven eight nine ten`)

// commonNoun are nouns that begin sentences without an article.
var commonNoun = wordSet(`parking storage interest propane payroll power rent freight loading dinner lunch breakfast tickets bids reviews payment registration admission
	access enrollment training travel delivery production construction installation maintenance shipping service water gas fuel steel copper doors drivers
	employees managers people customers members participants applications comments questions responses invoices orders vendors suppliers proposals offers tenders
	classes courses flights trains buses trucks deliveries shipments repairs work testing demand supply prices rates fees costs taxes wages bonuses dues copies
	results minutes notes drawings slides samples boxes badges keys cards forms files greens food drinks coffee gasoline insurance coverage inventory stock sales revenue
	earnings volume volumes attendance overtime vacation interviews candidates interns volunteers visitors guests auditors lawyers counsel management legal customs towing
	talks resin packing offer payroll late early line final new old next last`)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// unclear are words that point at something outside the sentence.
var unclear = wordSet(`it this that these those they them he she him himself herself themselves itself here there such same above below attached enclosed former latter following
	today tomorrow yesterday tonight ago so some somebody someone something somewhere somehow`)

// verbAfterYou are words by which "you" begins a statement of its own.
var verbAfterYou = wordSet(`are were have had can could will would should may might must need want do did don't sent submitted requested asked made received said told gave wrote mentioned left provided`)

// text maps the pronouns of a phrase.
func (v voice) text(s string) (string, bool) {
	words := strings.Fields(s)
	for i, w := range words {
		core := strings.Trim(w, `.,;:!?()"`)
		low := strings.ToLower(strings.ReplaceAll(core, "’", "'"))
		if unclear[low] {
			return "", false
		}
		to, ok := v.pronoun(low)
		if !ok || low == "you" && i+1 < len(words) && verbAfterYou[strings.ToLower(words[i+1])] {
			return "", false
		}
		if to != "" {
			words[i] = strings.Replace(w, core, to, 1)
		}
	}
	return strings.Join(words, " "), true
}

// pronoun returns what a pronoun becomes, "" for all other words.
func (v voice) pronoun(low string) (string, bool) {
	own := func(mine bool, pronoun, name, ending string) (string, bool) {
		if mine {
			return pronoun, true
		}
		return name + ending, name != ""
	}
	switch low {
	case "i":
		return own(v.fromOwner, "I", v.sender, "")
	case "me":
		return own(v.fromOwner, "me", v.sender, "")
	case "my":
		return own(v.fromOwner, "my", v.sender, "'s")
	case "us":
		return own(v.fromOwner || v.inside, "us", v.sender, "")
	case "our":
		return own(v.fromOwner || v.inside, "our", v.sender, "'s")
	case "we":
		return own(v.fromOwner || v.inside, "we", v.sender, "")
	case "you":
		return own(!v.fromOwner, "me", v.recipient, "")
	case "your":
		return own(!v.fromOwner, "my", v.recipient, "'s")
	case "yours", "mine", "ours", "yourself", "myself":
		return "", false
	}
	return "", true
}
