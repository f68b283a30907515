package match

import (
	"slices"
	"strings"
	"testing"
)

func TestUnsupported(t *testing.T) {
	const mail = "From: Dennis Pearson\nThe pump costs $1,200 and ships on 3/14 with Brightwater Systems, flight EB3270. Call 713-555-0134 before noon."
	for _, tt := range []struct {
		answer string
		want   []string
	}{
		{"$1.2K", nil},
		{"March 14", nil},
		{"twelve hundred dollars, on the 14th of March", nil},
		{"Pearson, at Brightwater", nil},
		{"before 12 pm", nil},
		{"x0134", nil},
		{"The pump is to be shipped.", nil},
		{"I'd call it, they're here", nil},
		{"Larkfield needs it", nil}, // of the question
		{"$1,300", []string{"$1,300"}},
		{"March 15", []string{"March 15"}},
		{"Deborah Pearson", []string{"Deborah"}},
		{"Haskell Controls, $900", []string{"Haskell", "$900"}},
		{"EB3271", []string{"EB3271"}},
		{"Haskell or Haskell", []string{"Haskell"}},
	} {
		if got := Unsupported("What does Larkfield need?", tt.answer, []string{"nothing here", mail}); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.answer, got, tt.want)
		}
	}
	if got := Unsupported("When?", "March 14", nil); len(got) != 1 {
		t.Errorf("without sources: %q, want one claim", got)
	}
	long := strings.Repeat("so it goes and goes ", 2000) + mail
	if got := Unsupported("When?", "March 14", []string{long}); got != nil {
		t.Errorf("at the end of a long mail: %q", got)
	}
}
