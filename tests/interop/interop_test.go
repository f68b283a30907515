// Package interop tests, against the published Python libraries, that policy
// folders mean the same there and here: run.sh fetches the libraries.
package interop

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/catalog"
	"agentmill/internal/chat"
	"agentmill/internal/chattemplate"
	"agentmill/internal/checkpoint"
	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
	"agentmill/internal/safetensors"
	"agentmill/internal/seed"
)

// A request and its answer, as policy.py describes them.
type request struct {
	Make     map[string]any `json:"make,omitempty"`
	Dir      string         `json:"dir,omitempty"`
	GGUF     string         `json:"gguf,omitempty"`
	Adapter  string         `json:"adapter,omitempty"`
	Texts    []string       `json:"texts,omitempty"`
	Messages []chat.Message `json:"messages,omitempty"`
	IDs      [][]int32      `json:"ids,omitempty"`
	Last     [][]int32      `json:"last,omitempty"`
}

type answer struct {
	Encoded [][]int32
	EOS     int32
	Chat    []int32
	Logits  [][]float32
	Last    [][]float32
}

func python(t *testing.T, r request) (a answer) {
	t.Helper()
	ask(t, "policy.py", r, &a)
	return a
}

// ask runs a script on a request and decodes its answer.
func ask(t *testing.T, script string, r, a any) {
	t.Helper()
	exe := os.Getenv("AGENTMILL_PYTHON")
	if exe == "" {
		t.Skip("AGENTMILL_PYTHON is not set to a Python with transformers, PEFT and llama.cpp: make test-interop sets it")
	}
	in, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, script)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, a); err != nil {
		t.Fatalf("%s answers %.200q: %v", script, out, err)
	}
}

func open(t *testing.T, dir string) *checkpoint.Policy {
	t.Helper()
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func smolLM2(t *testing.T) *checkpoint.Policy {
	t.Helper()
	dir := os.Getenv("AGENTMILL_SMOLLM2")
	if dir == "" {
		t.Skip("AGENTMILL_SMOLLM2 is not set to a policy folder with SmolLM2-135M-Instruct: make test-interop sets it")
	}
	return open(t, dir)
}

// engine loads p's weights, adapter included, for exact arithmetic.
func engine(t *testing.T, p *checkpoint.Policy) model.Model {
	t.Helper()
	b, err := catalog.Device("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := catalog.NewModel(p.Config, b, p.Merged(), model.Options{DType: device.F32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		_ = b.Close()
	})
	return m
}

// logits runs one row of ids; with last, only what follows its last id.
func logits(m model.Model, ids []int32, last bool) []float32 {
	b := &model.Batch{IDs: ids, Seqs: []device.Seq{{Len: len(ids)}}}
	for p := range ids {
		b.Positions = append(b.Positions, int32(p))
		if !last || p == len(ids)-1 {
			b.Rows = append(b.Rows, int32(p))
		}
	}
	out := make([]float32, len(b.Rows)*m.Config().VocabSize)
	m.Weights().Backend.Download(out, m.Logits(b).Buf)
	return out
}

var (
	texts = []string{
		"When does the contract end?  On 31 May 2001,\n\n it's said.", "  naïve 😀 ١٢٣ x²\t<|im_end|>", "search contract 12 | 34",
	}
	messages = []chat.Message{
		{Role: chat.System, Content: "Each turn is one line: search WORDS, read ID, or answer TEXT | ID."},
		{Role: chat.User, Content: "Today is 2001-06-01. When does the contract end?"},
		{Role: chat.Assistant, Content: "search contract"},
		{Role: chat.User, Content: "12 2001-05-01 Ada Quill: contract | ends on 31 May"},
	}
)

// checkText compares tokenizer and chat template.
func checkText(t *testing.T, p *checkpoint.Policy, a answer) {
	t.Helper()
	for i, text := range texts {
		if d := cmp.Diff(a.Encoded[i], p.Tokenizer.EncodeSpecial(text)); d != "" {
			t.Errorf("%q (-transformers +ours):\n%s", text, d)
		}
	}
	codec, err := chattemplate.New(p.Tokenizer, p.ChatTemplate(), p.TemplateTokens())
	if err != nil {
		t.Fatal(err)
	}
	talk, err := codec.Begin(messages, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a.Chat, talk.Prompt()); d != "" {
		t.Errorf("chat (-transformers +ours):\n%s", d)
	}
	if a.EOS != codec.EndOfTurn() {
		t.Errorf("transformers ends with token %d, want %d", a.EOS, codec.EndOfTurn())
	}
}

// checkLogits compares our engine on p with PyTorch's float32, which adds up in
// another order.
func checkLogits(t *testing.T, p *checkpoint.Policy, ids [][]int32, want [][]float32) {
	t.Helper()
	m := engine(t, p)
	for i := range ids {
		numtest.Close(t, "logits", logits(m, ids[i], false), want[i], numtest.Tol{Abs: 1e-4, Rel: 1e-4})
	}
}

var rows = [][]int32{{1, 5, 70, 301, 2, 9}, {1}, {3, 3, 3, 200, 100, 50, 25, 12, 6, 3, 1, 2}}

func write(t *testing.T, dir, shape string) *checkpoint.Policy {
	t.Helper()
	if _, err := tinypolicy.WriteShape(dir, shape, 1); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

// tinyShapes are very small models of each family.
var tinyShapes = []string{"tiny", "tiny-llama3", "tiny-qwen2", "tiny-qwen3"}

func eachShape(t *testing.T, test func(t *testing.T, shape string)) {
	t.Helper()
	for _, shape := range tinyShapes {
		t.Run(shape, func(t *testing.T) { test(t, shape) })
	}
}

func TestTransformersLoadsTiny(t *testing.T) {
	eachShape(t, func(t *testing.T, shape string) {
		p := write(t, filepath.Join(t.TempDir(), "tiny"), shape)
		a := python(t, request{Dir: p.Dir, Texts: texts, Messages: messages, IDs: rows})
		checkText(t, p, a)
		checkLogits(t, p, rows, a.Logits)
	})
}

// TestTransformersLoadsSmolLM2 writes the GGUF model as a published folder.
// Transformers must see in it just what it sees in the GGUF file itself.
func TestTransformersLoadsSmolLM2(t *testing.T) {
	parent := smolLM2(t)
	dir := filepath.Join(t.TempDir(), "smollm2")
	entries, err := checkpoint.Entries(parent, safetensors.F32)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Save(dir, checkpoint.Contents{Parent: parent, Tensors: entries}); err != nil {
		t.Fatal(err)
	}
	var last [][]int32
	for _, text := range texts {
		last = append(last, parent.Tokenizer.Encode(text))
	}
	a := python(t, request{Dir: dir, Texts: texts, Messages: messages, Last: last})
	checkText(t, parent, a)
	fromGGUF := python(t, request{Dir: parent.Dir, GGUF: "model.gguf", Last: last})
	m := engine(t, open(t, dir))
	for i := range last {
		numtest.Close(t, "folder and GGUF file in transformers", a.Last[i], fromGGUF.Last[i], numtest.Tol{Abs: 1e-5})
		numtest.Close(t, "ours and transformers'", logits(m, last[i], true), a.Last[i], numtest.Tol{Abs: 2e-3, Rel: 1e-3})
	}
}

// TestPEFTLoadsAdapter: an adapter on all projections.
func TestPEFTLoadsAdapter(t *testing.T) {
	eachShape(t, func(t *testing.T, shape string) {
		root := t.TempDir()
		base := write(t, filepath.Join(root, "base"), shape)
		lora := model.LoRA{Rank: 2, Alpha: 3, Targets: model.AllProjections(), RSLoRA: shape == "tiny-qwen3"}
		dir := filepath.Join(root, "adapter")
		if _, err := checkpoint.Save(dir, checkpoint.Contents{Parent: base, LoRA: &lora, Tensors: adapter(t, base, lora)}); err != nil {
			t.Fatal(err)
		}
		a := python(t, request{Dir: base.Dir, Adapter: dir, IDs: rows})
		checkLogits(t, open(t, dir), rows, a.Logits)
		if plain := python(t, request{Dir: base.Dir, IDs: rows}); cmp.Equal(plain.Logits, a.Logits) {
			t.Error("the adapter changes nothing: this test has lost its purpose")
		}
	})
}

func adapter(t *testing.T, base *checkpoint.Policy, lora model.LoRA) []safetensors.Entry {
	t.Helper()
	rng := seed.Stream(1, "adapter")
	random := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64()) / 10
		}
		return v
	}
	var entries []safetensors.Entry
	for _, name := range base.Names() {
		shape, err := base.Shape(name)
		if err != nil {
			t.Fatal(err)
		}
		module := name[:len(name)-len(".weight")]
		if filepath.Ext(module) == ".embed_tokens" || module == "lm_head" || len(shape) != 2 {
			continue
		}
		entries = append(entries,
			safetensors.Of("base_model.model."+module+".lora_A.weight", safetensors.F32, []int{lora.Rank, shape[1]}, random(lora.Rank*shape[1])),
			safetensors.Of("base_model.model."+module+".lora_B.weight", safetensors.F32, []int{shape[0], lora.Rank}, random(lora.Rank*shape[0])))
	}
	return entries
}

// TestWeLoadPEFT opens an adapter that PEFT has written.
func TestWeLoadPEFT(t *testing.T) {
	eachShape(t, func(t *testing.T, shape string) {
		root := t.TempDir()
		base := write(t, filepath.Join(root, "base"), shape).Dir
		dir := filepath.Join(root, "adapter")
		a := python(t, request{Make: map[string]any{"kind": "adapter", "out": dir}, Dir: base, Adapter: dir, IDs: rows})
		checkLogits(t, open(t, dir), rows, a.Logits)
	})
}

// TestWeLoadTransformers opens a folder that transformers has written, in shards.
func TestWeLoadTransformers(t *testing.T) {
	for _, family := range []string{"llama", "qwen2", "qwen3"} {
		t.Run(family, func(t *testing.T) {
			root := t.TempDir()
			base := write(t, filepath.Join(root, "base"), "tiny")
			dir := filepath.Join(root, "theirs")
			python(t, request{Make: map[string]any{"kind": "model", "out": dir, "family": family, "vocab": base.Config.VocabSize}, Dir: base.Dir})
			if _, err := os.Stat(filepath.Join(dir, safetensors.IndexFile)); err != nil {
				t.Fatal(err)
			}
			p := open(t, dir)
			if p.Config.ModelType != family {
				t.Errorf("model_type is %q, want %q", p.Config.ModelType, family)
			}
			a := python(t, request{Dir: dir, Texts: texts, Messages: messages, IDs: rows})
			checkText(t, p, a)
			checkLogits(t, p, rows, a.Logits)
		})
	}
}
