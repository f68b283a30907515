package mail

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// How much text a guess needs: so many bytes beyond ASCII, and so large a share
// of the letters. Below it the text is a European one with some accents.
const (
	guessBytes = 8
	guessShare = .4
)

// scripts are the charsets that are recognised without a label, each with the
// characters that are frequent in its texts and their least share. Japanese has
// Chinese characters between its own, so a third of kana is much.
var scripts = []struct {
	encoding encoding.Encoding
	speaks   func(rune) bool
	least    float64
}{
	{japanese.EUCJP, isKana, .35},
	{japanese.ShiftJIS, isKana, .35},
	{korean.EUCKR, func(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }, .85},
	{simplifiedchinese.GBK, func(r rune) bool { return frequentChinese[r] }, .45},
	{charmap.KOI8R, isSmallCyrillic, .7},
	{charmap.Windows1251, isSmallCyrillic, .7},
}

// frequentChinese are the commonest characters of modern Chinese.
var frequentChinese = runeSet("的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运您请谢附件邮")

func runeSet(s string) map[rune]bool {
	set := map[rune]bool{}
	for _, r := range s {
		set[r] = true
	}
	return set
}

func isKana(r rune) bool { return r >= 0x3041 && r <= 0x30ff }

func isSmallCyrillic(r rune) bool { return r >= 'а' && r <= 'я' }

// guessText reads text without a label that can be believed.
func guessText(b []byte) string {
	if text, ok := bomText(b); ok {
		return text
	}
	if utf8.Valid(b) || mostlyUTF8(b) || !looksForeign(b) {
		return lenientUTF8(b)
	}
	best, text := 1.0, ""
	for _, s := range scripts {
		sample, share := b[:min(len(b), 4096)], 0.0
		if decoded, err := s.encoding.NewDecoder().Bytes(sample); err == nil {
			share = spoken(string(decoded), s.speaks) / s.least
		}
		if share <= best {
			continue
		}
		if decoded, err := s.encoding.NewDecoder().Bytes(b); err == nil {
			best, text = share, string(decoded)
		}
	}
	if text == "" {
		return lenientUTF8(b)
	}
	return text
}

// looksForeign reports whether most of the letters are beyond ASCII.
func looksForeign(b []byte) bool {
	high, letters := 0, 0
	for _, c := range b {
		switch {
		case c >= utf8.RuneSelf:
			high++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		}
	}
	return high >= guessBytes && float64(high) >= guessShare*float64(high+letters)
}

// spoken is the share of the characters beyond ASCII that speak for a charset.
// One that is not in it at all speaks against it three times. Japanese has
// Chinese characters between its own, so a third of kana is much.
func spoken(text string, speaks func(rune) bool) float64 {
	all, speaking := 0, 0
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			continue
		case r == utf8.RuneError || unicode.IsControl(r):
			speaking -= 3
		case speaks(r):
			speaking++
		}
		all++
	}
	if all == 0 {
		return 0
	}
	return float64(speaking) / float64(all)
}
