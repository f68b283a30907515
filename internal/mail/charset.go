package mail

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// What decodeCharset had to do about a label.
type labelFault uint8

const (
	labelRight   labelFault = iota
	labelUnknown            // not in any table
	labelWrong              // the text is plainly in another charset
)

// moreCharsets are those that mail has and the WHATWG table lacks.
var moreCharsets = map[string]encoding.Encoding{
	"cp437": charmap.CodePage437, "ibm437": charmap.CodePage437, "cp850": charmap.CodePage850, "ibm850": charmap.CodePage850,
	"cp852": charmap.CodePage852, "cp858": charmap.CodePage858, "cp865": charmap.CodePage865, "cp1252": charmap.Windows1252,
	"latin-1": charmap.Windows1252, "iso8859_1": charmap.Windows1252, "iso_8859_1": charmap.Windows1252, "windows1252": charmap.Windows1252,
	"utf-16": unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "utf_8": unicode.UTF8, "cp65001": unicode.UTF8,
}

// decodeCharset makes UTF-8 of text in a named charset. A label that is unknown
// or plainly wrong costs nothing: the text is then read as UTF-8 where it is
// that, else as its bytes look, else as windows-1252.
func decodeCharset(b []byte, label string) (text string, fault labelFault) {
	label, _, _ = strings.Cut(strings.ToLower(strings.Trim(label, " \t\"'")), "*") // RFC 2231's language
	if isASCII(b) && !statefulCharset(label) {
		return asciiText(b, label)
	}
	switch label {
	case "", "us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "unknown", "default", "binary", "8bit", "7bit":
		return guessText(b), labelRight
	case "utf-8", "utf8":
		if text, ok := bomText(b); ok {
			return text, labelRight
		}
		if utf8.Valid(b) || mostlyUTF8(b) {
			return lenientUTF8(b), labelRight
		}
		return guessText(b), labelWrong
	case "utf-7", "unicode-1-1-utf-7", "x-unicode-2-0-utf-7":
		return decodeUTF7(b), labelRight
	}
	named := encodingOf(label)
	if named == nil {
		return guessText(b), labelUnknown
	}
	if !statefulCharset(label) && isMultibyteUTF8(b) {
		return string(b), labelWrong
	}
	decoded, err := named.NewDecoder().Bytes(b)
	if err != nil || !utf8.Valid(decoded) {
		return guessText(b), labelWrong
	}
	return string(decoded), labelRight
}

func encodingOf(label string) encoding.Encoding {
	if e, _ := charset.Lookup(label); e != nil && e != encoding.Replacement {
		return e
	}
	return moreCharsets[label]
}

// asciiText reads bytes of ASCII alone. Japanese mail often lacks its label.
func asciiText(b []byte, label string) (text string, fault labelFault) {
	if i := bytes.IndexByte(b, 0x1b); i >= 0 && (bytes.HasPrefix(b[i:], []byte("\x1b$B")) || bytes.HasPrefix(b[i:], []byte("\x1b$@"))) {
		if decoded, err := encodingOf("iso-2022-jp").NewDecoder().Bytes(b); err == nil {
			return string(decoded), labelWrong
		}
	}
	if label != "" && encodingOf(label) == nil && !plainLabel(label) {
		fault = labelUnknown
	}
	return string(b), fault
}

// plainLabel reports names of ASCII and of no charset, which no table has.
func plainLabel(label string) bool {
	switch label {
	case "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "unknown", "default", "binary", "8bit", "7bit", "us-ascii", "ascii":
		return true
	}
	return false
}

// statefulCharset reports charsets that write other letters with ASCII bytes.
func statefulCharset(label string) bool {
	return strings.HasPrefix(label, "iso-2022") || strings.HasPrefix(label, "utf-16") || strings.HasPrefix(label, "csiso2022") ||
		label == "hz-gb-2312" || strings.HasSuffix(label, "utf-7")
}

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if (uint64(b[0]) | uint64(b[1]) | uint64(b[2]) | uint64(b[3]) | uint64(b[4]) | uint64(b[5]) | uint64(b[6]) | uint64(b[7])) >= utf8.RuneSelf {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// mostlyUTF8 reports text with single bad bytes among good characters.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		i += n
	}
	return good >= bad
}

// isMultibyteUTF8 reports text that is UTF-8 whatever its label says: two or
// more characters of several bytes, and nothing that is none. Other charsets
// write such bytes by accident only.
func isMultibyteUTF8(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	n := 0
	for _, c := range b {
		if c >= 0xc0 {
			n++
		}
	}
	return n >= 2
}

// bomText reads text that begins with the byte order mark of UTF-16.
func bomText(b []byte) (text string, ok bool) {
	if !bytes.HasPrefix(b, []byte("\xff\xfe")) && !bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return "", false
	}
	decoded, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(b)
	return string(decoded), err == nil && utf8.Valid(decoded)
}

func windows1252(b byte) rune { return charmap.Windows1252.DecodeByte(b) }

// decodeUTF7 reads UTF-7 (RFC 2152): "+" begins UTF-16 in base64, which ends at
// the first other byte; a "-" there belongs to it.
func decodeUTF7(b []byte) string {
	var out strings.Builder
	for {
		i := bytes.IndexByte(b, '+')
		if i < 0 {
			break
		}
		out.WriteString(lenientUTF8(b[:i]))
		b = b[i+1:]
		n := 0
		for n < len(b) && isBase64(b[n]) && b[n] != '=' {
			n++
		}
		if n == 0 {
			out.WriteByte('+')
		} else {
			out.WriteString(utf16Text(b[:n]))
		}
		if b = b[n:]; len(b) > 0 && b[0] == '-' {
			b = b[1:]
		}
	}
	out.WriteString(lenientUTF8(b))
	return out.String()
}

func utf16Text(letters []byte) string {
	if len(letters)%4 == 1 {
		letters = letters[:len(letters)-1]
	}
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(letters)))
	n, _ := base64.RawStdEncoding.Decode(raw, letters) // only letters of the alphabet, of a length that fits
	units := make([]uint16, n/2)
	for i := range units {
		units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	return string(utf16.Decode(units))
}
