package mail

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseAddresses(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []Address
	}{
		{"plain list", "Ana@Example.com, bo@example.com", []Address{{"", "ana@example.com"}, {"", "bo@example.com"}}},
		{"names", `"Reed, Ana" <ana@example.com>, Bo Kim <bo@example.com>`, []Address{{"Reed, Ana", "ana@example.com"}, {"Bo Kim", "bo@example.com"}}},
		{"name in a comment", "ana@example.com (Ana Reed)", []Address{{"Ana Reed", "ana@example.com"}}},
		{"encoded name", "=?UTF-8?Q?K=C3=A5re_Nord?= <kare@example.no>", []Address{{"Kåre Nord", "kare@example.no"}}},
		{"apostrophes round it", "'bo.kim@example.com'", []Address{{"", "bo.kim@example.com"}}},
		{"an apostrophe within", "rory.o'hara@example.com", []Address{{"", "rory.o'hara@example.com"}}},
		{"name and address run together", "kim.<bo@example.com>, e-mail <.ana@example.com>", []Address{{"kim.", "bo@example.com"}, {"e-mail", ".ana@example.com"}}},
		{"odd local part", "1.11913372.-2@example.com", []Address{{"", "1.11913372.-2@example.com"}}},
		{"one damaged element does not cost the others", "a@x, <<>>, no address, @y, z@, b@x", []Address{{"", "a@x"}, {"", "b@x"}}},
		{"semicolons", "a@x; b@x;", []Address{{"", "a@x"}, {"", "b@x"}}},
		{"group", "Traders: a@x, b@x;", []Address{{"Traders:", "a@x"}, {"", "b@x"}}},
		{"nobody", "undisclosed-recipients:;", nil},
		{"a quote that never closes", `"Reed <ana@x>, bo@x`, []Address{{"Reed", "ana@x"}, {"", "bo@x"}}},
		{"mailto", "<mailto:ana@x>", []Address{{"", "ana@x"}}},
		{"comma in a name without quotes", "Reed, Ana <ana@x>", []Address{{"Ana", "ana@x"}}},
		{"Exchange's wrapping", "IMCEANOTES-bo+2Ekim+40example+2Ecom@EXAMPLE.org", []Address{{"", "bo.kim@example.com"}}},
		{"Exchange's wrapping of no address", "imceaex-_o=x_cn=bkim@example.org", []Address{{"", "imceaex-_o=x_cn=bkim@example.org"}}},
		{"empty", " , ", nil},
		{"Notes", "Bo Kim/HOU/CORP@CORP, Ana Reed@EXAMPLE <Ana Reed@EXAMPLE>", []Address{{"Bo Kim", "bo.kim@corp"}, {"Ana Reed@EXAMPLE", "ana.reed@example"}}},
		{"a list of Notes", "All - Example Houston@EXAMPLE", []Address{{"All - Example Houston", "all.-.example.houston@example"}}},
		{"nobody, in other words", "(Recipient list suppressed)@EXAMPLE, undisclosed-recipients:;@EXAMPLE, a@x", []Address{{"", "a@x"}}},
		{"an encoded name with a comma", "=?utf-8?q?Reed=2C_Ana?= <ana@x>", []Address{{"Reed, Ana", "ana@x"}}},
		{"control characters", "a\x1b@x\u202e", []Address{{"", "a@x"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ParseAddresses(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDisplayNames(t *testing.T) {
	in := "Kim, Bo </O=X/OU=NA/CN=RECIPIENTS/CN=BKIM>, IMCEANOTES-bo+2Ekim@X.com, Lund, Eve </O=X/CN=E>, Ana Reed, Cy Low"
	want := []string{"Kim, Bo", "IMCEANOTES-bo+2Ekim@X.com", "Lund, Eve", "Ana Reed", "Cy Low"}
	if diff := cmp.Diff(want, DisplayNames(in)); diff != "" {
		t.Error(diff)
	}
}

func TestExchangeAddresses(t *testing.T) {
	in := "Kim, Bo (Houston) </O=EXAMPLE/OU=NA/CN=RECIPIENTS/CN=BKIM>, 'eve@example.org', All Traders@EXAMPLE <??SAll Traders@EXAMPLE>, Ana Reed, undisclosed-recipients:,, IMCEANOTES-bo+2Ekim+40example+2Ecom@X.com"
	want := []string{"bo.kim@example", "eve@example.org", "all.traders@example", "bo.kim@example.com"}
	if diff := cmp.Diff(want, exchangeAddresses(in)); diff != "" {
		t.Error(diff)
	}
	if id := exchangeID("Kim, Bo </O=EXAMPLE/OU=NA/CN=RECIPIENTS/CN=BKIM>"); id != "bkim" {
		t.Errorf("id %q", id)
	}
}

// FuzzParseAddresses checks that every address is one, in lower case and valid
// UTF-8, and that a plain list reads back as it was.
func FuzzParseAddresses(f *testing.F) {
	for _, seed := range []string{`"a, b" <c@d>`, "(((<@", `\"`, "imcea-+@x", "a@b;c:d@e", "=?utf-8?q?=40?=", "0 @\x04", "a b@c\x01d", "<(0/@0", "<0/@ 0", "imCeA-+40@0", "imCeA-0+40+00@0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		var plain []string
		for _, a := range ParseAddresses(s) {
			if !strings.Contains(a.Addr, "@") || a.Addr != strings.ToLower(a.Addr) || !utf8.ValidString(a.Addr+a.Name) {
				t.Fatalf("%q has the address %+q", s, a)
			}
			plain = append(plain, a.Addr)
		}
		if strings.ContainsAny(strings.Join(plain, ""), "\"'<>()[];:=\\, \t+") {
			return
		}
		var again []string
		for _, a := range ParseAddresses(strings.Join(plain, ", ")) {
			again = append(again, a.Addr)
		}
		if diff := cmp.Diff(plain, again); diff != "" {
			t.Fatalf("%q: %s", s, diff)
		}
	})
}
