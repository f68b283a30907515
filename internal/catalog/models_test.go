package catalog_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/catalog"
	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
)

func TestUnknownNames(t *testing.T) {
	_, err := catalog.NewModel(model.Config{ModelType: "gpt2"}, nil, nil, model.Options{})
	wantError(t, "a family we do not have", err, `model_type is "gpt2": want llama, qwen2 or qwen3`)
	_, err = catalog.Precision("int3")
	wantError(t, "a precision we do not have", err, `precision "int3": want bf16, f32, w16 or w8`)
	_, err = catalog.Device("tpu", 0)
	wantError(t, "a device we do not have", err, `device "tpu": want cpu`)
	_, err = catalog.OpenLocal(catalog.LocalConfig{Dir: t.TempDir(), Precision: "w16", Device: "cpu"})
	wantError(t, "an empty folder", err, "not a policy folder")
}

func wantError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error is %v, want one with %q", name, err, want)
	}
}

// A golden is what transformers computed of SmolLM2-135M-Instruct:
// testdata/smollm2.json, written by tools/golden/smollm2.py.
type golden struct {
	Script      string `json:"script"`
	ModelSHA256 string `json:"model_sha256"`
	Cases       []struct {
		Text      string    `json:"text"`
		IDs       []int32   `json:"ids"`
		LogP      []float32 `json:"logp"`
		TopIDs    []int32   `json:"top_ids"`
		TopLogits []float32 `json:"top_logits"`
	} `json:"cases"`
	GradNorms map[string]float64 `json:"grad_norms"`
}

// openSmolLM2 opens the policy folder that AGENTMILL_SMOLLM2 names.
func openSmolLM2(t *testing.T) (*checkpoint.Policy, golden) {
	t.Helper()
	dir := os.Getenv("AGENTMILL_SMOLLM2")
	if dir == "" {
		t.Skip("AGENTMILL_SMOLLM2 is not set to a policy folder with SmolLM2-135M-Instruct (make model)")
	}
	var g golden
	data, err := os.ReadFile("testdata/smollm2.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../tools/golden/smollm2.py")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(script); g.Script != hex.EncodeToString(sum[:]) {
		t.Fatal("smollm2.json was not written by this tools/golden/smollm2.py: run it again")
	}
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if p.Hash != g.ModelSHA256 {
		t.Skipf("%s holds another model (hash %s) than the golden numbers are of", dir, p.Hash)
	}
	return p, g
}

func newModel(t *testing.T, p *checkpoint.Policy, o model.Options) model.Model {
	t.Helper()
	b, err := catalog.Device("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := catalog.NewModel(p.Config, b, p.Merged(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		_ = b.Close()
	})
	return m
}

// TestSmolLM2 compares with transformers, which computed in float64. Float32
// adds up rounding over 30 layers; bf16 weights have 8 bits.
func TestSmolLM2(t *testing.T) {
	p, g := openSmolLM2(t)
	for i, c := range g.Cases {
		if strings.Contains(c.Text, "<|") {
			continue // we encode markup by name only, never from text
		}
		if diff := cmp.Diff(c.IDs, p.Tokenizer.Encode(c.Text)); diff != "" {
			t.Errorf("case %d: token ids (-transformers +ours):\n%s", i, diff)
		}
	}
	for _, tt := range []struct {
		name  string
		dtype device.DType
		tol   numtest.Tol
	}{
		{"f32", device.F32, numtest.Tol{Abs: 1e-3}},
		{"w16", device.BF16, numtest.Tol{Abs: 0.3, Rel: 0.05}},
	} {
		m := newModel(t, p, model.Options{DType: tt.dtype})
		for i, c := range g.Cases {
			logp := make([]float32, len(c.LogP))
			m.Forward(wholeOf(t, c.IDs), logp, false)
			numtest.Close(t, fmt.Sprintf("%s logp %d", tt.name, i), logp, c.LogP, tt.tol)
			numtest.Close(t, fmt.Sprintf("%s top logits %d", tt.name, i), lastLogits(m, c.IDs, c.TopIDs), c.TopLogits, tt.tol)
		}
	}
}

// wholeOf trains on every token but the first.
func wholeOf(t *testing.T, ids []int32) *model.Batch {
	t.Helper()
	s := model.Sample{IDs: ids, Trained: make([]bool, len(ids))}
	for i := range ids {
		s.Trained[i] = i > 0
	}
	b, err := model.Pack([]model.Sample{s})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lastLogits are the logits of chosen tokens after the last of ids.
func lastLogits(m model.Model, ids, chosen []int32) []float32 {
	b := &model.Batch{IDs: ids, Seqs: []device.Seq{{Len: len(ids)}}, Rows: []int32{int32(len(ids) - 1)}}
	for p := range ids {
		b.Positions = append(b.Positions, int32(p))
	}
	row := make([]float32, m.Config().VocabSize)
	m.Weights().Backend.Download(row, m.Logits(b).Buf)
	var out []float32
	for _, id := range chosen {
		out = append(out, row[id])
	}
	return out
}

// TestSmolLM2Grad compares the norm of every tensor's gradient.
func TestSmolLM2Grad(t *testing.T) {
	p, g := openSmolLM2(t)
	m := newModel(t, p, model.Options{Train: model.TrainFull})
	b := wholeOf(t, g.Cases[1].IDs)
	n := len(b.Targets)
	dlogp := make([]float32, n)
	for i := range dlogp {
		dlogp[i] = -1 / float32(n)
	}
	m.Forward(b, make([]float32, n), true)
	m.Backward(dlogp)
	if got := len(m.Weights().Params()); got != len(g.GradNorms) {
		t.Errorf("%d tensors have gradients, want %d", got, len(g.GradNorms))
	}
	for _, param := range m.Weights().Params() {
		norm := math.Sqrt(m.Weights().Backend.SumSquares(param.Grad))
		numtest.Close(t, param.Name, []float64{norm}, []float64{g.GradNorms[param.Name]}, numtest.Tol{Rel: 1e-3})
	}
}
