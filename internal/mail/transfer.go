package mail

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// decodeQuotedPrintable undoes quoted-printable. What is not an escape stays as
// it is, so it never fails: real mail has '=' alone and raw 8-bit bytes.
func decodeQuotedPrintable(b []byte) []byte {
	if bytes.IndexByte(b, '=') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '=' {
			out = append(out, b[i])
			continue
		}
		if n := softBreak(b[i+1:]); n >= 0 {
			i += n
			continue
		}
		if i+2 < len(b) {
			if hi, lo := unhex(b[i+1]), unhex(b[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, '=')
	}
	return out
}

// softBreak returns the length of blanks and a line end that follow a '=', or
// -1. The end of the text counts as a line end.
func softBreak(b []byte) int {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\r':
		case '\n':
			return i + 1
		default:
			return -1
		}
	}
	return len(b)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// decodeBase64 decodes as much as there is. Blanks inside, missing padding and
// a text behind the data (a list's footer) are damage, not the end. Data behind
// padding is another piece: some writers encode a text in several.
func decodeBase64(b []byte) (decoded []byte, damaged bool) {
	data := make([]byte, 0, len(b))
	decoded = make([]byte, 0, base64.RawStdEncoding.DecodedLen(len(b))+3)
	piece := func() {
		if len(data)%4 == 1 { // one sextet is no byte
			data, damaged = data[:len(data)-1], true
		}
		var err error
		if decoded, err = base64.RawStdEncoding.AppendDecode(decoded, data); err != nil {
			damaged = true
		}
		data = data[:0]
	}
	padded := false
	for lines := (cutter{b: b}); lines.more(); {
		line := bytes.TrimSpace(lines.next())
		if odd := oddLetters(line); odd*10 > len(line) { // plainly no base64
			damaged = true
			break
		} else if odd > 0 {
			damaged = true
		}
		for _, c := range line {
			switch {
			case c == '=':
				if !padded {
					piece()
				}
				padded = true
			case isBase64(c):
				data, padded = append(data, c), false
			}
		}
	}
	damaged = damaged || len(data)%4 != 0
	piece()
	return decoded, damaged
}

// oddLetters counts the bytes that are not of the alphabet.
func oddLetters(line []byte) (odd int) {
	for _, c := range line {
		if !isBase64(c) {
			odd++
		}
	}
	return odd
}

func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '='
}

// looksBase64 reports whether the first line with text may be base64; a part
// that only says it is may be plain text.
func looksBase64(b []byte) bool {
	for lines := (cutter{b: b}); lines.more(); {
		if line := bytes.TrimSpace(lines.next()); len(line) > 0 {
			return oddLetters(line)*10 <= len(line)
		}
	}
	return true
}

// unlabelledBase64 decodes a text that is nothing but base64 of readable text.
// Three full lines of it are no accident.
func unlabelledBase64(b []byte) (decoded []byte, ok bool) {
	width, n := 0, 0
	for lines := (cutter{b: b}); lines.more(); n++ {
		line := bytes.TrimSpace(lines.next())
		if n == 0 {
			width = len(line)
		}
		if len(line) > width || width < 40 || oddLetters(line) > 0 || n < 3 && len(line) != width {
			return nil, false
		}
	}
	if n < 3 {
		return nil, false
	}
	decoded, damaged := decodeBase64(b)
	return decoded, !damaged && utf8.Valid(decoded) && bytes.IndexByte(decoded, 0) < 0
}

// repairResidue removes what a lost quoted-printable label left in a text:
// escapes at line ends, soft breaks, and the escapes =3D and =09. It touches
// nothing unless some line ends in "=20", and no other escape inside a line,
// where "x=20" is more likely a formula.
func repairResidue(s []byte) (repaired []byte, found bool) {
	if !bytes.Contains(s, []byte("=20\n")) && !bytes.HasSuffix(s, []byte("=20")) {
		return s, false
	}
	out := make([]byte, 0, len(s))
	for lines := (cutter{b: s}); lines.more(); {
		line := lines.next()
		for _, residue := range []string{"=3D", "=09"} {
			line = bytes.ReplaceAll(line, []byte(residue), decodeQuotedPrintable([]byte(residue)))
		}
		out = append(out, lineEnd(line)...)
		if !bytes.HasSuffix(line, []byte("=")) && s[lines.pos-1] == '\n' {
			out = append(out, '\n')
		}
	}
	return out, true
}

// lineEnd drops a soft break and decodes an escape at the end of a line.
func lineEnd(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("=")) {
		return line[:len(line)-1]
	}
	n := len(line) - 3
	if n < 0 || line[n] != '=' || unhex(line[n+1]) < 0 || unhex(line[n+2]) < 0 {
		return line
	}
	return bytes.TrimRight(append(line[:n:n], decodeQuotedPrintable(line[n:])...), " ")
}
