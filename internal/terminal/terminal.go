// Package terminal makes text of unknown origin safe to print: what a terminal
// would obey is shown instead.
//
// Most callers want Safe. It does not care for widths or wrapping.
package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Safe returns s with everything but text, line feeds and tabs written as \x1b,
// \u009b or the like: escape sequences, other control characters, marks that
// reorder the line, and bytes that are no UTF-8.
func Safe(s string) string { return escape(s, obeyed, `\x%02x`) }

// JSON returns the JSON text s with the same characters as \u escapes, so that
// it means the same.
func JSON(s string) string {
	return escape(s, func(r rune) bool { return r != '\r' && obeyed(r) }, `\u%04x`)
}

// escape writes runes that are bad in the format ascii below 0x80, else in \u
// form.
func escape(s string, bad func(rune) bool, ascii string) string {
	if clean(s, bad) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, ascii, s[i])
		case bad(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&b, ascii, r)
		case bad(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func clean(s string, bad func(rune) bool) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, bad)
}

// obeyed reports whether a terminal may obey r rather than show it.
func obeyed(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r == 0x7f, 0x80 <= r && r <= 0x9f: // C0, DEL, C1
		return true
	case r == 0x061c, 0x200e <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069: // direction of writing
		return true
	}
	return 0x2028 <= r && r <= 0x2029 || r == 0xfeff || 0xe0000 <= r && r <= 0xe007f // separators, marks without a shape
}
