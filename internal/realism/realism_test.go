package realism

import "testing"

const mail = "Larkspur schedule\nThe Larkspur kickoff will be held on March 14 at 2:30 pm in room 1204. Please bring the revised drawings for the pump house."

// TestOrder checks that questions in a person's own words come before those
// that repeat the mail, and whole ones before broken ones.
func TestOrder(t *testing.T) {
	for _, tt := range []struct{ better, worse string }{
		{"Where did Dana want to get together for the start of Larkspur?", "In which room will the Larkspur kickoff be held on March 14?"},
		{"Which papers did I need for the first Larkspur meeting?", "What should I bring the revised drawings for?"},
		{"When is the Larkspur opening?", "When will the Larkspur kickoff be held?"},
		{"What time will the Larkspur kickoff be held?", "What time will did the Larkspur kickoff be held?"},
		{"Where do we get together for the start of Larkspur?", "In the mail about Larkspur schedule, where is the kickoff?"},
	} {
		if b, w := Score(tt.better, mail), Score(tt.worse, mail); b <= w {
			t.Errorf("Score(%q) = %.2f, want more than %.2f of %q", tt.better, b, w, tt.worse)
		}
	}
}

func TestSlips(t *testing.T) {
	for q, want := range map[string]bool{
		"When is the kickoff?":                       false,
		"Who did Dana say is in the lead?":           true, // rare among people, frequent among clauses read wrong
		"What date did may be pushed to?":            true,
		"When are we in receipt of my letter dated?": true,
		"How much did we pay for the pumps?":         false,
		"What did you send to me have?":              true,
	} {
		if got := Slips(q); got != want {
			t.Errorf("Slips(%q) = %v, want %v", q, got, want)
		}
	}
}

func TestScoreIsAShare(t *testing.T) {
	for _, q := range []string{"", "?", "When?", mail} {
		if s := Score(q, mail); s < 0 || s > 1 {
			t.Errorf("Score(%q) = %v, want 0 to 1", q, s)
		}
	}
}
