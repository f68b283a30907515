// Package near finds texts that are nearly the same, or within each other, by
// sketches of a few hundred bytes (MinHash over words).
//
// Most callers want PrintOf and an Index, which tell whether a mail nearly
// equals one seen before; Of gives the Sketch of any text. Two mails are near
// where what their writers wrote is: the history that both quote says nothing
// (N1). Sketches depend on the text alone, so they may be kept and compared at
// any time (N2).
package near

import (
	"slices"
	"strings"

	"agentmill/internal/mail"
)

const (
	// shingle is how many words in a row are compared.
	shingle = 3
	// sketchSize bounds a sketch. Texts of fewer shingles are compared exactly;
	// for longer ones the likeness has a standard error of .05.
	sketchSize = 64
	// Threshold is the likeness from which on two texts are near.
	Threshold = .8
)

// A Sketch is the smallest hashes of a text's shingles, ascending.
type Sketch []uint32

// Of returns the sketch of a text. Only its words count: letters and digits,
// letter case ignored.
func Of(text string) Sketch { return sketch(words(text)) }

// sketch is that of a row of hashed words.
func sketch(words []uint64) Sketch {
	if len(words) == 0 {
		return nil
	}
	hashes := make([]uint32, 0, max(1, len(words)-shingle+1))
	for i := 0; i == 0 || i+shingle <= len(words); i++ {
		h := uint64(0)
		for _, w := range words[i:min(i+shingle, len(words))] {
			h = (h ^ w) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		hashes = append(hashes, uint32(h>>32))
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	return slices.Clone(hashes[:min(len(hashes), sketchSize)])
}

// words returns the hashes of a text's words (FNV-1a). Bytes beyond ASCII count
// as letters.
func words(text string) (list []uint64) {
	const offset, prime = 14695981039346656037, 1099511628211
	h, inside := uint64(offset), false
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c >= 0x80:
			h, inside = (h^uint64(c))*prime, true
		case inside:
			list = append(list, h)
			h, inside = offset, false
		}
	}
	if inside {
		list = append(list, h)
	}
	return list
}

// Likeness estimates the share of shingles that two texts have in common, of
// all that either has (Jaccard).
func (s Sketch) Likeness(t Sketch) float64 {
	both, all := 0, 0
	for i, j := 0, 0; (i < len(s) || j < len(t)) && all < sketchSize; all++ {
		switch {
		case j == len(t) || i < len(s) && s[i] < t[j]:
			i++
		case i == len(s) || t[j] < s[i]:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	if all == 0 {
		return 0
	}
	return float64(both) / float64(all)
}

// Within estimates the share of s's shingles that t has, and says on how many
// it rests: sketches of texts of very different length have few in common.
func (s Sketch) Within(t Sketch) (share float64, on int) {
	if len(s) == 0 || len(t) == 0 {
		return 0, 0
	}
	both, last := 0, t[len(t)-1]
	for _, h := range s {
		if h > last && len(t) == sketchSize {
			break // t is cut off here
		}
		if _, found := slices.BinarySearch(t, h); found {
			both++
		}
		on++
	}
	if on == 0 {
		return 0, 0
	}
	return float64(both) / float64(on), on
}

// How much text a mail needs to be near another, in words.
const (
	longText  = 20 // from here on the text speaks for itself
	shortText = 6  // below it nothing does
)

// A Print is what decides whether a mail is near another one. The zero Print is
// near nothing.
type Print struct {
	Sketch Sketch
	// Frame must be equal: of a short text, its subject and what it quotes; 0 of
	// a long one.
	Frame uint64
}

// PrintOf returns the print of a mail. Its own text counts; of a forward without
// any, the forwarded text does.
func PrintOf(e *mail.Email) Print {
	own, quoted := words(Own(e)), words(Quoted(e))
	switch {
	case len(own) >= longText:
		return Print{Sketch: sketch(own)}
	case len(own) == 0 && len(quoted) >= longText:
		return Print{Sketch: sketch(quoted)}
	case len(own) < shortText:
		return Print{}
	}
	frame := uint64(1)
	for _, w := range slices.Concat(words(mail.Topic(e.Subject)), quoted) {
		frame = (frame ^ w) * 0x9e3779b97f4a7c15
	}
	return Print{Sketch: sketch(own), Frame: frame | 1}
}

// Own is the text of a mail without what its Quoted marks.
func Own(e *mail.Email) string {
	if len(e.Quoted) == 0 {
		return e.Body
	}
	var b strings.Builder
	end := 0
	for _, q := range e.Quoted {
		b.WriteString(e.Body[end:q.Start])
		b.WriteByte('\n')
		end = q.End
	}
	b.WriteString(e.Body[end:])
	return b.String()
}

// Quoted is the text that a mail's Quoted marks.
func Quoted(e *mail.Email) string {
	if len(e.Quoted) == 1 {
		return e.Body[e.Quoted[0].Start:e.Quoted[0].End]
	}
	var b strings.Builder
	for _, q := range e.Quoted {
		b.WriteString(e.Body[q.Start:q.End])
	}
	return b.String()
}
