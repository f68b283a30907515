package tokenizer

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Vocab is everything that defines a tokenizer.
type Vocab struct {
	Tokens       []string    // by id, in GPT-2's byte alphabet; "" where an id is unused
	Merges       [][2]string // in order of rank, in the same alphabet
	Added        []Added     // tokens that stand for themselves, outside of BPE
	Split        Split       // how text is cut into words before BPE
	NFC          bool        // text is normalised to NFC first
	IgnoreMerges bool        // a word that is a token is taken whole
	Unknown      string      // token of bytes that have none; "" drops them
}

// An Added token is matched literally. Special marks control tokens.
type Added struct {
	ID      int32
	Content string
	Special bool
}

// A Tokenizer encodes and decodes.
type Tokenizer struct {
	vocab   Vocab
	bytes   []string // by id: the bytes that a token stands for
	byteID  [256]int32
	ids     map[string]int32 // by bytes; words that are whole tokens
	added   map[string]int32
	special map[int32]bool
	starts  [256][]Added // added tokens by first byte, longest first
	merges  mergeTable
	cache   wordCache
}

// New builds a tokenizer from v, which it keeps.
func New(v Vocab) (*Tokenizer, error) {
	t := &Tokenizer{vocab: v, cache: wordCache{seed: maphash.MakeSeed()}, added: make(map[string]int32, len(v.Added)), special: map[int32]bool{}}
	if err := t.addAdded(); err != nil {
		return nil, err
	}
	byToken, err := t.addTokens()
	if err != nil {
		return nil, err
	}
	if err := t.addBytes(byToken); err != nil {
		return nil, err
	}
	return t, t.addMerges(byToken)
}

func (t *Tokenizer) addAdded() error {
	for i, a := range t.vocab.Added {
		if a.Content == "" {
			return fmt.Errorf("added token %d has no content", i)
		}
		if a.ID < 0 || int(a.ID) >= len(t.vocab.Tokens) {
			return fmt.Errorf("added token %q: id %d is outside of the vocabulary of %d", a.Content, a.ID, len(t.vocab.Tokens))
		}
		if old, ok := t.added[a.Content]; ok && old != a.ID {
			return fmt.Errorf("added token %q has two ids, %d and %d", a.Content, old, a.ID)
		}
		t.added[a.Content] = a.ID
		if a.Special {
			t.special[a.ID] = true
		}
		t.starts[a.Content[0]] = append(t.starts[a.Content[0]], a)
	}
	for _, list := range t.starts {
		slices.SortStableFunc(list, func(a, b Added) int { return cmp.Compare(len(b.Content), len(a.Content)) })
	}
	return nil
}

// addTokens fills bytes and ids, and returns the ids by token in the byte alphabet.
func (t *Tokenizer) addTokens() (map[string]int32, error) {
	t.bytes = make([]string, len(t.vocab.Tokens))
	t.ids = make(map[string]int32, len(t.vocab.Tokens))
	byToken := make(map[string]int32, len(t.vocab.Tokens))
	for _, a := range t.vocab.Added {
		t.bytes[a.ID] = a.Content
	}
	for i, token := range t.vocab.Tokens {
		if token == "" {
			continue
		}
		if old, ok := byToken[token]; ok {
			return nil, fmt.Errorf("token %q has two ids, %d and %d", token, old, i)
		}
		byToken[token] = int32(i)
		if t.bytes[i] != "" {
			continue // an added token: never the result of BPE
		}
		raw, ok := fromAlphabet(token)
		if !ok {
			raw = token // not in the byte alphabet: unreachable by BPE, stands for itself
		} else {
			t.ids[raw] = int32(i)
		}
		t.bytes[i] = raw
	}
	return byToken, nil
}

func (t *Tokenizer) addBytes(byToken map[string]int32) error {
	unknown := int32(-1)
	if t.vocab.Unknown != "" {
		id, ok := byToken[t.vocab.Unknown]
		if !ok {
			return fmt.Errorf("unknown token %q is not in the vocabulary", t.vocab.Unknown)
		}
		unknown = id
	}
	for b := range 256 {
		id, ok := byToken[string(alphabet[b])]
		if !ok {
			id = unknown
		}
		t.byteID[b] = id
	}
	return nil
}

func (t *Tokenizer) addMerges(byToken map[string]int32) error {
	t.merges = newMergeTable(len(t.vocab.Merges))
	for rank, m := range t.vocab.Merges {
		left, okL := byToken[m[0]]
		right, okR := byToken[m[1]]
		id, ok := byToken[m[0]+m[1]]
		if !okL || !okR || !ok {
			return fmt.Errorf("merge %d (%q %q): %q, %q and %q must be tokens", rank, m[0], m[1], m[0], m[1], m[0]+m[1])
		}
		t.merges.put(left, right, merge{int32(rank), id})
	}
	return nil
}

// Vocab returns what t was built from. The caller does not change it.
func (t *Tokenizer) Vocab() Vocab { return t.vocab }

// Size is the number of ids, unused ones included.
func (t *Tokenizer) Size() int { return len(t.bytes) }

// ID returns the id of an added token such as "<|im_end|>".
func (t *Tokenizer) ID(content string) (int32, bool) {
	id, ok := t.added[content]
	return id, ok
}

// IsSpecial says whether id is a control token.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.special[id] }

// Encode returns the ids of text, in which nothing is special.
func (t *Tokenizer) Encode(text string) []int32 { return t.Append(nil, text) }

// Append appends the ids of text, in which nothing is special, to ids.
func (t *Tokenizer) Append(ids []int32, text string) []int32 {
	if t.vocab.NFC {
		text = nfc(text)
	}
	t.vocab.Split.each(text, func(word string) { ids = t.appendWord(ids, word) })
	return ids
}

// EncodeSpecial returns the ids of text, in which added tokens are recognised.
func (t *Tokenizer) EncodeSpecial(text string) []int32 {
	return t.encodeAdded(text, func(plain string) string { return plain })
}

// encodeAdded recognises added tokens, and changes what stands between them.
func (t *Tokenizer) encodeAdded(text string, change func(plain string) string) []int32 {
	var ids []int32
	for len(text) > 0 {
		plain, a := t.cutAdded(text)
		ids = t.Append(ids, change(plain))
		if text = text[len(plain):]; text != "" {
			ids = append(ids, a.ID)
			text = text[len(a.Content):]
		}
	}
	return ids
}

// cutAdded returns what text has before its first added token, and that token.
func (t *Tokenizer) cutAdded(text string) (plain string, a Added) {
	for i := range len(text) {
		if a, ok := t.addedAt(text[i:]); ok {
			return text[:i], a
		}
	}
	return text, Added{}
}

// AddedAt returns the added token whose name text begins with.
func (t *Tokenizer) AddedAt(text string) (Added, bool) {
	if text == "" {
		return Added{}, false
	}
	return t.addedAt(text)
}

func (t *Tokenizer) addedAt(text string) (Added, bool) {
	for _, a := range t.starts[text[0]] {
		if strings.HasPrefix(text, a.Content) {
			return a, true
		}
	}
	return Added{}, false
}

// DecodeBytes returns the bytes that ids stand for, control tokens as their
// names. Ids outside of the vocabulary stand for nothing.
func (t *Tokenizer) DecodeBytes(ids []int32) []byte {
	var out []byte
	for _, id := range ids {
		if id >= 0 && int(id) < len(t.bytes) {
			out = append(out, t.bytes[id]...)
		}
	}
	return out
}

// Decode returns the text of ids. Each longest piece of a broken UTF-8
// sequence becomes one U+FFFD, as in Hugging Face's decoder.
func (t *Tokenizer) Decode(ids []int32) string { return validUTF8(t.DecodeBytes(ids)) }

func validUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var sb strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = brokenLen(b)
		}
		sb.WriteRune(r)
		b = b[n:]
	}
	return sb.String()
}

// brokenLen is the length of the broken sequence that b starts with: the
// longest prefix that could have begun a character.
func brokenLen(b []byte) int {
	need, low, high := 0, byte(0x80), byte(0xBF)
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
	case c >= 0xF0 && c <= 0xF4:
		need = 3
	}
	switch b[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n < len(b) && n <= need && b[n] >= low && b[n] <= high {
		n, low, high = n+1, 0x80, 0xBF
	}
	return n
}

// Pieces are the bytes that each id stands for, "" for control tokens.
func (t *Tokenizer) Pieces() []string {
	pieces := slices.Clone(t.bytes)
	for id := range t.special {
		pieces[id] = ""
	}
	return pieces
}
