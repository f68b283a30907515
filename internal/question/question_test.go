package question

import "testing"

func TestIsUnknown(t *testing.T) {
	for answer, want := range map[string]bool{
		"I don't know":             true,
		" i don’t know. ":          true,
		"I don't know the room":    false,
		"I don't know, but Monday": false,
		"":                         false,
	} {
		if got := IsUnknown(answer); got != want {
			t.Errorf("IsUnknown(%q) = %v, want %v", answer, got, want)
		}
	}
}
