package tokenizer

import "strings"

// alphabet maps each byte to the printable character that stands for it in
// GPT-2's vocabulary files: printable Latin-1 stands for itself, the other 68
// bytes are U+0100 and following, in order.
var alphabet = makeAlphabet()

// alphabetByte is the inverse of alphabet: byte+1, or 0 for other characters.
var alphabetByte = invertAlphabet()

func makeAlphabet() (a [256]rune) {
	next := rune(256)
	for b := range a {
		if b >= '!' && b <= '~' || b >= 0xA1 && b != 0xAD {
			a[b] = rune(b)
			continue
		}
		a[b] = next
		next++
	}
	return a
}

func invertAlphabet() (inv [324]uint16) {
	for b, r := range alphabet {
		inv[r] = uint16(b + 1)
	}
	return inv
}

// fromAlphabet returns the bytes that token stands for; ok is false if token
// has a character outside of the alphabet.
func fromAlphabet(token string) (raw string, ok bool) {
	var sb strings.Builder
	sb.Grow(len(token))
	for _, r := range token {
		if int(r) >= len(alphabetByte) || alphabetByte[r] == 0 {
			return "", false
		}
		sb.WriteByte(byte(alphabetByte[r] - 1))
	}
	return sb.String(), true
}

// ByteTokens returns the tokens of the 256 bytes, in the order of bytes.
func ByteTokens() []string {
	tokens := make([]string, len(alphabet))
	for b, r := range alphabet {
		tokens[b] = string(r)
	}
	return tokens
}
