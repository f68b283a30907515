package mail

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeWords(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "plain = ? text", "plain = ? text"},
		{"Q", "=?iso-8859-1?q?caf=E9_au_lait?= now", "café au lait now"},
		{"B", "=?UTF-8?B?w6k=?=", "é"},
		{"two words belong together", "=?utf-8?q?a?= \t =?utf-8?q?b?=", "ab"},
		{"two charsets too", "=?utf-8?q?a=C3=A9?= =?iso-8859-1?q?b=E9?=", "aébé"},
		{"text between words stays", "=?utf-8?q?a?= and =?utf-8?q?b?=", "a and b"},
		{"a character split over two words", "=?utf-8?B?w6Q=?= =?utf-8?B?ww==?= =?utf-8?B?qQ==?=", "äé"},
		{"touching words and text", "Re:=?utf-8?q?=C3=A9?=x=?utf-8?q?y?=", "Re:éxy"},
		{"blanks within", "=?utf-8?q?two words?=", "two words"},
		{"in quotes", `"=?utf-8?q?K=C3=A5re?=" <k@x>`, `"Kåre" <k@x>`},
		{"no end", "=?utf-8?q?caf=C3=A9 and more", "café and more"},
		{"no padding", "=?utf-8?B?w6kg?= =?utf-8?B?w6k?=", "é é"},
		{"with a language", "=?iso-8859-1*en?q?caf=E9?=", "café"},
		{"an unknown charset", "=?x-unheard?q?caf=E9?=", "café"},
		{"begins with an escape", "=?utf-8?Q?=C3=85pnet?=", "Åpnet"},
		{"no word", "=?no word?= =?utf-8?x?y?=", "=?no word?= =?utf-8?x?y?="},
		{"Japanese", "=?ISO-2022-JP?B?GyRCJDMkcyRLJEEkTxsoQg==?=", "こんにちは"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := decodeWords(tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		" a \t b ":              "a b",
		"\x1b[31mred\x1b[0m":    "[31mred [0m",
		"bell\a\x7f\u0085":      "bell",
		"gpj.\u202eexe.invoice": "gpj. exe.invoice",
		"café\u00a0au":          "café au",
	} {
		if got := shown(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestParseMedia(t *testing.T) {
	for _, tt := range []struct {
		name, in, kind, file string
		odd                  bool
	}{
		{"plain", "application/pdf; name=a.pdf", "application/pdf", "a.pdf", false},
		{"quoted, with a semicolon", `Application/PDF; charset=x; NAME="a; b.pdf"`, "application/pdf", "a; b.pdf", false},
		{"blanks without quotes", "text/plain; name=my notes.txt", "text/plain", "my notes.txt", false},
		{"a path of Windows", `text/plain; name="C:\tmp\a.txt"`, "text/plain", `C:\tmp\a.txt`, false},
		{"an escaped quote", `text/plain; name="5\" disk"`, "text/plain", `5" disk`, false},
		{"a quote that never closes", `text/plain; name="a.txt; x=y`, "text/plain", "a.txt", false},
		{"charset and language", "a/b; name*=iso-8859-1'fr'caf%E9.txt", "a/b", "café.txt", false},
		{"in pieces", `a/b; name*0="long "; name*1="name"; name*2=.txt`, "a/b", "long name.txt", false},
		{"in pieces, the first with a charset", `a/b; name*1*=%E9; name*2=".txt"; name*0*=windows-1252''caf`, "a/b", "café.txt", false},
		{"the extended form counts", `a/b; name=cafe.txt; name*=utf-8''caf%C3%A9.txt`, "a/b", "café.txt", false},
		{"an encoded word", `a/b; name="=?utf-8?q?caf=C3=A9?=.txt"`, "a/b", "café.txt", false},
		{"a parameter that is none", "a/b; foo; name=x", "a/b", "x", true},
		{"a broken escape", "a/b; name*=utf-8''100%.txt", "a/b", "100%.txt", false},
		{"nothing", "", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, odd := parseMedia(tt.in)
			if got := m.name("name"); m.kind != tt.kind || got != tt.file || odd != tt.odd {
				t.Errorf("kind %q, name %q, odd %v, want %q, %q, %v", m.kind, got, odd, tt.kind, tt.file, tt.odd)
			}
		})
	}
}

// FuzzDecodeWords checks that what is decoded is UTF-8, and that text without a
// word stays as it is.
func FuzzDecodeWords(f *testing.F) {
	for _, seed := range []string{"=?utf-8?q?a?= =?utf-8?B?w6k=?=", "=?", "=?x?b?=?=", "a/b; name*0*=x''%41; name*1=b", `a/b; name="\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		got := decodeWords(s)
		if !utf8.ValidString(got) || !strings.Contains(s, "=?") && got != s {
			t.Fatalf("%q became %q", s, got)
		}
		m, _ := parseMedia(s)
		if name := shown(m.name("name")); !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
			t.Fatalf("%q names %q", s, name)
		}
	})
}
