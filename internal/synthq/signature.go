package synthq

import (
	"strings"

	"agentmill/internal/extract"
	"agentmill/internal/mailbox"
)

// signedWays are how the owner of a mailbox asks for what signatures tell. %s is
// the sender's name.
var signedWays = map[string]struct {
	kind extract.Kind
	ways []way
}{
	mailbox.SignedPhone: {extract.Phone, []way{
		{"what is %s's phone number", "what %s's phone number is"},
		{"how can I reach %s by phone", "how I can reach %s by phone"},
		{"what number do I call to reach %s", "what number I call to reach %s"},
		{"which phone number does %s have", "which phone number %s has"},
	}},
	mailbox.SignedFax: {extract.Phone, []way{
		{"what is %s's fax number", "what %s's fax number is"},
		{"to what number can I fax something to %s", "to what number I can fax something to %s"},
		{"which fax number do I use for %s", "which fax number I use for %s"},
	}},
	mailbox.SignedCell: {extract.Phone, []way{
		{"what is %s's cell phone number", "what %s's cell phone number is"},
		{"which number do I call to get %s on the cell phone", "which number I call to get %s on the cell phone"},
		{"what is the mobile number of %s", "what the mobile number of %s is"},
	}},
	mailbox.SignedTitle: {extract.Title, []way{
		{"what is %s's job title", "what %s's job title is"}, {"what position does %s hold", "what position %s holds"}, {"what is the position of %s", "what the position of %s is"},
	}},
	mailbox.SignedCompany: {extract.Org, []way{
		{"which company does %s work for", "which company %s works for"}, {"what company is %s with", "what company %s is with"}, {"who does %s work for", "who %s works for"},
	}},
	mailbox.SignedRoom: {extract.Room, []way{
		{"in which room does %s sit", "in which room %s sits"}, {"where in the building can I find %s", "where in the building I can find %s"}, {"in what room is %s's desk", "in what room %s's desk is"},
	}},
	mailbox.SignedAddress: {extract.Address, []way{
		{"what is the street address of %s's office", "what the street address of %s's office is"}, {"at what address can I visit %s", "at what address I can visit %s"},
	}},
}

// signatures are the candidates that the signatures of a mailbox bring, by mail:
// for each thing that is told of a person one, at the first mail that tells it.
// What signatures tell differently is left out, and other mails that tell the
// same are right sources too.
func (a *asker) signatures() map[string][]candidate {
	type key struct{ name, what string }
	first := map[key]*candidate{}
	values := map[key]string{}
	var order []key
	for _, d := range a.box.Docs {
		if a.mine(d.From) {
			continue
		}
		for _, s := range d.Signature() {
			k := key{strings.ToLower(s.Name), s.What}
			c := first[k]
			switch {
			case c == nil:
				first[k], values[k] = signedCandidate(d, &s), s.Value
				order = append(order, k)
			case !mailbox.SameValue(values[k], s.Value):
				values[k] = ""
			case c.doc.MessageID != d.MessageID:
				c.also = append(c.also, d.MessageID)
				if !fits(c.doc) && fits(d) {
					also := c.also
					first[k] = signedCandidate(d, &s)
					first[k].also = also
				}
			}
		}
	}
	out := map[string][]candidate{}
	for _, k := range order {
		if c := first[k]; values[k] != "" && fits(c.doc) {
			out[c.doc.MessageID] = append(out[c.doc.MessageID], *c)
		}
	}
	return out
}

// signedCandidate is the question for what a signature in d tells.
func signedCandidate(d *mailbox.Doc, s *mailbox.Signed) *candidate {
	w := signedWays[s.What]
	c := &candidate{
		doc: d, answer: s.Value, start: s.Fact.Start, sentence: s.Block, evidence: mailbox.Fold(d.Body[s.Block.Start:s.Block.End]),
		words: wording{kind: w.kind, wh: s.What + " " + s.Name, answer: s.Fact},
	}
	for _, x := range w.ways {
		c.ways = append(c.ways, x.about(s.Name))
	}
	return c
}
