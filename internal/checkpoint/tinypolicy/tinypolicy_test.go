package tinypolicy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"agentmill/internal/catalog"
	"agentmill/internal/checkpoint"
	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/model"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, seed uint64) checkpoint.Manifest {
		m, err := tinypolicy.Write(filepath.Join(dir, name), seed)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a, same, other := write("a", 1), write("same", 1), write("other", 2)
	if a.Hash != same.Hash || a.Hash == other.Hash {
		t.Errorf("hashes of seeds 1, 1 and 2 are %s, %s and %s: want two alike and one other", a.Hash, same.Hash, other.Hash)
	}
	p, err := checkpoint.Open(filepath.Join(dir, "a"), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if n := p.Tokenizer.Size(); n > 512 || n != p.Config.VocabSize {
		t.Errorf("%d tokens and a vocab_size of %d: want equal and at most 512", n, p.Config.VocabSize)
	}
	const text = "read 12 the answer is <|im_end|> naïve 😀\x00\x04"
	if got := p.Tokenizer.Decode(p.Tokenizer.Encode(text)); got != text {
		t.Errorf("round trip of %q gives %q", text, got)
	}
	if n := len(p.Tokenizer.Encode("search the")); n != 2 {
		t.Errorf("%d tokens for two known words, want 2", n)
	}
	checkTensors(t, p)
}

// checkTensors compares the tensors with those that were meant.
func checkTensors(t *testing.T, p *checkpoint.Policy) {
	t.Helper()
	if got, want := len(p.Names()), len(tinypolicy.Tensors(p.Config, 1)); got != want {
		t.Errorf("%d tensors, want %d", got, want)
	}
	for _, e := range tinypolicy.Tensors(p.Config, 1) {
		values, _, err := p.Tensor(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := e.Values()
		for i, v := range values {
			if d := v - want[i]; d > 0.02 || d < -0.02 {
				t.Fatalf("%s: value %d is %v, want %v rounded to bf16", e.Name, i, v, want[i])
			}
		}
	}
}

// TestShapes writes the tiny ones and builds their models: nothing is missing,
// nothing left over. Of the others it checks the configuration alone.
func TestShapes(t *testing.T) {
	backend, err := catalog.Device("cpu", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	for _, shape := range tinypolicy.Shapes() {
		if !strings.HasPrefix(shape, tinypolicy.Tiny) {
			if _, err := tinypolicy.Config(shape, 300); err != nil {
				t.Errorf("%s: %v", shape, err)
			}
			continue
		}
		dir := filepath.Join(t.TempDir(), shape)
		if _, err := tinypolicy.WriteShape(dir, shape, 1); err != nil {
			t.Fatal(err)
		}
		p, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkTensors(t, p)
		m, err := catalog.NewModel(p.Config, backend, p, model.Options{})
		if err != nil {
			t.Fatalf("%s: %v", shape, err)
		}
		m.Close()
		_ = p.Close()
	}
	if _, err := tinypolicy.WriteShape(t.TempDir(), "huge", 1); err == nil || !strings.Contains(err.Error(), `shape "huge": want one of llama-3.2-1b`) {
		t.Errorf("error is %v, want one that lists the shapes", err)
	}
}
