package mail

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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
		{"two pieces, each with its padding", "SGVsbG8=\nIEJv\nIQ==\n", "Hello Bo!", false},
		{"the first letter is a blank line", "\n\nSGVsbG8=\n", "Hello", false},
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
		{"escaped twice stays escaped once", "&amp;lt;b&amp;gt;", "&lt;b&gt;\n"},
		{"blocks in cells", "<table><tr><td><p>Jan</p></td><td><div>10</div></td></tr><tr><td><p>Feb</p><td><p>12</table>", "Jan\t10\nFeb\t12\n"},
		{"empty cells keep columns apart", "<table><tr><th></th><th>Jan</th><th>Feb</th></tr><tr><td>gas</td><td></td><td>12</td></tr></table>", "\tJan\tFeb\ngas\t\t12\n"},
		{"empty cells for the looks", "<p>x</p><table><tr><td>&nbsp;</td><td>text</td></tr></table>", "x\n\ntext\n"},
		{"numbered list in a list", "<ul><li>one<ol start=3><li>a<li><p>b</p></ol></li><li>two</ul>", "- one\n  3. a\n  4. b\n- two\n"},
		{"link", `see <a href="https://example.com/a?b=1&amp;c=2">the report</a>.`, "see the report (https://example.com/a?b=1&c=2).\n"},
		{"link that says itself", `<a href="http://www.example.com/">example.com</a> <a href="mailto:bo@x.com?subject=y">bo@x.com</a> <a href="mailto:bo@x.com">Bo</a>`, "example.com bo@x.com Bo (bo@x.com)\n"},
		{"links to nowhere", `<a href="#top">up</a> <a href="javascript:x()">run</a> <a name=x>here</a> <a href="http://x/"><img src=y></a>`, "up run here\n"},
		{"picture", `<img src="x" alt="our logo"> text`, "[our logo] text\n"},
		{"quotation", "<p>Yes.<blockquote><p>one<p>two<blockquote>three</blockquote></blockquote>end", "Yes.\n\n> one\n>\n> two\n>\n>> three\n\nend\n"},
		{"hidden", `<div style="display: none">preheader <div>x</div> y</div><p hidden>z</p>text`, "text\n"},
		{"soft hyphens", "in\u00adfor\u200bmed", "informed\n"},
		{"a style that never closes", "<style>p{}<p>text", "p{}\n\ntext\n"},
		{"inside noscript", "<noscript><p>x</p></noscript>text", "text\n"},
		{"the end of a tag is missing", "text <b", "text\n"},
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
		{"signature without a mark", "Yes.\n\nRegards,\n\n", "Ana M. Reed\nTrading, Example Corp.\n(555) 555-0188\n\n"},
		{"signature above history", "Yes.\n", "Ana Reed\nareed@example.com\n\n -----Original Message-----\nFrom: Kim, Bo\nSent: Monday\nTo: Reed, Ana\nSubject: curve\n\nold\n"},
		{"a name alone ends a text", "Call me at 555-0188.\n\nAna Reed\n", ""},
		{"somebody else's name", "Call\n\nBo Kim\n555-0188\n", ""},
		{"a mark in the middle of a text", "one\n-- \ntwo\n" + strings.Repeat("more\n", 30), ""},
		{"German", "Ja.\n", "Am Montag, 5. März 2001 schrieb Bo Kim <bo@example.com>:\n> alt\n"},
		{"no marker", "From memory the curve was 4.10.\nOn Monday he wrote:\nTo: be, or not\n---\nSubject: none\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []Span
			if tt.quoted != "" {
				want = []Span{{len(tt.own), len(tt.own) + len(tt.quoted)}}
			}
			if diff := cmp.Diff(want, quotedSpans(tt.own+tt.quoted, "ana reed")); diff != "" {
				t.Error(diff)
			}
		})
	}
	body := "> old\n> older\nmy answer\n> more\n"
	if diff := cmp.Diff([]Span{{0, 14}, {24, 31}}, quotedSpans(body, "")); diff != "" {
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
			parts, closed := splitParts([]byte(tt.body), "b", 100)
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

func TestUnlabelledBase64(t *testing.T) {
	line := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some text, ", 15)))
	text := line[:60] + "\n" + line[60:120] + "\n" + line[120:180] + "\n" + line[180:] + "\n"
	if got, ok := unlabelledBase64([]byte(text)); !ok || !strings.HasPrefix(string(got), "some text, some text") {
		t.Errorf("%q, %v", got, ok)
	}
	for _, plain := range []string{"SGVsbG8=\n", strings.Repeat("word\n", 10), strings.Repeat("a line of common text without any dots here\n", 4)} {
		if got, ok := unlabelledBase64([]byte(plain)); ok {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

func TestCutUU(t *testing.T) {
	for _, tt := range []struct {
		name, in, file, data, rest string
		ok                         bool
	}{
		{"whole", "begin 644 a b.txt\n#0V%T\n`\nend\nmore\n", "a b.txt", "Cat", "more\n", true},
		{"CRLF, blanks lost", "begin 0755 x\r\n%0V%T\r\nend\r\n", "x", "Cat\x00\x00", "", true},
		{"cut off", "begin 644 x\n#0V%T\n", "x", "Cat", "", true},
		{"prose", "begin 100 years ago\nit was\n", "", "", "", false},
		{"no mode", "begin the day\nend\n", "", "", "", false},
		{"nothing in it", "begin 644 x\nend\n", "x", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name, data, rest, ok := cutUU(tt.in)
			if ok != tt.ok || ok && (name != tt.file || string(data) != tt.data || rest != tt.rest) {
				t.Errorf("%q, %q, %q, %v", name, data, rest, ok)
			}
		})
	}
}

// TestBombs reads small messages that would be large or slow.
func TestBombs(t *testing.T) {
	many := "From: a@x\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", maxParts+5) + "--b--\n"
	alternatives := "From: a@x\nContent-Type: multipart/alternative; boundary=b\n\n" + strings.Repeat("--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\nx\n--c\n\ny\n", maxParts) + "--b--\n"
	large := "From: a@x\nSubject: s\n\n" + strings.Repeat("0123456789\n", 1000)
	for _, tt := range []struct {
		name, raw, warning string
		opt                Options
	}{
		{"many parts", many, WarnTooMuch, Options{}},
		{"many parts in parts", alternatives, WarnTooMuch, Options{}},
		{"too large", large, WarnTruncated, Options{MaxBytes: 1000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Parse([]byte(tt.raw), tt.opt)
			if err != nil || !slices.Contains(m.Warnings, tt.warning) || len(m.Body) > len(tt.raw) || m.Body == "" {
				t.Errorf("%v, warnings %v, %d bytes of text", err, m.Warnings, len(m.Body))
			}
		})
	}
}

// FuzzHTMLText checks that any page becomes UTF-8 without the marks of HTML, of
// a size that its own bounds.
func FuzzHTMLText(f *testing.F) {
	f.Add("<table><tr><th><td>x<ol start=9><li><p>y<blockquote>z</a></td>")
	f.Add("<a href='http://x'>t<style>q<title>&#0;&lt;")
	f.Add("<pre>a\n\n<td>b</pre><noscript><p hidden>")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		text := htmlText(s)
		if !utf8.ValidString(text) || len(text) > 64*len(s)+64 {
			t.Fatalf("%q became %d bytes: %.200q", s, len(text), text)
		}
		if text != "" && (!strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n")) {
			t.Fatalf("%q ends in %q", s, text[max(0, len(text)-9):])
		}
	})
}
