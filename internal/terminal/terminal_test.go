package terminal

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"Grüße, 日本 😀\n\tyes":        "Grüße, 日本 😀\n\tyes",
		"\x1b[31mred\x1b]0;title\a": `\x1b[31mred\x1b]0;title\x07`,
		"8-bit CSI \u009b2J":        `8-bit CSI \u009b2J`,
		"over\rwritten\x08\x7f":     `over\x0dwritten\x08\x7f`,
		"no UTF-8 \x9b\xff":         `no UTF-8 \x9b\xff`,
		"gpj.\u202eexe":             `gpj.\u202eexe`,
		"\ufffd":                    "\ufffd",
		"":                          "",
	} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzSafe: nothing that a terminal obeys is left, and JSON means the same.
func FuzzSafe(f *testing.F) {
	f.Add("\x1b[2J\u009b\x80\u202e\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Safe(s) {
			if obeyed(r) {
				t.Fatalf("%q is left of %q", r, s)
			}
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var a, b string
		if err := json.Unmarshal([]byte(JSON(string(text))), &a); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if json.Unmarshal(text, &b) != nil || a != b || !utf8.ValidString(a) {
			t.Fatalf("JSON of %q means %q", s, a)
		}
	})
}
