package keyword

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContent(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"question words and stop words go", "When is the Larkspur kickoff?", []string{"Larkspur", "kickoff"}},
		{"each word once, in any letter case", "Budget for the budget of Dana", []string{"Budget", "Dana"}},
		{"possessive", "What is Dana's number? What’s Orvane’s?", []string{"Dana", "number", "Orvane"}},
		{"held together", "the 10:30 call on 3/14 about AT&T and R-2's price of $4.50", []string{"10:30", "call", "3/14", "AT&T", "R-2", "price", "4.50"}},
		{"single letters go, single digits stay", "plan B in room 4", []string{"plan", "room", "4"}},
		{"other scripts", "Où est l'hôtel Zoë", []string{"Où", "est", "l'hôtel", "Zoë"}},
		{"nothing", "what is it?", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Content(tt.in)); diff != "" {
				t.Errorf("Content(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}
