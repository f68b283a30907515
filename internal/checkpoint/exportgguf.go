package checkpoint

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agentmill/internal/atomicfile"
	"agentmill/internal/gguf"
	"agentmill/internal/model"
)

// ExportGGUF writes p, its adapter added, as one GGUF file as llama.cpp's own
// converter would: matrices as kind (f32 or bf16), vectors in float32.
func ExportGGUF(path string, p *Policy, kind string) error {
	meta, err := ggufMeta(p)
	if err != nil {
		return fmt.Errorf("export %s: %w", path, err)
	}
	tensors, err := ggufEntries(p, kind)
	if err != nil {
		return fmt.Errorf("export %s: %w", path, err)
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer f.Abort()
	if err := gguf.Write(f, meta, tensors); err != nil {
		return fmt.Errorf("export %s: %w", path, err)
	}
	return f.Commit()
}

// SaveGGUF writes a policy folder at dir whose weights are p's as a GGUF file,
// its adapter added, and returns its Manifest as written.
func SaveGGUF(dir string, p *Policy, m Manifest) (Manifest, error) {
	m, err := intoFolder(filepath.Clean(dir), func(tmp string) (Manifest, error) {
		m.Schema, m.Parent = ManifestSchema, p.Hash
		if err := ExportGGUF(filepath.Join(tmp, ggufFile), p, "bf16"); err != nil {
			return m, err
		}
		var err error
		if m.Hash, err = hashFiles(tmp, []string{ggufFile}); err != nil {
			return m, err
		}
		data, err := encodeJSON(m)
		if err != nil {
			return m, err
		}
		return m, atomicfile.WriteFile(filepath.Join(tmp, ManifestFile), data)
	})
	if err != nil {
		return m, fmt.Errorf("save policy %s: %w", dir, err)
	}
	return m, nil
}

// ggufMeta is everything that is no tensor.
func ggufMeta(p *Policy) ([]gguf.Pair, error) {
	c := p.Config
	arch := c.ModelType
	if _, ok := architectures[arch]; !ok {
		return nil, fmt.Errorf("model_type %q: want llama, qwen2 or qwen3", arch)
	}
	whole := func(key string, n int) gguf.Pair { return gguf.Pair{Key: arch + "." + key, Value: uint32(n)} }
	pairs := []gguf.Pair{
		{Key: "general.architecture", Value: arch},
		whole("context_length", c.MaxPositionEmbeddings),
		whole("embedding_length", c.HiddenSize),
		whole("block_count", c.NumHiddenLayers),
		whole("feed_forward_length", c.IntermediateSize),
		whole("attention.head_count", c.NumAttentionHeads),
		whole("attention.head_count_kv", c.NumKeyValueHeads),
		whole("attention.key_length", c.HeadDim),
		whole("attention.value_length", c.HeadDim),
		whole("rope.dimension_count", c.HeadDim),
		whole("vocab_size", c.VocabSize),
		{Key: arch + ".rope.freq_base", Value: float32(c.RopeTheta)},
		{Key: arch + ".attention.layer_norm_rms_epsilon", Value: float32(c.RMSNormEps)},
	}
	if s := c.RopeScaling; s != nil && s.Type == "linear" {
		pairs = append(pairs, gguf.Pair{Key: arch + ".rope.scaling.type", Value: "linear"}, gguf.Pair{Key: arch + ".rope.scaling.factor", Value: float32(s.Factor)})
	}
	words, err := ggufWords(p)
	return append(pairs, words...), err
}

// ggufWords is the tokenizer with its template.
func ggufWords(p *Policy) ([]gguf.Pair, error) {
	v := p.Tokenizer.Vocab()
	pre := ""
	for name, s := range splits {
		if s.Split == v.Split && s.NFC == v.NFC && s.IgnoreMerges == v.IgnoreMerges {
			pre = name
		}
	}
	if pre == "" {
		return nil, fmt.Errorf("the tokenizer cuts text in a way (%d, NFC %v, whole words %v) that GGUF has no name for here", v.Split, v.NFC, v.IgnoreMerges)
	}
	tokens, types := make([]string, p.Config.VocabSize), make([]int32, p.Config.VocabSize)
	for id := range tokens {
		tokens[id], types[id] = fmt.Sprintf("[PAD%d]", id), tokenUnused
		if id < len(v.Tokens) && v.Tokens[id] != "" {
			tokens[id], types[id] = v.Tokens[id], 1
		}
	}
	for _, a := range v.Added {
		tokens[a.ID], types[a.ID] = a.Content, tokenUserDefined
		if a.Special {
			types[a.ID] = tokenControl
		}
	}
	merges := make([]string, len(v.Merges))
	for i, m := range v.Merges {
		merges[i] = m[0] + " " + m[1]
	}
	pairs := []gguf.Pair{
		{Key: "tokenizer.ggml.model", Value: "gpt2"},
		{Key: "tokenizer.ggml.pre", Value: pre},
		{Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.merges", Value: merges},
		{Key: "tokenizer.ggml.add_bos_token", Value: false},
	}
	return append(pairs, ggufTokens(p)...), nil
}

// ggufTokens are the control tokens by their roles, and the chat template.
func ggufTokens(p *Policy) (pairs []gguf.Pair) {
	names := p.TemplateTokens()
	for _, t := range []struct{ name, key string }{
		{"bos_token", "bos"}, {"eos_token", "eos"}, {"pad_token", "padding"}, {"unk_token", "unknown"},
	} {
		if id, ok := p.Tokenizer.ID(names[t.name]); ok && names[t.name] != "" {
			pairs = append(pairs, gguf.Pair{Key: "tokenizer.ggml." + t.key + "_token_id", Value: uint32(id)})
		}
	}
	if template := p.ChatTemplate(); template != "" {
		pairs = append(pairs, gguf.Pair{Key: "tokenizer.chat_template", Value: template})
	}
	return pairs
}

// ggufEntries are p's tensors by llama.cpp's names and in its layout.
func ggufEntries(p *Policy, kind string) ([]gguf.Entry, error) {
	src, c := p.Merged(), p.Config
	var entries []gguf.Entry
	if s := c.RopeScaling; s != nil && s.Type == "llama3" {
		entries = append(entries, ropeDivisors(c))
	}
	for _, name := range src.Names() {
		if name == "lm_head.weight" && c.TieWordEmbeddings || strings.HasSuffix(name, "rotary_emb.inv_freq") {
			continue // a copy, or derived
		}
		shape, err := p.Shape(name)
		if err != nil {
			return nil, err
		}
		theirs, ok := ggufName(name)
		if !ok {
			return nil, fmt.Errorf("tensor %q: GGUF has no name for it", name)
		}
		e := gguf.Entry{Name: theirs, Type: kind, Shape: shape}
		if len(shape) == 1 {
			e.Type = "f32"
		}
		heads := 0
		if architectures[c.ModelType].permuted {
			heads = rotaryHeads(name, c)
		}
		e.Values = func() ([]float32, error) {
			values, _, err := src.Tensor(name)
			if err == nil && heads > 0 {
				permute(values, shape[0], heads)
			}
			return values, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// rotaryHeads is how many heads a rotated matrix has, 0 for others.
func rotaryHeads(name string, c model.Config) int {
	switch {
	case strings.Contains(name, ".q_proj."):
		return c.NumAttentionHeads
	case strings.Contains(name, ".k_proj."):
		return c.NumKeyValueHeads
	}
	return 0
}

// ropeDivisors is by how much each pair is slowed down.
func ropeDivisors(c model.Config) gguf.Entry {
	plain := c
	plain.RopeScaling = nil
	return gguf.Entry{Name: ropeFreqs, Type: "f32", Shape: []int{c.HeadDim / 2}, Values: func() ([]float32, error) {
		var out []float32
		for i, f := range c.RopeFreq() {
			out = append(out, float32(plain.RopeFreq()[i]/f))
		}
		return out, nil
	}}
}

// ggufName translates model.layers.3.self_attn.q_proj.weight to
// blk.3.attn_q.weight.
func ggufName(ours string) (string, bool) {
	for theirs, published := range fixedNames {
		if published == ours {
			return theirs, true
		}
	}
	rest, ok := strings.CutPrefix(ours, "model.layers.")
	if !ok {
		return "", false
	}
	layer, part, _ := strings.Cut(rest, ".")
	dot := strings.LastIndexByte(part, '.')
	if dot < 0 {
		return "", false
	}
	for theirs, published := range blockNames {
		if published == part[:dot] {
			return "blk." + layer + "." + theirs + part[dot:], true
		}
	}
	return "", false
}

// permute orders the rows of each head as llama.cpp's converter does, so that it
// can rotate neighbours: row i of the first half, then row i of the second.
func permute(values []float32, rows, heads int) {
	size := len(values) / heads
	perHead := rows / heads
	width := size / perHead
	for ; len(values) > 0; values = values[size:] {
		ours := slices.Clone(values[:size])
		for i := range perHead / 2 {
			copy(values[2*i*width:][:width], ours[i*width:])
			copy(values[(2*i+1)*width:][:width], ours[(i+perHead/2)*width:])
		}
	}
}
