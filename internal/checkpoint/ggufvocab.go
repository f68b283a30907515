package checkpoint

import (
	"fmt"
	"slices"

	"agentmill/internal/gguf"
	"agentmill/internal/model"
	"agentmill/internal/tokenizer"
)

// splits are the known values of tokenizer.ggml.pre.
var splits = map[string]tokenizer.Vocab{
	"smollm":    {Split: tokenizer.SplitSmolLM},
	"gpt-2":     {Split: tokenizer.SplitGPT2},
	"qwen2":     {Split: tokenizer.SplitQwen2, NFC: true},
	"llama-bpe": {Split: tokenizer.SplitLlama3, IgnoreMerges: true},
}

// Types of tokens in tokenizer.ggml.token_type.
const (
	tokenControl     = 3
	tokenUserDefined = 4
	tokenUnused      = 5
)

func ggufTokenizer(meta gguf.Meta) (*tokenizer.Tokenizer, error) {
	kind, err := meta.String("tokenizer.ggml.model")
	if err != nil {
		return nil, err
	}
	if kind != "gpt2" {
		return nil, fmt.Errorf("tokenizer.ggml.model is %q: want gpt2 (byte-level BPE)", kind)
	}
	pre, err := meta.String("tokenizer.ggml.pre")
	if err != nil {
		return nil, err
	}
	v, ok := splits[pre]
	if !ok {
		return nil, fmt.Errorf("tokenizer.ggml.pre is %q: want smollm, gpt-2, qwen2 or llama-bpe", pre)
	}
	if err := ggufVocab(meta, &v); err != nil {
		return nil, err
	}
	return tokenizer.New(v)
}

func ggufVocab(meta gguf.Meta, v *tokenizer.Vocab) error {
	tokens, err := meta.Strings("tokenizer.ggml.tokens")
	if err != nil {
		return err
	}
	types, err := meta.Ints("tokenizer.ggml.token_type")
	if err != nil {
		return err
	}
	if len(types) != len(tokens) {
		return fmt.Errorf("tokenizer.ggml.token_type has %d entries for %d tokens", len(types), len(tokens))
	}
	v.Tokens = slices.Clone(tokens)
	for id, t := range types {
		switch t {
		case tokenControl, tokenUserDefined:
			v.Added = append(v.Added, tokenizer.Added{ID: int32(id), Content: tokens[id], Special: t == tokenControl})
		case tokenUnused:
			v.Tokens[id] = ""
		}
	}
	merges, err := meta.Strings("tokenizer.ggml.merges")
	if err != nil {
		return err
	}
	v.Merges = make([][2]string, len(merges))
	for i, m := range merges {
		if v.Merges[i], err = tokenizer.ParseMerge(m); err != nil {
			return fmt.Errorf("tokenizer.ggml.merges: item %d: %w", i, err)
		}
	}
	return nil
}

func ggufTokenizerConfig(meta gguf.Meta, c model.Config) ([]byte, error) {
	tokens, err := meta.Strings("tokenizer.ggml.tokens")
	if err != nil {
		return nil, err
	}
	t := tokenizerConfig{Class: fastClass, MaxLength: c.MaxPositionEmbeddings}
	t.ChatTemplate, _ = meta.String("tokenizer.chat_template")
	for _, s := range []struct {
		to  *string
		key string
	}{{&t.BOS, "bos"}, {&t.EOS, "eos"}, {&t.Unknown, "unknown"}, {&t.Pad, "padding"}} {
		key := "tokenizer.ggml." + s.key + "_token_id"
		if !meta.Has(key) {
			continue
		}
		id, err := meta.Int(key)
		if err != nil {
			return nil, err
		}
		if id < 0 || id >= len(tokens) {
			return nil, fmt.Errorf("%s is %d: want 0 to %d", key, id, len(tokens)-1)
		}
		*s.to = tokens[id]
	}
	return encodeJSON(t)
}
