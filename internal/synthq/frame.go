package synthq

import (
	"slices"
	"strings"

	"agentmill/internal/extract"
)

// A frame is how one kind of fact is asked for after one preposition.
type frame struct {
	wh     string
	strand string       // preposition left behind
	kind   extract.Kind // where it differs from the fact's
	drop   bool         // leave out the verb: "is set for" → "is"
	active string       // a passive turned round: "was signed by X" → "who signed"
}

// frame chooses the question word for piece i.
func (a *clauseAsker) frame(i int) (frame, bool) {
	p := a.Pieces[i]
	be := a.Lemma == "be" && a.Verb == "" // "the rent is $400"
	object := p.Prep == "" && (i == 0 || !be && endsInVerb(a.Pieces[i-1]))
	switch p.Fact.Kind {
	case extract.Date, extract.Deadline:
		return a.dateFrame(p, i)
	case extract.Time:
		return a.timeFrame(p, i)
	case extract.Amount:
		return a.amountFrame(p, be, object)
	case extract.Percentage:
		return a.percentFrame(p, be, object)
	case extract.Quantity:
		f, ok := quantityFrame(p)
		return f, ok && !(a.Lemma == "be" && a.Verb == "")
	case extract.Duration:
		return a.durationFrame(p, i)
	case extract.Person, extract.Org:
		return a.partyFrame(p, i, be)
	case extract.Place, extract.Room, extract.Address:
		return a.placeFrame(p, be)
	}
	return a.nameFrame(p, be)
}

// endsInVerb reports whether a piece is such as "to spend", so that what follows
// is an object.
func endsInVerb(p extract.Piece) bool {
	words := strings.Fields(p.Text)
	return p.Fact == nil && len(words) == 2 && words[0] == "to"
}

// set are verbs that a date or room needs no more: "is set for Friday".
var set = wordSet(`set schedule book plan slate`)

// moves are verbs after which "to" and "for" name the new date.
var moves = wordSet(`move postpone push reschedule shift extend change delay slip put set schedule`)

func (a *clauseAsker) dateFrame(p extract.Piece, i int) (frame, bool) {
	f := frame{wh: "when", kind: extract.Date}
	f.drop = a.isBe() && set[a.Lemma] && i == 0
	switch p.Prep {
	case "on", "in", "at", "during", "around", "about", "as of", "effective on":
	case "":
		f.drop = false
		return f, i == 0 && (a.Verb == "" || movesInTime[a.Lemma]) || i > 0
	case "by", "before", "no later than", "not later than", "due by":
		f.wh, f.kind = "by when", extract.Deadline
	case "due", "due on":
		f.kind, f.strand = extract.Deadline, "due"
	case "until", "till", "through":
		f.wh = "until when"
	case "from", "starting", "starting on", "effective", "beginning", "beginning on", "since":
		f.wh = "from what date"
	case "every":
		f.wh = "on which weekday"
	case "to":
		f.wh, f.strand = "what date", "to"
		return f, moves[a.Lemma]
	case "for":
		if f.drop {
			return f, true
		}
		f.wh, f.strand = "what date", "for"
		return f, moves[a.Lemma] || set[a.Lemma]
	default:
		return f, false
	}
	if p.Lead != "" {
		return f, false
	}
	return f, true
}

// isBe reports whether the statement is a passive or a plain "is".
func (a *clauseAsker) isBe() bool {
	return len(a.Aux) == 1 && (a.Aux[0] == "is" || a.Aux[0] == "are" || a.Aux[0] == "was" || a.Aux[0] == "were")
}

// movesInTime are verbs that a bare day can follow: "starts Friday".
var movesInTime = wordSet(`start begin end close leave arrive expire open return meet resume finish depart fly come go`)

func (a *clauseAsker) timeFrame(p extract.Piece, i int) (frame, bool) {
	f := frame{wh: "what time", kind: extract.Time}
	if strings.Contains(p.Text, " to ") || strings.Contains(p.Text, "-") || strings.Contains(p.Text, " until ") {
		f.wh = "during what hours"
		return f, p.Prep == "from" || p.Prep == "between" || p.Prep == ""
	}
	f.drop = a.isBe() && set[a.Lemma] && (i == 0 || a.Pieces[0].Fact != nil)
	switch p.Prep {
	case "at", "around", "about", "for", "":
		if p.Prep == "for" && !f.drop {
			f.strand = "for"
		}
		if p.Prep == "at" && moves[a.Lemma] && i > 0 && a.Pieces[i-1].Prep == "to" {
			f.strand = "to" // "moved to Friday at 9 am"
		}
		return f, p.Prep != "" || i > 0 || a.Verb == ""
	case "by", "before", "no later than":
		f.wh, f.kind = "by what time", extract.Deadline
		return f, true
	case "until", "till":
		f.wh = "until what time"
		return f, true
	case "from", "starting at", "starting":
		f.wh = "from what time"
		return f, true
	case "to":
		f.strand = "to"
		return f, moves[a.Lemma]
	}
	return f, false
}

// leadNoun is the noun of "a deposit of", without its article.
func leadNoun(lead string) string {
	_, noun, ok := strings.Cut(lead, " ")
	if !ok {
		return lead
	}
	return noun
}

func (a *clauseAsker) amountFrame(p extract.Piece, be, object bool) (frame, bool) {
	switch {
	case p.Lead != "" && strings.HasPrefix(p.Lead, "a") && p.Prep == "":
		return frame{wh: "what " + leadNoun(p.Lead)}, leadNoun(p.Lead) != "total"
	case p.Lead != "":
		return frame{wh: "what " + leadNoun(p.Lead), strand: p.Prep}, p.Prep == "at" || p.Prep == "for"
	case object && be:
		if moneyNoun(a.Subject) {
			return frame{wh: "what"}, true
		}
		return frame{wh: "how much"}, true
	case object, p.Prep == "" && (a.Lemma == "cost" || a.Lemma == "pay" || a.Lemma == "bill" || a.Lemma == "offer" || a.Lemma == "charge"):
		return frame{wh: "how much"}, true
	}
	switch p.Prep {
	case "for":
		return frame{wh: "how much", strand: "for"}, true
	case "at":
		return frame{wh: "at what price"}, true
	case "to", "with", "from":
		return frame{wh: "what amount", strand: p.Prep}, true
	case "by":
		return frame{wh: "by how much"}, true
	}
	return frame{}, false
}

// moneyNoun reports whether a phrase already names a sum.
func moneyNoun(s string) bool {
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		switch strings.TrimSuffix(w, "s") {
		case "price", "cost", "rent", "fee", "rate", "salary", "budget", "total", "deposit", "premium", "deductible", "limit", "balance", "charge", "duty", "commission", "estimate", "pool", "tax", "bid", "offer", "quote", "fare", "margin", "payment", "value":
			return true
		}
	}
	return false
}

func (a *clauseAsker) percentFrame(p extract.Piece, be, object bool) (frame, bool) {
	switch {
	case p.Lead != "" && p.Prep == "":
		return frame{wh: "what " + leadNoun(p.Lead)}, true
	case p.Lead != "":
		return frame{}, false
	case object && be:
		return frame{wh: "what"}, shareNoun(a.Subject)
	case object && rises[a.Lemma]:
		return frame{wh: "by how much"}, true
	case object:
		return frame{wh: "what percentage"}, true
	case p.Prep == "by":
		return frame{wh: "by how much"}, true
	case p.Prep == "to" || p.Prep == "at":
		return frame{wh: p.Prep + " what percentage"}, true
	}
	return frame{}, false
}

// rises are verbs that a bare percentage measures: "rose 4%".
var rises = wordSet(`go rise fall drop increase grow gain lose climb slip improve`)

// shareNoun reports whether a phrase names something that has a percentage.
func shareNoun(s string) bool {
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		switch w {
		case "rate", "share", "discount", "margin", "target", "interest", "increase", "pool", "commission", "penalty", "raise", "yield", "efficiency", "downtime", "utilization", "rebate", "markup", "growth":
			return true
		}
	}
	return false
}

func quantityFrame(p extract.Piece) (frame, bool) {
	_, noun, ok := strings.Cut(p.Text, " ")
	if !ok || p.Lead != "" {
		return frame{}, false
	}
	switch p.Prep {
	case "":
		return frame{wh: "how many " + noun}, true
	case "for", "to":
		return frame{wh: p.Prep + " how many " + noun}, true
	}
	return frame{}, false
}

// unit is the unit of a duration: "weeks" of "three weeks", "2 week".
func unit(text string) string {
	u := text[strings.LastIndexAny(text, " -")+1:]
	if !strings.HasSuffix(u, "s") {
		u += "s"
	}
	return u
}

func (a *clauseAsker) durationFrame(p extract.Piece, i int) (frame, bool) {
	if p.Lead != "" {
		return frame{}, false
	}
	switch {
	case p.Prep == "for":
		return frame{wh: "for how long"}, true
	case p.Prep == "within" || p.Prep == "after":
		return frame{wh: p.Prep + " how many " + unit(p.Text)}, true
	case p.Prep == "" && (a.Lemma == "take" || a.Lemma == "last" || a.Lemma == "run"):
		return frame{wh: "how long"}, true
	case p.Prep == "" && i+1 < len(a.Pieces) && strings.HasPrefix(a.Pieces[i+1].Text, "notice"):
		return frame{wh: "how much notice"}, true
	case p.Prep == "" && a.Verb == "" && i == 0:
		return frame{wh: "how long"}, true
	}
	return frame{}, false
}

func (a *clauseAsker) partyFrame(p extract.Piece, i int, be bool) (frame, bool) {
	who := "who"
	if p.Fact.Kind == extract.Org {
		who = "which company"
	}
	kind := p.Fact.Kind
	if chooses[a.Lemma] && (a.Lemma != "go" || p.Prep == "with") {
		kind = extract.Decision
	}
	if p.Lead != "" {
		return frame{}, false
	}
	switch p.Prep {
	case "by":
		if a.isBe() && strings.HasSuffix(a.Verb, "ed") && (a.Tense == "past") {
			return frame{wh: who, active: a.Verb, kind: kind}, true
		}
		return frame{wh: who, strand: "by", kind: kind}, a.isBe()
	case "with", "from", "to", "for", "under":
		return frame{wh: who, strand: p.Prep, kind: kind}, !(p.Prep == "for" && be)
	case "":
		next := ""
		if i+1 < len(a.Pieces) {
			next = a.Pieces[i+1].Text
		}
		return frame{wh: who, kind: kind}, i == 0 && !strings.HasPrefix(next, "'s") && (be || objectPeople[a.Lemma] || chooses[a.Lemma])
	}
	return frame{}, false
}

// chooses are verbs of decisions.
var chooses = wordSet(`decide choose pick select name appoint elect nominate award go`)

// objectPeople are verbs whose object may be asked for by "who".
var objectPeople = wordSet(`hire promote meet invite call contact reach recommend interview visit email see mentor replace name assign`)

func (a *clauseAsker) placeFrame(p extract.Piece, be bool) (frame, bool) {
	noun := placeNoun(p)
	switch p.Prep {
	case "in", "at", "on", "inside", "near":
		switch {
		case p.Fact.Kind == extract.Room && be:
			return frame{wh: "which room", strand: "in"}, p.Prep == "in"
		case p.Fact.Kind == extract.Room && moves[a.Lemma] && !set[a.Lemma]:
			return frame{}, false
		case p.Fact.Kind == extract.Room:
			return frame{wh: "in which room", drop: set[a.Lemma] && a.isBe()}, p.Prep == "in"
		case p.Fact.Kind == extract.Address && be:
			return frame{wh: "what is the address of", drop: true}, false
		case p.Fact.Kind == extract.Address:
			return frame{wh: "at what address"}, true
		}
		return frame{wh: "where"}, true
	case "to", "from":
		if p.Fact.Kind == extract.Address {
			return frame{wh: "what address", strand: p.Prep}, true
		}
		return frame{wh: "where", strand: p.Prep}, true
	case "":
		if be && p.Lead == "" {
			return frame{wh: "what"}, noun != "place"
		}
		return frame{wh: "which " + noun}, noun != "place" && noun != "city"
	}
	return frame{}, false
}

// placeNoun is the common noun for a place, by its last words.
func placeNoun(p extract.Piece) string {
	if p.Fact.Kind == extract.Address {
		return "address"
	}
	words := strings.Fields(p.Text)
	for _, word := range slices.Backward(words) {
		switch w := strings.ToLower(word); w {
		case "hotel", "inn", "lodge", "resort":
			return "hotel"
		case "grill", "cafe", "café", "restaurant", "bistro", "diner", "house", "kitchen", "tavern", "steakhouse":
			return "restaurant"
		case "room", "dock", "gate", "bay", "terminal", "platform", "pier", "garage", "hall", "park", "airport":
			return w
		}
	}
	if p.Fact.Kind == extract.Room {
		return "room"
	}
	return "place"
}

// nameFrame asks for codes, numbers, links and flights.
func (a *clauseAsker) nameFrame(p extract.Piece, be bool) (frame, bool) {
	strand := p.Prep
	switch p.Fact.Kind {
	case extract.Flight:
		return frame{wh: "which flight", strand: strand}, true
	case extract.Phone:
		switch {
		case be && p.Prep == "":
			return frame{wh: "what"}, true
		case p.Prep == "at" || p.Prep == "on":
			return frame{wh: "what number", strand: "at"}, true
		}
		return frame{}, false
	case extract.Link:
		if be && p.Prep == "at" {
			return frame{wh: "what web address", strand: "at"}, true
		}
		return frame{wh: "at what web address"}, p.Prep == "at" || p.Prep == "on"
	case extract.Email:
		if be && p.Prep == "" {
			return frame{wh: "what"}, true
		}
		return frame{wh: "what e-mail address", strand: strand}, strand == "to" || strand == "at"
	case extract.Code:
		return a.codeFrame(p, be)
	}
	return frame{}, false
}

func (a *clauseAsker) codeFrame(p extract.Piece, be bool) (frame, bool) {
	switch {
	case be && p.Prep == "" && p.Lead == "":
		return frame{wh: "what"}, true
	case p.Lead != "":
		noun := p.Lead
		if first, rest, ok := strings.Cut(p.Lead, " "); ok && alwaysLower[strings.ToLower(first)] {
			noun = rest
		}
		return frame{wh: "which " + noun, strand: p.Prep}, true
	case p.Prep == "to" && moves[a.Lemma]:
		return frame{wh: "what", strand: "to"}, true
	}
	return frame{}, false
}

// askChoice asks for the plain object of a decision: "We picked brass for the
// housing".
func (a *clauseAsker) askChoice() (wording, bool) {
	if len(a.Pieces) < 2 || a.Pieces[0].Fact != nil || !(a.Lemma == "choose" || a.Lemma == "pick" || a.Lemma == "select") {
		return wording{}, false
	}
	p := a.Pieces[0]
	if first, _, _ := strings.Cut(strings.ToLower(p.Text), " "); tails[first] || first == "up" || first == "out" || first == "off" || first == "me" || first == "us" {
		return wording{}, false
	}
	rest, ok := a.around(0, "")
	w := wording{kind: extract.Decision, wh: "what", aux: a.aux, subject: a.sub.text, rest: a.verb + " " + rest, plain: a.plain + " " + rest}
	w.answer = extract.Span{Kind: extract.Decision, Start: p.Start, End: p.End}
	return w, ok && len(strings.Fields(p.Text)) <= 5
}

// askReason asks why, where the statement goes on with "because".
func (a *clauseAsker) askReason() (wording, bool) {
	if a.Because == (extract.Range{}) || a.Imperative {
		return wording{}, false
	}
	for _, p := range a.Pieces {
		if p.Fact != nil && p.Fact.Kind == extract.Time && !moves[a.Lemma] {
			return wording{}, false // why it leaves at nine is not why it leaves
		}
	}
	rest, ok := a.around(len(a.Pieces), "")
	w := wording{kind: extract.Reason, wh: "why", aux: a.aux, subject: a.sub.text, rest: a.verb + " " + rest, plain: a.plain + " " + rest}
	w.answer = extract.Span{Kind: extract.Reason, Start: a.Because.Start, End: a.Because.End}
	return w, ok
}
