package checkpoint_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/checkpoint"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
	"agentmill/internal/traj"
)

func save(t *testing.T, dir string, c checkpoint.Contents) checkpoint.Manifest {
	t.Helper()
	m, err := checkpoint.Save(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func entries(t *testing.T, p *checkpoint.Policy, dtype safetensors.DType) []safetensors.Entry {
	t.Helper()
	e, err := checkpoint.Entries(p, dtype)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSaveFromGGUF: the child of a GGUF policy is a complete published folder.
func TestSaveFromGGUF(t *testing.T) {
	parent := open(t, ggufDir)
	dir := filepath.Join(t.TempDir(), "deep", "policy")
	want := checkpoint.Manifest{
		Step: 3, Method: "sft", Updated: true, ToolFormat: "line", EnvOptions: &traj.EnvOptions{Search: "any", MaxTurns: 6},
		Data: []checkpoint.DataFile{{Name: "scored.jsonl", SHA256: "ab", Rows: 7}}, Metrics: map[string]float64{"loss": 0.5},
	}
	got := save(t, dir, checkpoint.Contents{Parent: parent, Tensors: entries(t, parent, safetensors.F32), Manifest: want})
	p := open(t, dir)
	want.Schema, want.Parent, want.Hash = checkpoint.ManifestSchema, parent.Hash, p.Hash
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("manifest returned (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, p.Manifest); d != "" {
		t.Errorf("manifest read (-want +got):\n%s", d)
	}
	if sum := sha256File(t, filepath.Join(dir, "model.safetensors")); p.Hash != sum {
		t.Errorf("hash is %s, want the file's SHA-256 %s", p.Hash, sum)
	}
	config := parent.Config
	config.TorchDType = "float32"
	if d := cmp.Diff(config, p.Config); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
	if p.ChatTemplate() != parent.ChatTemplate() {
		t.Errorf("chat template is %q, want the parent's", p.ChatTemplate())
	}
	for _, name := range parent.Names() {
		if !slices.Equal(values(t, parent, name), values(t, p, name)) {
			t.Errorf("%s differs from the parent's", name)
		}
	}
	checkVectors(t, p, "smollm")
}

func sha256File(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestSameBytes: saving twice gives the same files.
func TestSameBytes(t *testing.T) {
	parent := open(t, ggufDir)
	dir := t.TempDir()
	read := func(name string) map[string]string {
		path := filepath.Join(dir, name)
		save(t, path, checkpoint.Contents{
			Parent: parent, Tensors: entries(t, parent, safetensors.BF16),
			Manifest: checkpoint.Manifest{Flags: map[string]string{"b": "1", "a": "2"}, Metrics: map[string]float64{"y": 1, "x": 2}},
			Trainer:  &checkpoint.Trainer{State: map[string]int{"step": 1}},
		})
		return files(t, path)
	}
	if d := cmp.Diff(read("one"), read("two")); d != "" {
		t.Errorf("files differ (-one +two):\n%.500s", d)
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestConfigIsCarried keeps fields of config.json that are unknown here.
func TestConfigIsCarried(t *testing.T) {
	dir := t.TempDir()
	parentDir := tiny(t, filepath.Join(dir, "parent"), 1)
	edit(t, filepath.Join(parentDir, "config.json"), "{", `{"x_unknown": [1, 2], "dtype": "float16",`)
	parent := open(t, parentDir)
	child := filepath.Join(dir, "child")
	save(t, child, checkpoint.Contents{Parent: parent, Tensors: entries(t, parent, safetensors.BF16)})
	data, err := os.ReadFile(filepath.Join(child, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]any{1.0, 2.0}, fields["x_unknown"]); d != "" {
		t.Errorf("x_unknown (-want +got):\n%s", d)
	}
	if fields["torch_dtype"] != "bfloat16" || fields["dtype"] != nil {
		t.Errorf("torch_dtype is %v and dtype %v, want bfloat16 and nothing", fields["torch_dtype"], fields["dtype"])
	}
}

func TestFailedSaveLeavesNothing(t *testing.T) {
	parent := open(t, ggufDir)
	dir := t.TempDir()
	broken := entries(t, parent, safetensors.BF16)
	broken[3].Values = func() ([]float32, error) { return nil, errors.New("no space left") }
	_, err := checkpoint.Save(filepath.Join(dir, "p"), checkpoint.Contents{Parent: parent, Tensors: broken})
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), broken[3].Name) {
		t.Errorf("error is %v, want one that names tensor and cause", err)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSaveReplaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	old := tiny(t, dir, 1)
	first := open(t, old).Hash
	leftover := filepath.Join(filepath.Dir(dir), ".p.123.tmp")
	if err := os.Mkdir(leftover, 0o700); err != nil {
		t.Fatal(err)
	}
	tiny(t, dir, 2)
	if got := open(t, dir).Hash; got == first {
		t.Error("the old policy is still there")
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 1 || len(hidden) != 0 {
		t.Errorf("beside the policy: %v %v, want nothing", names, hidden)
	}
}

func TestSaveSparesForeignFolders(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(precious, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	parent := open(t, ggufDir)
	_, err := checkpoint.Save(dir, checkpoint.Contents{Parent: parent, Tensors: entries(t, parent, safetensors.BF16)})
	if err == nil || !strings.Contains(err.Error(), "was not written by agentmill") {
		t.Errorf("error is %v, want a refusal", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

const target = "model.layers.0.self_attn.q_proj"

// adapter is rank 1 on one matrix of the tiny policy.
func adapter(t *testing.T, base *checkpoint.Policy) (model.LoRA, []safetensors.Entry) {
	t.Helper()
	shape, err := base.Shape(target + ".weight")
	if err != nil {
		t.Fatal(err)
	}
	a, b := make([]float32, shape[1]), make([]float32, shape[0])
	for i := range a {
		a[i] = float32(i)
	}
	b[2] = 0.5
	return model.LoRA{Rank: 1, Alpha: 4, Targets: []string{"q_proj"}}, []safetensors.Entry{
		safetensors.Of("base_model.model."+target+".lora_A.weight", safetensors.F32, []int{1, len(a)}, a),
		safetensors.Of("base_model.model."+target+".lora_B.weight", safetensors.F32, []int{len(b), 1}, b),
	}
}

func TestAdapter(t *testing.T) {
	root := t.TempDir()
	base := open(t, tiny(t, filepath.Join(root, "base"), 1))
	lora, tensors := adapter(t, base)
	dir := filepath.Join(root, "run", "adapter")
	m := save(t, dir, checkpoint.Contents{Parent: base, LoRA: &lora, Tensors: tensors, Manifest: checkpoint.Manifest{Step: 1}})
	if d := cmp.Diff(&checkpoint.Base{Path: "../../base", SHA256: base.Hash}, m.Base); d != "" {
		t.Errorf("base (-want +got):\n%s", d)
	}
	p := open(t, dir)
	if p.Hash != m.Hash || p.Hash == base.Hash {
		t.Errorf("hash is %s, want that of the manifest, %s, and not the base's", p.Hash, m.Hash)
	}
	if d := cmp.Diff(lora, p.Adapter.LoRA); d != "" {
		t.Errorf("lora (-want +got):\n%s", d)
	}
	want := values(t, base, target+".weight")
	cols := len(tensors[0].Shape)
	cols = tensors[0].Shape[cols-1]
	for i := range cols { // row 2 gets scale 4 · 0.5 · a
		want[2*cols+i] += 2 * float32(i)
	}
	if d := cmp.Diff(want, values(t, p.Merged(), target+".weight")); d != "" {
		t.Errorf("merged (-want +got):\n%.300s", d)
	}
	for name, src := range map[string]model.Source{"merged": p.Merged(), "base": p, "GGUF": open(t, ggufDir)} {
		checkFill(t, name, src)
	}
	if !slices.Equal(values(t, p, target+".weight"), values(t, base, target+".weight")) {
		t.Error("the unmerged weights are not the base's")
	}
	if got := values(t, p.Adapter.Source(), tensors[1].Name); got[2] != 0.5 {
		t.Errorf("adapter's B has %v at 2, want 0.5", got[2])
	}

	// An adapter trained on belongs to the same base.
	next := filepath.Join(root, "run", "next")
	m = save(t, next, checkpoint.Contents{Parent: p, LoRA: &lora, Tensors: tensors})
	if m.Base.SHA256 != base.Hash || m.Parent != p.Hash {
		t.Errorf("base %s and parent %s, want %s and %s", m.Base.SHA256, m.Parent, base.Hash, p.Hash)
	}
	// Merged, it is a full policy again.
	merged := filepath.Join(root, "merged")
	full := slices.Clone(entries(t, p, safetensors.F32))
	for i, e := range full {
		full[i].Values = func() ([]float32, error) { v, _, err := p.Merged().Tensor(e.Name); return v, err }
	}
	save(t, merged, checkpoint.Contents{Parent: p, Tensors: full})
	if q := open(t, merged); q.Base != nil || !slices.Equal(values(t, q, target+".weight"), want) {
		t.Error("the merged policy has other weights")
	}
}

// checkFill compares the two ways to read a tensor.
func checkFill(t *testing.T, source string, src model.Source) {
	t.Helper()
	filler, ok := src.(model.Filler)
	if !ok {
		t.Fatalf("%s: is no model.Filler", source)
	}
	for _, name := range src.Names() {
		want := values(t, src, name)
		got := make([]float32, len(want))
		if err := filler.Fill(name, got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: Fill of %s: error %v, equal values: %v", source, name, err, slices.Equal(got, want))
		}
	}
}

func TestAdapterFindsItsBase(t *testing.T) {
	root := t.TempDir()
	base := open(t, tiny(t, filepath.Join(root, "base"), 1))
	lora, tensors := adapter(t, base)
	dir := filepath.Join(root, "adapter")
	save(t, dir, checkpoint.Contents{Parent: base, LoRA: &lora, Tensors: tensors})
	moved := filepath.Join(root, "elsewhere")
	if err := os.Rename(base.Dir, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || !strings.Contains(err.Error(), "base") {
		t.Errorf("error is %v, want that the base is missing", err)
	}
	p, err := checkpoint.Open(dir, checkpoint.Options{Base: moved})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	tiny(t, base.Dir, 2)
	if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || !strings.Contains(err.Error(), "this adapter was trained on") {
		t.Errorf("error is %v, want that the base is another", err)
	}
	if _, err := checkpoint.Open(dir, checkpoint.Options{Base: dir}); err == nil || !strings.Contains(err.Error(), "is an adapter itself") {
		t.Errorf("error is %v, want that the base is an adapter", err)
	}
	edit(t, filepath.Join(dir, "adapter_config.json"), `"../base"`, `"../adapter"`)
	if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || !strings.Contains(err.Error(), "is an adapter itself") {
		t.Errorf("error is %v, want that an adapter is not its own base", err)
	}
	for _, tt := range []struct{ name, old, with, want string }{
		{"another method", `"LORA"`, `"IA3"`, `peft_type "IA3"`},
		{"rank 0", `"r": 1`, `"r": 0`, "r is 0"},
		{"DoRA", `"use_dora": false`, `"use_dora": true`, "use_dora"},
		{"a pattern of modules", `"target_modules": [
    "q_proj"
  ]`, `"target_modules": "all-linear"`, "target_modules"},
	} {
		copied := filepath.Join(t.TempDir(), "a")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		edit(t, filepath.Join(copied, "adapter_config.json"), tt.old, tt.with)
		if _, err := checkpoint.Open(copied, checkpoint.Options{Base: moved}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

func TestTrainer(t *testing.T) {
	parent := open(t, ggufDir)
	dir := filepath.Join(t.TempDir(), "p")
	type state struct {
		Step int
		RNG  []uint64
	}
	want := state{4, []uint64{1 << 63, 2}}
	save(t, dir, checkpoint.Contents{
		Parent: parent, Tensors: entries(t, parent, safetensors.BF16),
		Trainer: &checkpoint.Trainer{State: want, Tensors: []safetensors.Entry{safetensors.Of("m.w", safetensors.F32, []int{2}, []float32{0.1, 0.2})}},
	})
	var got state
	f, err := checkpoint.OpenTrainer(dir, &got)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("state (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]float32{0.1, 0.2}, values(t, f, "m.w")); d != "" {
		t.Errorf("m.w (-want +got):\n%s", d)
	}
	file := filepath.Join(dir, "trainer", "trainer.safetensors")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.OpenTrainer(dir, &got); err == nil || !strings.Contains(err.Error(), "trainer.safetensors is damaged") {
		t.Errorf("a damaged state gives %v", err)
	}
	if err := checkpoint.DropTrainer(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.OpenTrainer(dir, &got); !errors.Is(err, checkpoint.ErrNoTrainer) {
		t.Errorf("error is %v, want ErrNoTrainer", err)
	}
	if err := checkpoint.DropTrainer(dir); err != nil {
		t.Errorf("dropping what is gone: %v", err)
	}
	open(t, dir)
}
