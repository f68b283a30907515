package checkpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"agentmill/internal/gguf"
	"agentmill/internal/model"
)

// loadGGUF opens a folder with model.gguf.
func (p *Policy) loadGGUF() error {
	if err := p.notPointers(ggufFile); err != nil {
		return err
	}
	f, err := gguf.Open(p.path(ggufFile))
	if err != nil {
		return err
	}
	w := &ggufWeights{File: f}
	p.weights = w
	var g errgroup.Group
	g.Go(func() (err error) {
		p.Hash, err = hashFiles(p.Dir, []string{ggufFile})
		return err
	})
	g.Go(func() error { return p.context(ggufFile, p.readGGUFText(w)) })
	return g.Wait()
}

// readGGUFText turns metadata into what a Hugging Face folder has in files.
func (p *Policy) readGGUFText(w *ggufWeights) (err error) {
	meta := w.Meta()
	if p.Config, err = ggufConfig(w); err != nil {
		return err
	}
	if err := w.layout(p.Config); err != nil {
		return err
	}
	if p.Tokenizer, err = ggufTokenizer(meta); err != nil {
		return err
	}
	if p.files[configFile], err = encodeJSON(p.Config); err != nil {
		return err
	}
	p.files[tokenizerConfigFile], err = ggufTokenizerConfig(meta, p.Config)
	return err
}

// architectures are the known values of general.architecture: Hugging Face's
// class, and whether the converter permuted query and key rows.
var architectures = map[string]struct {
	class    string
	permuted bool
}{
	"llama": {"LlamaForCausalLM", true},
	"qwen2": {"Qwen2ForCausalLM", false},
	"qwen3": {"Qwen3ForCausalLM", false},
}

func ggufConfig(w *ggufWeights) (c model.Config, err error) {
	meta := w.Meta()
	arch, err := meta.String("general.architecture")
	if err != nil {
		return c, err
	}
	known, ok := architectures[arch]
	if !ok {
		return c, fmt.Errorf("general.architecture is %q: want llama, qwen2 or qwen3", arch)
	}
	c = model.Config{
		Architectures: []string{known.class}, ModelType: arch, HiddenAct: "silu", TorchDType: "bfloat16",
		TieWordEmbeddings: !w.has("output.weight"), AttentionBias: arch == "llama" && w.has("blk.0.attn_q.bias"),
	}
	for _, f := range []struct {
		to       *int
		key      string
		optional bool
	}{
		{&c.HiddenSize, "embedding_length", false},
		{&c.IntermediateSize, "feed_forward_length", false},
		{&c.NumHiddenLayers, "block_count", false},
		{&c.NumAttentionHeads, "attention.head_count", false},
		{&c.NumKeyValueHeads, "attention.head_count_kv", true},
		{&c.HeadDim, "attention.key_length", true},
		{&c.MaxPositionEmbeddings, "context_length", false},
	} {
		key := arch + "." + f.key
		if f.optional && !meta.Has(key) {
			continue
		}
		if *f.to, err = meta.Int(key); err != nil {
			return c, err
		}
	}
	return c, ggufNumbers(w, arch, &c)
}

// ggufNumbers fills in what is not a plain count.
func ggufNumbers(w *ggufWeights, arch string, c *model.Config) error {
	meta := w.Meta()
	eps, err := meta.Float(arch + ".attention.layer_norm_rms_epsilon")
	if err != nil {
		return err
	}
	c.RMSNormEps = shortest(eps)
	c.RopeTheta = 10000
	if key := arch + ".rope.freq_base"; meta.Has(key) {
		theta, err := meta.Float(key)
		if err != nil {
			return err
		}
		c.RopeTheta = shortest(theta)
	}
	shape, err := w.File.Shape("token_embd.weight")
	if err != nil {
		return err
	}
	c.VocabSize = shape[0]
	for _, t := range []struct {
		to  *json.RawMessage
		key string
	}{{&c.BOSTokenID, "bos"}, {&c.EOSTokenID, "eos"}, {&c.PadTokenID, "padding"}} {
		if id, err := meta.Int("tokenizer.ggml." + t.key + "_token_id"); err == nil {
			*t.to = strconv.AppendInt(nil, int64(id), 10)
		}
	}
	if c.NumKeyValueHeads == 0 {
		c.NumKeyValueHeads = c.NumAttentionHeads
	}
	if c.HeadDim == 0 && c.NumAttentionHeads > 0 {
		c.HeadDim = c.HiddenSize / c.NumAttentionHeads
	}
	if err := c.Check(); err != nil {
		return err
	}
	if err := ggufRope(w, arch, c); err != nil {
		return err
	}
	return c.Check()
}

// shortest is the decimal number that was meant by a float32 that was widened:
// 1e-05 for 9.999999747378752e-06.
func shortest(v float64) float64 {
	d, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 32), 64)
	if err != nil {
		return v
	}
	return d
}

// ggufWeights shows a GGUF file's tensors by Hugging Face's names and in its
// layout.
type ggufWeights struct {
	*gguf.File
	names  map[string]string // ours to the file's
	order  []string
	rotary map[string]int // heads of a tensor whose rows are permuted
}

// fixedNames are tensors outside of blocks, blockNames those in blk.N.
var (
	fixedNames = map[string]string{
		"token_embd.weight":  "model.embed_tokens.weight",
		"output_norm.weight": "model.norm.weight",
		"output.weight":      "lm_head.weight",
	}
	blockNames = map[string]string{
		"attn_norm":   "input_layernorm",
		"attn_q":      "self_attn.q_proj",
		"attn_k":      "self_attn.k_proj",
		"attn_v":      "self_attn.v_proj",
		"attn_output": "self_attn.o_proj",
		"attn_q_norm": "self_attn.q_norm",
		"attn_k_norm": "self_attn.k_norm",
		"ffn_norm":    "post_attention_layernorm",
		"ffn_gate":    "mlp.gate_proj",
		"ffn_up":      "mlp.up_proj",
		"ffn_down":    "mlp.down_proj",
	}
)

func (w *ggufWeights) has(name string) bool { return slices.Contains(w.File.Names(), name) }

// layout fills the maps for a model like c.
func (w *ggufWeights) layout(c model.Config) error {
	w.names, w.rotary = map[string]string{}, map[string]int{}
	permuted := architectures[c.ModelType].permuted
	for _, theirs := range w.File.Names() {
		if theirs == ropeFreqs {
			continue // it is in the configuration
		}
		ours := publishedName(theirs)
		if other, ok := w.names[ours]; ok {
			return fmt.Errorf("tensor %q: is the same as %q", theirs, other)
		}
		w.names[ours] = theirs
		w.order = append(w.order, ours)
		switch {
		case permuted && strings.Contains(ours, ".q_proj."):
			w.rotary[ours] = c.NumAttentionHeads
		case permuted && strings.Contains(ours, ".k_proj."):
			w.rotary[ours] = c.NumKeyValueHeads
		}
	}
	return nil
}

// publishedName translates blk.3.attn_q.weight to
// model.layers.3.self_attn.q_proj.weight. An unknown name stays as it is, and is
// found to be left over by whoever loads all tensors.
func publishedName(theirs string) string {
	if ours, ok := fixedNames[theirs]; ok {
		return ours
	}
	parts := strings.Split(theirs, ".")
	if len(parts) != 4 || parts[0] != "blk" || blockNames[parts[2]] == "" {
		return theirs
	}
	return "model.layers." + parts[1] + "." + blockNames[parts[2]] + "." + parts[3]
}

// Names returns the published names of all tensors.
func (w *ggufWeights) Names() []string { return slices.Clone(w.order) }

// Shape returns the shape of the tensor with a published name.
func (w *ggufWeights) Shape(name string) ([]int, error) { return w.File.Shape(w.theirs(name)) }

// Tensor returns the tensor with a published name, in the published layout.
func (w *ggufWeights) Tensor(name string) ([]float32, []int, error) {
	values, shape, err := w.File.Tensor(w.theirs(name))
	if err != nil {
		return nil, nil, err
	}
	return values, shape, w.unpermute(name, values, shape)
}

// Fill writes the values of the tensor with a published name to dst, in the
// published layout.
func (w *ggufWeights) Fill(name string, dst []float32) error {
	shape, err := w.Shape(name)
	if err != nil {
		return err
	}
	if err := w.File.Fill(w.theirs(name), dst); err != nil {
		return err
	}
	return w.unpermute(name, dst, shape)
}

// unpermute undoes the converter's permutation of rows, where it made one.
func (w *ggufWeights) unpermute(name string, values []float32, shape []int) error {
	heads := w.rotary[name]
	if heads == 0 {
		return nil
	}
	if shape[0]%(2*heads) != 0 {
		return fmt.Errorf("read %s: tensor %q: %d rows for %d heads", w.Path(), w.theirs(name), shape[0], heads)
	}
	size := len(values) / heads
	for ; len(values) > 0; values = values[size:] {
		unpermuteHead(values[:size], shape[0]/heads)
	}
	return nil
}

func (w *ggufWeights) theirs(name string) string {
	if theirs, ok := w.names[name]; ok {
		return theirs
	}
	return name
}

// unpermuteHead brings rows into the order that Hugging Face's half rotation
// wants. The converter wrote, within each head, row i of the first half and row
// i of the second half next to each other, for llama.cpp's rotation of
// neighbours.
func unpermuteHead(values []float32, rows int) {
	theirs := slices.Clone(values)
	width := len(values) / rows
	for i := range rows / 2 {
		copy(values[i*width:][:width], theirs[2*i*width:])
		copy(values[(i+rows/2)*width:][:width], theirs[(2*i+1)*width:])
	}
}
