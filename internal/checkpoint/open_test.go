package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/checkpoint"
	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
)

// ggufDir is made by tools/golden/gguf_policy.py.
const ggufDir = "testdata/gguf"

func open(t *testing.T, dir string) *checkpoint.Policy {
	t.Helper()
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func tiny(t *testing.T, dir string, seed uint64) string {
	t.Helper()
	if _, err := tinypolicy.Write(dir, seed); err != nil {
		t.Fatal(err)
	}
	return dir
}

func values(t *testing.T, src model.Source, name string) []float32 {
	t.Helper()
	v, _, err := src.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGGUF(t *testing.T) {
	p := open(t, ggufDir)
	want := model.Config{
		Architectures: []string{"LlamaForCausalLM"}, ModelType: "llama", TorchDType: "bfloat16",
		VocabSize: p.Tokenizer.Size(), HiddenSize: 32, IntermediateSize: 64, NumHiddenLayers: 2,
		NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 8, MaxPositionEmbeddings: 512,
		RMSNormEps: 1e-5, RopeTheta: 100000, HiddenAct: "silu", TieWordEmbeddings: true,
		BOSTokenID: json.RawMessage("1"), EOSTokenID: json.RawMessage("2"), PadTokenID: json.RawMessage("2"),
	}
	if d := cmp.Diff(want, p.Config); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
	if !strings.Contains(p.ChatTemplate(), "<|im_start|>") {
		t.Errorf("chat template is %q", p.ChatTemplate())
	}
	checkPublished(t, p, 1)
}

// checkPublished compares p with want.safetensors beside it, which lacks the
// large tensors.
func checkPublished(t *testing.T, p *checkpoint.Policy, large int) {
	t.Helper()
	published, err := safetensors.Open(filepath.Join(p.Dir, "want.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer published.Close()
	if got, want := len(p.Names()), len(published.Names())+large; got != want {
		t.Errorf("%d tensors, want %d", got, want)
	}
	for _, name := range published.Names() {
		if d := cmp.Diff(values(t, published, name), values(t, p, name)); d != "" {
			t.Errorf("%s (-want +got):\n%.300s", name, d)
		}
	}
}

// TestGGUFFamilies: what each family's file holds besides.
func TestGGUFFamilies(t *testing.T) {
	for _, tt := range []struct {
		dir    string
		large  int
		change func(c *model.Config)
	}{
		{"gguf-llama3", 2, func(c *model.Config) {
			c.ModelType, c.Architectures, c.AttentionBias, c.TieWordEmbeddings = "llama", []string{"LlamaForCausalLM"}, true, false
			c.RopeTheta = 500000
			c.RopeScaling = &model.RopeScaling{Type: "llama3", Factor: 32, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositions: 8192}
		}},
		{"gguf-qwen2", 2, func(c *model.Config) {
			c.ModelType, c.Architectures, c.TieWordEmbeddings = "qwen2", []string{"Qwen2ForCausalLM"}, false
		}},
		{"gguf-qwen3", 1, func(c *model.Config) {
			c.ModelType, c.Architectures, c.HeadDim = "qwen3", []string{"Qwen3ForCausalLM"}, 16
		}},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			p := open(t, filepath.Join("testdata", tt.dir))
			want := open(t, ggufDir).Config
			want.NumHiddenLayers = 1
			tt.change(&want)
			if d := cmp.Diff(want, p.Config); d != "" {
				t.Errorf("config (-want +got):\n%s", d)
			}
			checkPublished(t, p, tt.large)
		})
	}
}

// TestTokenizerOfGGUF uses the vectors that the vocabulary's own package has.
func TestTokenizerOfGGUF(t *testing.T) {
	checkVectors(t, open(t, ggufDir), "smollm")
}

// TestSmolLM2Tokenizer needs the published file.
func TestSmolLM2Tokenizer(t *testing.T) {
	dir := os.Getenv("AGENTMILL_SMOLLM2")
	if dir == "" {
		t.Skip("AGENTMILL_SMOLLM2 is not set to a policy folder with SmolLM2-135M-Instruct (make model)")
	}
	p := open(t, dir)
	if p.Hash != "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53" {
		t.Skipf("%s holds another model (hash %s)", dir, p.Hash)
	}
	checkVectors(t, p, "smollm2")
}

func checkVectors(t *testing.T, p *checkpoint.Policy, kind string) {
	t.Helper()
	data, err := os.ReadFile("../tokenizer/testdata/" + kind + ".vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Encode, Decode []struct {
			Text string
			IDs  []int32
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for _, e := range v.Encode {
		if got := p.Tokenizer.EncodeSpecial(e.Text); len(got)+len(e.IDs) > 0 && !cmp.Equal(got, e.IDs) {
			t.Errorf("EncodeSpecial(%q) = %v, want %v", e.Text, got, e.IDs)
		}
	}
	for _, d := range v.Decode {
		if got := p.Tokenizer.Decode(d.IDs); got != d.Text {
			t.Errorf("Decode(%v) = %q, want %q", d.IDs, got, d.Text)
		}
	}
}

// TestOpenRefuses damages one file of a good folder a case.
func TestOpenRefuses(t *testing.T) {
	replace := func(name, old, with string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, name), old, with) }
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	move := func(name, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, to)); err != nil {
				t.Fatal(err)
			}
		}
	}
	good := tiny(t, filepath.Join(t.TempDir(), "p"), 1)
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"config is no JSON", replace("config.json", "{", "["), "config.json"},
		{"config without size", replace("config.json", `"hidden_size": 64`, `"hidden_size": 0`), "config.json: hidden_size is 0"},
		{"far too wide", replace("config.json", `"hidden_size": 64`, `"hidden_size": 1000000000`), `tensor "model.embed_tokens.weight" has shape [352 64]: want [352 1000000000]`},
		{"far too wide inside", replace("config.json", `"intermediate_size": 128`, `"intermediate_size": 1000000000`), `gate_proj.weight" has shape [128 64]: want [1000000000 64]`},
		{"a token that the model lacks", replace("tokenizer.json", `"added_tokens":[`, `"added_tokens":[{"id": 352, "content": "<|new|>", "special": true},`), "the tokenizer has 353 tokens, the model 352 (vocab_size)"},
		{"far too deep", replace("config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 1000000000`), "num_hidden_layers is 1000000000, the weights have 2 layers"},
		{"tokenizer's configuration cut off", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "tokenizer_config.json"), 9); err != nil {
				t.Fatal(err)
			}
		}, "tokenizer_config.json: not valid JSON"},
		{"no tokenizer", remove("tokenizer.json"), "it has no tokenizer.json: fetch the one published beside the weights"},
		{"tokenizer of another kind", replace("tokenizer.json", `"BPE"`, `"Unigram"`), `tokenizer.json: model.type "Unigram"`},
		{"no weights", remove("model.safetensors"), "it has config.json, but no weights: want model.safetensors, or model.safetensors.index.json and the shards it names, or model.gguf"},
		{"no configuration", remove("config.json"), "it has weights, but no config.json"},
		{"weights that were not fetched", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "model.safetensors"), "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 7\n")
		}, "model.safetensors is a Git LFS pointer, not the weights"},
		{"weights of another name", move("model.safetensors", "weights.safetensors"), "rename weights.safetensors to model.safetensors"},
		{"shards without index", move("model.safetensors", "model-00001-of-00002.safetensors"), "model.safetensors.index.json, published beside it, is needed as well"},
		{"weights in another format", move("model.safetensors", "pytorch_model.bin"), "pytorch_model.bin is in PyTorch's format, which is not read"},
		{"the tokenizer's older files", move("tokenizer.json", "vocab.json"), "it has no tokenizer.json: fetch the one published beside the weights; there is vocab.json"},
		{"weights cut off", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 9000); err != nil {
				t.Fatal(err)
			}
		}, "model.safetensors"},
		{"other weights", replace("agentmill.json", `"hash": "`, `"hash": "00`), "agentmill.json records 00"},
		{"a later schema", replace("agentmill.json", `"schema": 1`, `"schema": 99`), "schema is 99: this build reads 1 to 1"},
		{"manifest is no JSON", replace("agentmill.json", "{", ""), "agentmill.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, dir)
			_, err := checkpoint.Open(dir, checkpoint.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), "open policy "+dir+": ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one that names the folder, with %q", err, tt.want)
			}
		})
	}
}

func TestOpenWhatIsNoPolicy(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	published := t.TempDir()
	put(t, filepath.Join(published, "SmolLM2.Q4_1.gguf"), "GGUF")
	for _, tt := range []struct{ name, dir, want string }{
		{"no folder", filepath.Join(dir, "nowhere"), "no such file or directory"},
		{"a file", file, "want a folder"},
		{"a folder of something else", dir, "not a policy folder: want config.json and model.safetensors, or model.gguf, or adapter_config.json"},
		{"a GGUF file under its published name", published, "rename SmolLM2.Q4_1.gguf to model.gguf"},
	} {
		if _, err := checkpoint.Open(tt.dir, checkpoint.Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// TestGGUFBesideConfig: a folder of published text files whose weights are GGUF.
func TestGGUFBesideConfig(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(ggufDir)); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "config.json"), "{}")
	if p := open(t, dir); p.Config.HiddenSize != 32 {
		t.Errorf("hidden size %d, want the file's own, 32", p.Config.HiddenSize)
	}
}

// FuzzOpen opens folders with damaged text files: an error or a policy, never a
// panic, and never a configuration that its weights don't have.
func FuzzOpen(f *testing.F) {
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	base := filepath.Join(f.TempDir(), "base")
	if _, err := tinypolicy.Write(base, 1); err != nil {
		f.Fatal(err)
	}
	weights, vocabulary := read(filepath.Join(base, "model.safetensors")), read(filepath.Join(base, "tokenizer.json"))
	f.Add(read(filepath.Join(base, "config.json")), read(filepath.Join(base, "agentmill.json")), []byte(nil), []byte(nil))
	f.Add(read(filepath.Join(base, "config.json")), []byte(nil), []byte(nil), []byte(`{"weight_map":{"model.norm.weight":"m.safetensors"}}`))
	f.Add([]byte("{}"), []byte(nil), []byte(`{"peft_type":"LORA","base_model_name_or_path":"..","r":1,"lora_alpha":1,"target_modules":["q_proj"]}`), []byte(nil))
	f.Fuzz(func(t *testing.T, config, manifest, adapter, index []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{
			"config.json": config, "agentmill.json": manifest, "adapter_config.json": adapter,
			"model.safetensors.index.json": index, "tokenizer.json": vocabulary,
		} {
			if data != nil {
				put(t, filepath.Join(dir, name), string(data))
			}
		}
		if index == nil {
			put(t, filepath.Join(dir, "model.safetensors"), string(weights))
		}
		p, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			return
		}
		if p.Config.HiddenSize != 64 || p.Config.NumHiddenLayers != 2 {
			t.Errorf("accepted width %d and %d layers, the weights have 64 and 2", p.Config.HiddenSize, p.Config.NumHiddenLayers)
		}
		_ = p.Close()
	})
}

// TestGGUFRefuses changes bytes of the metadata, lengths kept.
func TestGGUFRefuses(t *testing.T) {
	for _, tt := range []struct{ name, old, with, want string }{
		{"another family", "\x05\x00\x00\x00\x00\x00\x00\x00llama\x14", "\x05\x00\x00\x00\x00\x00\x00\x00mamba\x14", `general.architecture is "mamba"`},
		{"a missing key", "llama.block_count", "llama.block_cound", "llama.block_count is missing"},
		{"another tokenizer", "gpt2", "t5xx", `tokenizer.ggml.model is "t5xx"`},
		{"another split", "smollm", "smolxx", `tokenizer.ggml.pre is "smolxx"`},
		{"a merge of no tokens", "c o", "c\x01o", "tokenizer.ggml.merges"},
		{"heads that are rotated in part", "llama.rope.dimension_count\x04\x00\x00\x00\x08", "llama.rope.dimension_count\x04\x00\x00\x00\x04", "llama.rope.dimension_count is 4: want the size of a head, 8"},
		{"no embedding", "token_embd.weight", "token_emby.weight", "token_embd.weight"},
		{"two of one name", "blk.1.ffn_up.weight", "blk.0.ffn_up.weight", `tensor "blk.0.ffn_up.weight": occurs twice`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			data, err := os.ReadFile(filepath.Join(ggufDir, "model.gguf"))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "model.gguf")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			edit(t, path, tt.old, tt.with)
			_, err = checkpoint.Open(dir, checkpoint.Options{})
			if err == nil || !strings.Contains(err.Error(), "model.gguf") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one that names the file, with %q", err, tt.want)
			}
		})
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// edit replaces the first occurrence of old in a file.
func edit(t *testing.T, path, old, with string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s does not contain %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
