package mail

import (
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// words decodes RFC 2047 encoded words in any charset of the WHATWG table.
var words = mime.WordDecoder{CharsetReader: func(label string, r io.Reader) (io.Reader, error) {
	b, err := io.ReadAll(r)
	text, _ := decodeCharset(b, label)
	return strings.NewReader(text), err
}}

// decodeWords decodes the encoded words of a header value; what cannot be
// decoded stays as it is.
func decodeWords(s string) string {
	if !strings.Contains(s, "=?") {
		return s
	}
	decoded, err := words.DecodeHeader(s)
	if err != nil {
		return s
	}
	return strings.ToValidUTF8(decoded, "\ufffd")
}

// decodeCharset makes UTF-8 of text in a named charset. An unknown label, and
// ASCII that is none, is read as UTF-8 where valid, else as windows-1252; known
// is false for the former.
func decodeCharset(b []byte, label string) (text string, known bool) {
	label, _, _ = strings.Cut(strings.ToLower(strings.Trim(label, " \t\"'")), "*") // RFC 2231's language
	switch label {
	case "", "us-ascii", "ascii", "ansi_x3.4-1968", "utf-8", "utf8":
		return lenientUTF8(b), true
	}
	if isASCII(b) && !strings.HasPrefix(label, "iso-2022") && !strings.HasPrefix(label, "utf-16") && label != "hz-gb-2312" {
		return string(b), true
	}
	encoding, _ := charset.Lookup(label)
	if encoding == nil {
		return lenientUTF8(b), false
	}
	decoded, err := encoding.NewDecoder().Bytes(b)
	if err != nil || !utf8.Valid(decoded) {
		return lenientUTF8(b), true
	}
	return string(decoded), true
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
