package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/jsonl"
)

// The expressions of pre-tokenisers of type Split, as published.
const (
	qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// file is tokenizer.json as far as it concerns us.
type file struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedJSON     `json:"added_tokens"`
	Normalizer    *component      `json:"normalizer"`
	PreTokenizer  *component      `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       *component      `json:"decoder"`
	Model         model           `json:"model"`
}

type addedJSON struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// component is a normaliser, pre-tokeniser or decoder.
type component struct {
	Type             string      `json:"type"`
	PreTokenizers    []component `json:"pretokenizers,omitempty"`
	Normalizers      []component `json:"normalizers,omitempty"`
	IndividualDigits *bool       `json:"individual_digits,omitempty"`
	Pattern          *pattern    `json:"pattern,omitempty"`
	Behavior         string      `json:"behavior,omitempty"`
	Invert           *bool       `json:"invert,omitempty"`
	AddPrefixSpace   *bool       `json:"add_prefix_space,omitempty"`
	TrimOffsets      *bool       `json:"trim_offsets,omitempty"`
	UseRegex         *bool       `json:"use_regex,omitempty"`
}

type pattern struct {
	Regex string `json:"Regex,omitempty"`
}

type model struct {
	Type         string           `json:"type"`
	Dropout      *float64         `json:"dropout"`
	Unknown      *string          `json:"unk_token"`
	Prefix       *string          `json:"continuing_subword_prefix"`
	Suffix       *string          `json:"end_of_word_suffix"`
	FuseUnk      bool             `json:"fuse_unk"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []mergeJSON      `json:"merges"`
}

// mergeJSON is written "a b" in older files and ["a", "b"] in newer ones.
type mergeJSON [2]string

func (m *mergeJSON) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[2]string)(m))
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	pair, err := ParseMerge(s)
	*m = pair
	return err
}

// ParseMerge reads a merge as vocabulary files write it, "a b".
func ParseMerge(s string) (pair [2]string, err error) {
	left, right, ok := strings.Cut(s, " ")
	if !ok || left == "" || right == "" || strings.Contains(right, " ") {
		return pair, fmt.Errorf("merge %q: want two tokens with a space between them", s)
	}
	return [2]string{left, right}, nil
}

// FromJSON reads a tokenizer.json of byte-level BPE. Anything in it that would
// change ids and is not known here is an error.
func FromJSON(data []byte) (*Tokenizer, error) {
	var f file
	if err := jsonl.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	v, err := f.vocab()
	if err != nil {
		return nil, err
	}
	return New(v)
}

func (f *file) vocab() (v Vocab, err error) {
	if err := f.Model.check(); err != nil {
		return v, err
	}
	if v.Split, err = f.PreTokenizer.split(); err != nil {
		return v, err
	}
	if v.NFC, err = f.Normalizer.nfc(); err != nil {
		return v, err
	}
	if f.Decoder == nil || f.Decoder.Type != "ByteLevel" {
		return v, errors.New("decoder: want ByteLevel")
	}
	if v.Tokens, err = f.tokens(); err != nil {
		return v, err
	}
	v.IgnoreMerges = f.Model.IgnoreMerges
	if f.Model.Unknown != nil {
		v.Unknown = *f.Model.Unknown
	}
	for _, m := range f.Model.Merges {
		v.Merges = append(v.Merges, m)
	}
	for _, a := range f.AddedTokens {
		if a.SingleWord || a.LStrip || a.RStrip {
			return v, fmt.Errorf("added_tokens: %q: single_word, lstrip and rstrip are not supported", a.Content)
		}
		v.Added = append(v.Added, Added{ID: a.ID, Content: a.Content, Special: a.Special})
	}
	return v, nil
}

func (m *model) check() error {
	switch {
	case m.Type != "BPE":
		return fmt.Errorf("model.type %q: want BPE", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return fmt.Errorf("model.dropout %v: want none", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "" || m.Suffix != nil && *m.Suffix != "":
		return errors.New("model: continuing_subword_prefix and end_of_word_suffix must be empty")
	case m.ByteFallback:
		return errors.New("model.byte_fallback: only byte-level vocabularies are supported")
	case m.FuseUnk && m.Unknown != nil:
		return errors.New("model.fuse_unk: want false")
	}
	return nil
}

// tokens inverts the vocabulary, added tokens included.
func (f *file) tokens() ([]string, error) {
	size := 0
	limit := 2*(len(f.Model.Vocab)+len(f.AddedTokens)) + 1<<16 // ids may have gaps, but not absurd ones
	grow := func(token string, id int32) error {
		if id < 0 || int(id) >= limit {
			return fmt.Errorf("token %q: id %d is out of range for %d tokens", token, id, len(f.Model.Vocab))
		}
		size = max(size, int(id)+1)
		return nil
	}
	for token, id := range f.Model.Vocab {
		if err := grow(token, id); err != nil {
			return nil, err
		}
	}
	for _, a := range f.AddedTokens {
		if err := grow(a.Content, a.ID); err != nil {
			return nil, err
		}
	}
	tokens := make([]string, size)
	for token, id := range f.Model.Vocab {
		if tokens[id] != "" {
			return nil, fmt.Errorf("model.vocab: %q and %q have the same id %d", min(token, tokens[id]), max(token, tokens[id]), id)
		}
		tokens[id] = token
	}
	for _, a := range f.AddedTokens {
		if tokens[a.ID] != "" && tokens[a.ID] != a.Content {
			return nil, fmt.Errorf("added_tokens: %q has the id %d of %q", a.Content, a.ID, tokens[a.ID])
		}
		tokens[a.ID] = a.Content
	}
	return tokens, nil
}

func isTrue(b *bool) bool { return b != nil && *b }

// plainByteLevel says whether c is ByteLevel without a prefix space.
func (c *component) plainByteLevel() bool { return c.Type == "ByteLevel" && !isTrue(c.AddPrefixSpace) }

func (c *component) split() (Split, error) {
	if c == nil {
		return 0, errors.New("pre_tokenizer: missing; want ByteLevel or a sequence that ends with it")
	}
	parts := c.PreTokenizers
	if c.Type != "Sequence" {
		parts = []component{*c}
	}
	// use_regex is true where it is absent.
	last := len(parts) - 1
	if last < 0 || !parts[last].plainByteLevel() {
		return 0, errors.New("pre_tokenizer: want ByteLevel without prefix space at its end")
	}
	regex := parts[last].UseRegex == nil || *parts[last].UseRegex
	switch {
	case last == 0 && regex:
		return SplitGPT2, nil
	case last == 1 && regex && parts[0].Type == "Digits" && isTrue(parts[0].IndividualDigits):
		return SplitSmolLM, nil
	case last == 1 && !regex && parts[0].Type == "Split" && parts[0].Behavior == "Isolated" && !isTrue(parts[0].Invert) && parts[0].Pattern != nil:
		return splitOfPattern(parts[0].Pattern.Regex)
	}
	return 0, errors.New("pre_tokenizer: this sequence is not supported; want that of GPT-2, SmolLM, Qwen2 or Llama 3")
}

func splitOfPattern(regex string) (Split, error) {
	switch regex {
	case qwen2Pattern:
		return SplitQwen2, nil
	case llama3Pattern:
		return SplitLlama3, nil
	}
	return 0, fmt.Errorf("pre_tokenizer: pattern %q is not supported; want that of Qwen2 or Llama 3", regex)
}

func (c *component) nfc() (bool, error) {
	switch {
	case c == nil || c.Type == "Sequence" && len(c.Normalizers) == 0:
		return false, nil
	case c.Type == "NFC":
		return true, nil
	}
	return false, fmt.Errorf("normalizer %q: want none or NFC", c.Type)
}

// JSON returns t as a tokenizer.json that Hugging Face's tokenizers reads.
func (t *Tokenizer) JSON() ([]byte, error) {
	v := &t.vocab
	f := file{Version: "1.0", PreTokenizer: v.Split.component(), Decoder: byteLevel(true)}
	f.Decoder.AddPrefixSpace = new(bool)
	if v.NFC {
		f.Normalizer = &component{Type: "NFC"}
	}
	for _, a := range v.Added {
		f.AddedTokens = append(f.AddedTokens, addedJSON{ID: a.ID, Content: a.Content, Special: a.Special})
	}
	slices.SortStableFunc(f.AddedTokens, func(a, b addedJSON) int { return int(a.ID - b.ID) })
	f.Model = model{Type: "BPE", IgnoreMerges: v.IgnoreMerges, Vocab: make(map[string]int32, len(v.Tokens))}
	if v.Unknown != "" {
		f.Model.Unknown = &v.Unknown
	}
	for id, token := range v.Tokens {
		if token != "" {
			f.Model.Vocab[token] = int32(id)
		}
	}
	for _, m := range v.Merges {
		f.Model.Merges = append(f.Model.Merges, m)
	}
	return encode(f)
}

// encode keeps < and > as they are, which stand in every control token.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func byteLevel(regex bool) *component {
	yes, no := true, false
	return &component{Type: "ByteLevel", AddPrefixSpace: &no, TrimOffsets: &yes, UseRegex: &regex}
}

func (s Split) component() *component {
	yes, no := true, false
	var first component
	switch s {
	case SplitSmolLM:
		first = component{Type: "Digits", IndividualDigits: &yes}
	case SplitQwen2:
		first = component{Type: "Split", Pattern: &pattern{qwen2Pattern}, Behavior: "Isolated", Invert: &no}
	case SplitLlama3:
		first = component{Type: "Split", Pattern: &pattern{llama3Pattern}, Behavior: "Isolated", Invert: &no}
	default:
		return byteLevel(true)
	}
	return &component{Type: "Sequence", PreTokenizers: []component{first, *byteLevel(s == SplitSmolLM)}}
}
