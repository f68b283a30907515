package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline renders a clause: subject / verb group / pieces.
func outline(c Clause) string {
	verb := strings.TrimSpace(strings.Join(c.Aux, " ") + " " + c.Verb)
	if c.Imperative {
		verb += "!"
	}
	var pieces []string
	for _, p := range c.Pieces {
		text := strings.TrimSpace(p.Prep + " " + p.Lead)
		if p.Of {
			text += " of"
		}
		text = strings.TrimSpace(text + " " + p.Text)
		if p.Fact != nil {
			text = string(p.Fact.Kind) + ":" + text
		}
		pieces = append(pieces, text)
	}
	return fmt.Sprintf("%s / %s / %s", c.Subject, verb, strings.Join(pieces, " | "))
}

func TestClauses(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{
			"lead-in, passive, three facts", "Just a reminder that the Larkspur kickoff has been moved to Thursday, March 14 at 2:30 pm in room 1204.",
			[]string{"the Larkspur kickoff / has been moved / date:to Thursday, March 14 | time:at 2:30 pm | room:in room 1204"},
		},
		{
			"contraction", "We'll need the signed copies by noon on Friday, May 4.",
			[]string{"We / will need / the signed copies | deadline:by noon | deadline:on Friday, May 4"},
		},
		{
			"plain verb, counted object", "Orvane shipped 14 pallets to the Tulsa yard on March 3, and they were late.",
			[]string{"Orvane / shipped / quantity:14 pallets | to the Tulsa yard | date:on March 3"},
		},
		{
			"order", "Please send the originals to 1420 Alder Street before Friday.",
			[]string{" / send! / the originals | address:to 1420 Alder Street | deadline:before Friday"},
		},
		{
			"what an amount is of", "The landlord wants a deposit of $400 for the hall.",
			[]string{"The landlord / wants / amount:a deposit of $400 | for the hall"},
		},
		{
			"name before a code", "Use code 4471 to open the gate.",
			[]string{" / Use! / code:code 4471 | to open the gate"},
		},
		{
			"noun that could be a verb", "The lease costs are $400 a month.",
			[]string{"The lease costs / are / amount:$400 a month"},
		},
		{
			"verb that could be a noun", "The vendor needs 14 pallets by Friday.",
			[]string{"The vendor / needs / quantity:14 pallets | deadline:by Friday"},
		},
		{
			"two statements", "Dana is sick, so dinner is now on May 4.",
			[]string{"Dana / is / sick", "dinner / is / date:on May 4"},
		},
		{
			"adverb between subject and verb", "Redwing Brewing still owes us $4,000.",
			[]string{"Redwing Brewing / owes / us | amount:$4,000"},
		},
		{
			"city that describes a noun", "The Tulsa yard uses 40 drums.",
			[]string{"The Tulsa yard / uses / quantity:40 drums"},
		},
		{"question", "Can we meet on Friday?", nil},
		{"negation", "The yard did not ship 14 pallets.", nil},
		{"pronoun without its noun", "It will be shipped on Friday.", nil},
		{"two speakers", "The form you used is from May 4.", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			facts := Spans(tt.text)
			for _, s := range Sentences(tt.text) {
				for _, c := range Clauses(tt.text, s, facts) {
					got = append(got, outline(c))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Clauses(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestReason(t *testing.T) {
	text := "The launch slipped, mostly because the permit was late."
	c := Clauses(text, Range{0, len(text)}, Spans(text))
	if len(c) != 1 {
		t.Fatalf("%d clauses, want 1", len(c))
	}
	if got := text[c[0].Because.Start:c[0].Because.End]; got != "the permit was late" {
		t.Errorf("reason %q, want %q", got, "the permit was late")
	}
}

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"abbreviations do not end", "Mr. Holt met Dr. Sands at 9 a.m. sharp. He left.", []string{"Mr. Holt met Dr. Sands at 9 a.m. sharp.", "He left."}},
		{"case names do not end", "The hearing in Corvane v. Halsted is on May 4.", []string{"The hearing in Corvane v. Halsted is on May 4."}},
		{"wrapped lines belong together", "This line is long enough to have been wrapped by a mail program\nand goes on here.", []string{"This line is long enough to have been wrapped by a mail program\nand goes on here."}},
		{"short lines stand alone", "Agenda\nLunch at noon", []string{"Agenda", "Lunch at noon"}},
		{"list items stand alone", "We need:\n- 14 pallets\n2. two drums", []string{"We need:", "14 pallets", "two drums"}},
		{"a wrapped date is no list item", "They get a badge that works in the whole of the building until January\n29. More later.", []string{"They get a badge that works in the whole of the building until January\n29.", "More later."}},
		{"numbers do not end", "It rose 4.5 percent. Good.", []string{"It rose 4.5 percent.", "Good."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range Sentences(tt.text) {
				got = append(got, tt.text[r.Start:r.End])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwn(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"all of it", "See you on Friday.", "See you on Friday."},
		{"Outlook's history", "Fine.\n\n-----Original Message-----\nFrom: Dana\nold", "Fine.\n\n"},
		{"Notes' forward", "FYI\n\n---------------------- Forwarded by Dana Ruiz/CORVANE on 03/14/2001 10:12 AM -----\nold", "FYI\n\n"},
		{"marks of quotes", "Yes.\n> old\nNo.", "Yes.\nNo."},
		{"a line that announces quotes", "Yes.\n\nOn Mon, 5 Mar 2001, Dana Ruiz wrote:\n> old", "Yes.\n\n"},
		{"signature", "Done.\n\nThanks,\nDana\n555-0142", "Done.\n\n"},
		{"thanks inside a line stay", "Thanks for the 14 pallets.", "Thanks for the 14 pallets."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			for _, r := range Own(tt.body, nil) {
				got.WriteString(tt.body[r.Start:r.End])
			}
			if got.String() != tt.want {
				t.Errorf("Own(%q) = %q, want %q", tt.body, got.String(), tt.want)
			}
		})
	}
	if got := Own("mine theirs", []Range{{0, 11}}); got != nil {
		t.Errorf("a line that begins in a quoted range is kept: %v", got)
	}
}

// FuzzClauses checks that no text makes the package panic, and that spans and
// sentences lie inside the text and do not overlap.
func FuzzClauses(f *testing.F) {
	f.Add("We'll meet on May 4 at 9 am, in room 12; bring $400 because we pay.")
	f.Add("\n> Total: 14 pallets -- of (")
	f.Add("’s é 3rd of\xff")
	f.Fuzz(func(t *testing.T, text string) {
		facts := Spans(text)
		end := 0
		for _, s := range facts {
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %v after %d in %q", s, end, text)
			}
			end = s.End
		}
		end = 0
		for _, r := range SentencesWith(text, facts) {
			if r.Start < end || r.End > len(text) {
				t.Fatalf("sentence %v after %d in %q", r, end, text)
			}
			end = r.End
			Clauses(text, r, facts)
		}
		Own(text, nil)
		KindOfQuestion(text)
	})
}
