package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Ids depend on versions of Unicode. The library that the families' ids come
// from takes letters and numbers from Unicode 16, which Go's tables (15) lack in
// part, and normalises by Unicode 9. All three tables were found by asking it
// about every code point, and are checked by the tests against it.

// newLetters are the letters that came with Unicode 16 and 15.1.
var newLetters = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1c89, 0x1c8a, 1}, {0xa7cb, 0xa7cd, 1}, {0xa7da, 0xa7dc, 1}},
	R32: []unicode.Range32{
		{0x105c0, 0x105f3, 1},
		{0x10d4a, 0x10d65, 1},
		{0x10d6f, 0x10d85, 1},
		{0x10ec2, 0x10ec4, 1},
		{0x11380, 0x11389, 1},
		{0x1138b, 0x1138b, 1},
		{0x1138e, 0x1138e, 1},
		{0x11390, 0x113b5, 1},
		{0x113b7, 0x113b7, 1},
		{0x113d1, 0x113d3, 2},
		{0x11bc0, 0x11be0, 1},
		{0x13460, 0x143fa, 1},
		{0x16100, 0x1611d, 1},
		{0x16d40, 0x16d6c, 1},
		{0x18cff, 0x18cff, 1},
		{0x1e5d0, 0x1e5ed, 1},
		{0x1e5f0, 0x1e5f0, 1},
		{0x2ebf0, 0x2ee5d, 1},
	},
}

// newNumbers are the numbers that came with Unicode 16.
var newNumbers = &unicode.RangeTable{
	R32: []unicode.Range32{
		{0x10d40, 0x10d49, 1},
		{0x116d0, 0x116e3, 1},
		{0x11bf0, 0x11bf9, 1},
		{0x16130, 0x16139, 1},
		{0x16d70, 0x16d79, 1},
		{0x1ccf0, 0x1ccf9, 1},
		{0x1e5f1, 0x1e5fa, 1},
	},
}

// newMarks came after Unicode 9 and combine or change places in NFC since then.
var newMarks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x07fd, 0x07fd, 1},
		{0x0898, 0x089f, 1},
		{0x08ca, 0x08d3, 1},
		{0x09fe, 0x09fe, 1},
		{0x0c3c, 0x0c3c, 1},
		{0x0d3b, 0x0d3c, 1},
		{0x0eba, 0x0eba, 1},
		{0x1715, 0x1715, 1},
		{0x1abf, 0x1ace, 1},
		{0x1df6, 0x1dfa, 1},
		{0xa82c, 0xa82c, 1},
	},
	R32: []unicode.Range32{
		{0x10d24, 0x10d27, 1},
		{0x10eab, 0x10eac, 1},
		{0x10efd, 0x10eff, 1},
		{0x10f46, 0x10f50, 1},
		{0x10f82, 0x10f85, 1},
		{0x11070, 0x11070, 1},
		{0x1133b, 0x1133b, 1},
		{0x1145e, 0x1145e, 1},
		{0x11839, 0x1183a, 1},
		{0x11930, 0x11930, 1},
		{0x1193d, 0x1193e, 1},
		{0x11943, 0x11943, 1},
		{0x119e0, 0x119e0, 1},
		{0x11a34, 0x11a34, 1},
		{0x11a47, 0x11a47, 1},
		{0x11a99, 0x11a99, 1},
		{0x11d42, 0x11d42, 1},
		{0x11d44, 0x11d45, 1},
		{0x11d97, 0x11d97, 1},
		{0x11f41, 0x11f42, 1},
		{0x16ff0, 0x16ff1, 1},
		{0x1e08f, 0x1e08f, 1},
		{0x1e130, 0x1e136, 1},
		{0x1e2ae, 0x1e2ae, 1},
		{0x1e2ec, 0x1e2ef, 1},
		{0x1e4ec, 0x1e4ef, 1},
	},
}

// nfc is text in Unicode 9's NFC: marks that it does not know stay where they
// are, and nothing moves across them.
func nfc(text string) string {
	if norm.NFC.IsNormalString(text) {
		return text
	}
	var b strings.Builder
	for {
		n := strings.IndexFunc(text, isNewMark)
		if n < 0 {
			b.WriteString(norm.NFC.String(text))
			return b.String()
		}
		b.WriteString(norm.NFC.String(text[:n]))
		_, size := utf8.DecodeRuneInString(text[n:])
		b.WriteString(text[n : n+size])
		text = text[n+size:]
	}
}

func isNewMark(r rune) bool { return r >= 0x7fd && unicode.Is(newMarks, r) }
