package gguf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func entry(name, kind string, shape []int, values ...float32) Entry {
	return Entry{name, kind, shape, func() ([]float32, error) { return values, nil }}
}

// TestWriteThenRead: all kinds of metadata and tensors come back.
func TestWriteThenRead(t *testing.T) {
	meta := []Pair{
		{"general.architecture", "llama"},
		{"a.count", uint32(7)},
		{"a.eps", float32(0.25)},
		{"a.yes", true},
		{"a.words", []string{"one", "", "drei"}},
		{"a.types", []int32{1, -3}},
	}
	var b bytes.Buffer
	err := Write(&b, meta, []Entry{
		entry("m", "f32", []int{2, 3}, 1, 2, 3, 4, 5, 6),
		entry("v", "bf16", []int{5}, 1, -2, .5, 3, 1024),
		entry("w", "f32", []int{1}, 9),
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string][]float32{"m": {1, 2, 3, 4, 5, 6}, "v": {1, -2, .5, 3, 1024}, "w": {9}} {
		got, _, err := f.Tensor(name)
		if err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if shape, _ := f.Shape("m"); cmp.Diff([]int{2, 3}, shape) != "" {
		t.Errorf("shape of m: %v", shape)
	}
	m := f.Meta()
	arch, _ := m.String("general.architecture")
	count, _ := m.Int("a.count")
	eps, _ := m.Float("a.eps")
	words, _ := m.Strings("a.words")
	types, _ := m.Ints("a.types")
	if arch != "llama" || count != 7 || eps != .25 || cmp.Diff([]string{"one", "", "drei"}, words) != "" || len(types) != 2 || types[1] != -3 {
		t.Errorf("metadata: %q %d %v %q %v", arch, count, eps, words, types)
	}
}

func TestWriteRefuses(t *testing.T) {
	broken := Entry{"b", "f32", []int{1}, func() ([]float32, error) { return nil, errors.New("gone") }}
	for _, tt := range []struct {
		meta    []Pair
		tensors []Entry
		want    string
	}{
		{[]Pair{{"k", 1}}, nil, "metadata k: a value of type int can not be written"},
		{nil, []Entry{entry("t", "q4_0", []int{32})}, `tensor "t": type "q4_0": want one of bf16, f32`},
		{nil, []Entry{entry("t", "f32", []int{2}, 1)}, `tensor "t": values and shape do not fit`},
		{nil, []Entry{broken}, `tensor "b": gone`},
	} {
		if err := Write(&bytes.Buffer{}, tt.meta, tt.tensors); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
