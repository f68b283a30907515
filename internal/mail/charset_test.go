package mail

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

func TestDecodeCharset(t *testing.T) {
	for _, tt := range []struct {
		name, in, label, want string
		fault                 labelFault
	}{
		{"ASCII that is UTF-8", "caf\xc3\xa9", "us-ascii", "café", labelRight},
		{"ASCII that is windows-1252", "it\x92s", "us-ascii", "it’s", labelRight},
		{"one bad byte in UTF-8", "caf\xc3\xa9 \x92", "utf-8", "café ’", labelRight},
		{"windows-1252 that says UTF-8", "caf\xe9 \x93x\x94", "utf-8", "café “x”", labelWrong},
		{"UTF-8 that says Latin-1", "caf\xc3\xa9 \xc3\xa0 la", "iso-8859-1", "café à la", labelWrong},
		{"Latin-1 with one pair like UTF-8", "A\xc3\xa9", "iso-8859-1", "AÃ©", labelRight},
		{"Latin-1 is windows-1252", "\x93x\x94", "iso-8859-1", "“x”", labelRight},
		{"Cyrillic", "\xd0\xd2\xc9", "KOI8-R", "при", labelRight},
		{"Japanese", "\x1b$B$3\x1b(B", "iso-2022-jp", "こ", labelRight},
		{"Japanese that says ASCII", "\x1b$B$3\x1b(B", "us-ascii", "こ", labelWrong},
		{"language suffix", "caf\xe9", "iso-8859-1*en", "café", labelRight},
		{"unknown label", "caf\xe9", "x-unheard", "café", labelUnknown},
		{"unknown label, ASCII text", "cafe", "x-unheard", "cafe", labelUnknown},
		{"no label", "x", "", "x", labelRight},
		{"a label in quotes", "caf\xe9", `"ISO-8859-1"`, "café", labelRight},
		{"a DOS code page", "caf\x82", "cp850", "café", labelRight},
		{"UTF-7", "caf+AOk- 1+-1 +2D3eAA", "utf-7", "café 1+1 😀", labelRight},
		{"UTF-16 by its mark", "\xff\xfea\x00\xe9\x00", "", "aé", labelRight},
		{"UTF-16 by its label", "\x00a\x00\xe9", "utf-16be", "aé", labelRight},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, fault := decodeCharset([]byte(tt.in), tt.label)
			if got != tt.want || fault != tt.fault {
				t.Errorf("%q, fault %d, want %q, %d", got, fault, tt.want, tt.fault)
			}
		})
	}
}

// TestGuessCharset reads text of many letters without a label.
func TestGuessCharset(t *testing.T) {
	for _, tt := range []struct {
		name     string
		encoding encoding.Encoding
		text     string
	}{
		{"KOI8-R", charmap.KOI8R, "Добрый день, отправляю вам договор на следующий месяц."},
		{"windows-1251", charmap.Windows1251, "Добрый день, отправляю вам договор на следующий месяц."},
		{"Shift JIS", japanese.ShiftJIS, "お世話になっております。来週の会議についてご連絡いたします。"},
		{"EUC-JP", japanese.EUCJP, "お世話になっております。来週の会議についてご連絡いたします。"},
		{"GBK", simplifiedchinese.GBK, "我们已经收到你的信，请问下个星期的会议是什么时候开始的？"},
		{"EUC-KR", korean.EUCKR, "안녕하세요 다음 주 회의 시간을 알려 주시기 바랍니다"},
		{"French in windows-1252", charmap.Windows1252, "Cet été j’ai été à l’hôtel, c’était très agréable, même où il y eût des élèves."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := tt.encoding.NewEncoder().Bytes([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := decodeCharset(raw, ""); got != tt.text {
				t.Errorf("%q, want %q", got, tt.text)
			}
		})
	}
}

// FuzzDecodeCharset checks that any bytes under any label become UTF-8, and that
// UTF-8 under its own label stays as it is.
func FuzzDecodeCharset(f *testing.F) {
	f.Add([]byte("caf\xe9\x81"), "utf-8")
	f.Add([]byte("\x1b$B$3\x1b(B"), "iso-2022-jp")
	f.Add([]byte("+AOk-+"), "utf-7")
	f.Add([]byte("\xff\xfe\x00\xd8"), "utf-16")
	f.Add([]byte("\x84\x31\x95\x33~{"), "gb18030")
	f.Fuzz(func(t *testing.T, b []byte, label string) {
		text, _ := decodeCharset(b, label)
		if !utf8.ValidString(text) {
			t.Fatalf("%q under %q became %q", b, label, text)
		}
		plain := strings.ToValidUTF8(string(b), "")
		if strings.ContainsAny(plain, "\x1b\ufeff") {
			return
		}
		if got, fault := decodeCharset([]byte(plain), "utf-8"); got != plain || fault != labelRight {
			t.Fatalf("%q became %q, fault %d", plain, got, fault)
		}
	})
}
