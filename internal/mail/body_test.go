package mail

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeQuotedPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":          "plain",
		"caf=C3=A9":      "café",
		"lower =c3=a9":   "lower é",
		"soft=\nbreak":   "softbreak",
		"soft= \r\nCRLF": "softCRLF",
		"at the end=":    "at the end",
		"1+1=2, x=ZZ":    "1+1=2, x=ZZ",
		"raw \xe9":       "raw \xe9",
	} {
		if got := string(decodeQuotedPrintable([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDecodeBase64(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		damaged        bool
	}{
		{"whole", "SGVsbG8gQm8=\n", "Hello Bo", false},
		{"lines", "SGVs\r\nbG8g\r\nQm8=", "Hello Bo", false},
		{"no padding", "SGVsbG8gQm8", "Hello Bo", true},
		{"blanks within", "SGVsbG8gQm8gYW5kIGV2ZXJ5 Ym9keSBlbHNl", "Hello Bo and everybody else", true},
		{"a footer behind", "SGVsbG8gQm8=\n-- \nlist footer added after the data\n", "Hello Bo", true},
		{"one letter too many", "SGVsbG8gQ", "Hello ", true},
		{"empty", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, damaged := decodeBase64([]byte(tt.in))
			if string(got) != tt.want || damaged != tt.damaged {
				t.Errorf("%q, damaged %v, want %q, %v", got, damaged, tt.want, tt.damaged)
			}
		})
	}
}

func TestRepairResidue(t *testing.T) {
	in := "The contract is attached.=20\nPlease send com=\nments by Friday.=20\n1+1=3D2, but x=20y stays.\nprice=2E\n"
	want := "The contract is attached.\nPlease send comments by Friday.\n1+1=2, but x=20y stays.\nprice.\n"
	got, found := repairResidue([]byte(in))
	if diff := cmp.Diff(want, string(got)); diff != "" || !found {
		t.Error(found, diff)
	}
	plain := "a formula: x=3D, a soft break=\nis none without a line that ends in =20 before it\n"
	if got, found := repairResidue([]byte(plain)); found || string(got) != plain {
		t.Errorf("a text without residue became %q", got)
	}
}

func TestDecodeCharset(t *testing.T) {
	for _, tt := range []struct {
		name, in, label, want string
		known                 bool
	}{
		{"ASCII that is UTF-8", "caf\xc3\xa9", "us-ascii", "café", true},
		{"ASCII that is windows-1252", "it\x92s", "us-ascii", "it’s", true},
		{"one bad byte in UTF-8", "caf\xc3\xa9 \x92", "utf-8", "café ’", true},
		{"Latin-1 is windows-1252", "\x93x\x94", "iso-8859-1", "“x”", true},
		{"Cyrillic", "\xd0\xd2\xc9", "KOI8-R", "при", true},
		{"Japanese", "\x1b$B$3\x1b(B", "iso-2022-jp", "こ", true},
		{"language suffix", "caf\xe9", "iso-8859-1*en", "café", true},
		{"unknown label", "caf\xe9", "x-unheard", "café", false},
		{"no label", "x", "", "x", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, known := decodeCharset([]byte(tt.in), tt.label)
			if got != tt.want || known != tt.known {
				t.Errorf("%q, known %v, want %q, %v", got, known, tt.want, tt.known)
			}
		})
	}
}

func TestHTMLText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"paragraphs", "<p>one</p><p>two<br>three</p>", "one\n\ntwo\nthree\n"},
		{"blanks fold", "<div> a \n b&nbsp;c </div>", "a b c\n"},
		{"table", "<table><tr><th>Jan</th><th>Feb</th></tr><tr><td>10</td><td>12</td></tr></table>", "Jan\tFeb\n10\t12\n"},
		{"list", "<ul><li>one</li><li>two</li></ul>end", "- one\n- two\n\nend\n"},
		{"nothing of scripts, styles, comments", "<style>p{}</style><!--[if mso]>x<![endif]--><script>y</script><p>text</p>", "text\n"},
		{"entities", "&lt;b&gt; &eacute; &#8217;", "<b> é ’\n"},
		{"preformatted", "<pre>a  b\n c</pre>", "a  b\n c\n"},
		{"unclosed", "<p>one<p>two <b>bold", "one\n\ntwo bold\n"},
		{"inline tags keep words together", "<b>Mar</b>ch 4", "March 4\n"},
		{"empty", "<html><body></body></html>", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, htmlText(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQuotedSpans(t *testing.T) {
	for _, tt := range []struct{ name, own, quoted string }{
		{"Outlook", "Fine with me.\n\n", " -----Original Message-----\nFrom: Kim, Bo\nSent: Monday\nTo: Reed, Ana\nSubject: curve\n\nold\n"},
		{"forward", "FYI\n", "---------------------- Forwarded by Ana Reed on 11/03/2000 \n01:40 PM ---------------------------\n\nBo Kim\n11/03/2000 08:36 AM\nTo: Ana Reed\ncc:\nSubject: x\n\nold\n"},
		{"Notes, name above the date", "Yes.\n\n\n", "Bo Kim\n01/12/2000 03:30 PM\n\n\nTo: Ana Reed/HOU/X@X, Cy\nLow/HOU/X@X\ncc:\nSubject: Re: curve\n\nold\n"},
		{"Notes, date wrapped", "Yes.\n\n", "\"Bo Kim, the trader\" <bo@example.com> on 05/11/2001 \n12:55:08 PM\nTo: ana@example.com\ncc:\nSubject: RE: x\n\nold\n"},
		{"reply of today", "Yes.\n\n", "On Mon, 5 Mar 2001 at 10:00, Bo Kim <bo@example.com> wrote:\n\n> old\n> older\n"},
		{"header block without a line above", "Yes.\n", "From: Bo Kim\nSent: Monday\nTo: Ana Reed\nSubject: x\n\nold\n"},
		{"signature", "Yes.\n", "-- \nAna Reed\n"},
		{"no marker", "From memory the curve was 4.10.\nOn Monday he wrote:\nTo: be, or not\n---\nSubject: none\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []Span
			if tt.quoted != "" {
				want = []Span{{len(tt.own), len(tt.own) + len(tt.quoted)}}
			}
			if diff := cmp.Diff(want, quotedSpans(tt.own+tt.quoted)); diff != "" {
				t.Error(diff)
			}
		})
	}
	body := "> old\n> older\nmy answer\n> more\n"
	if diff := cmp.Diff([]Span{{0, 14}, {24, 31}}, quotedSpans(body)); diff != "" {
		t.Error(diff)
	}
}

func TestSplitParts(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []string
		closed     bool
	}{
		{"two", "preamble\n--b\nA: 1\n\none\n--b\n\ntwo\n--b--\nepilogue", []string{"A: 1\n\none", "\ntwo"}, true},
		{"CRLF", "--b\r\n\r\none\r\n--b--\r\n", []string{"\r\none"}, true},
		{"never closed", "--b\n\none\n--b\n\ntwo\n", []string{"\none", "\ntwo\n"}, false},
		{"another boundary that begins like it", "--b\n\none\n--bc\nstill\n--b--", []string{"\none\n--bc\nstill"}, true},
		{"blanks behind it", "--b \n\none\n--b-- \n", []string{"\none"}, true},
		{"none", "text", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parts, closed := splitParts([]byte(tt.body), "b")
			var got []string
			for _, p := range parts {
				got = append(got, string(p))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || closed != tt.closed {
				t.Error(closed, diff)
			}
		})
	}
}

func TestTooDeepNesting(t *testing.T) {
	var raw strings.Builder
	raw.WriteString("From: a@x\nContent-Type: multipart/mixed; boundary=b0\n\n")
	for i := range 150 {
		raw.WriteString("--b" + strings.Repeat("x", i) + "\nContent-Type: multipart/mixed; boundary=b" + strings.Repeat("x", i+1) + "\n\n")
	}
	m, err := Parse([]byte(strings.ReplaceAll(raw.String(), "b0", "b")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.Warnings, " "); !strings.Contains(got, WarnTooDeep) {
		t.Errorf("warnings %s", got)
	}
}
