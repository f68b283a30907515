package gguf

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/half"
)

const typesFile = "testdata/types.gguf"

// TestTypes compares with the values of the package gguf, bit for bit.
// testdata is made by tools/golden/gguf_types.py.
func TestTypes(t *testing.T) {
	data, err := os.ReadFile("testdata/types.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]float32
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	f, err := Open(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Names()) != len(kinds) || len(want) != len(kinds) {
		t.Fatalf("%d tensors and %d wanted: want one for each of %d types", len(f.Names()), len(want), len(kinds))
	}
	for _, name := range f.Names() {
		kind, err := f.Type(name)
		if err != nil {
			t.Fatal(err)
		}
		got, shape, err := f.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		if name != kind+".weight" || !cmp.Equal(shape, []int{2, 256}) {
			t.Errorf("tensor %q has type %s and shape %v", name, kind, shape)
		}
		if d := cmp.Diff(want[kind], got); d != "" {
			t.Errorf("%s (-want +got):\n%.500s", kind, d)
		}
	}
}

func TestMeta(t *testing.T) {
	f, err := Open(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := f.Meta()
	for key, want := range map[string]any{
		"general.architecture": "llama",
		"t.u8":                 uint64(200),
		"t.i8":                 int64(-100),
		"t.u16":                uint64(60000),
		"t.i16":                int64(-30000),
		"t.u32":                uint64(4000000000),
		"t.i32":                int64(-2000000000),
		"t.u64":                uint64(1 << 63),
		"t.i64":                int64(-1 << 62),
		"t.f32":                0.5,
		"t.f64":                0.1,
		"t.bool":               true,
		"t.string":             "tütata",
		"t.strings":            []string{"a", "", "bc"},
		"t.ints":               []int64{1, -2, 3},
		"t.floats":             []float64{0.5, -2},
	} {
		if d := cmp.Diff(want, got[key]); d != "" {
			t.Errorf("%s (-want +got):\n%s", key, d)
		}
	}
	if _, err := got.String("t.u8"); err == nil || !strings.Contains(err.Error(), "t.u8 is a uint64: want a string") {
		t.Errorf("error is %v, want one that names key and types", err)
	}
	if _, err := got.Int("t.u64"); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("error is %v, want out of range", err)
	}
	if _, err := got.Float("nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere is missing") {
		t.Errorf("error is %v, want missing", err)
	}
}

func TestMissingTensorIsNamed(t *testing.T) {
	f, err := Open(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _, err = f.Tensor("blk.0.attn_q.weight")
	if want := `read testdata/types.gguf: tensor "blk.0.attn_q.weight": not in the file`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
}

// TestBroken damages a small good file in one place a case.
func TestBroken(t *testing.T) {
	for _, tt := range []struct {
		name string
		file func() []byte
		want string
	}{
		{"empty", func() []byte { return nil }, "the file ends within the header"},
		{"another format", func() []byte { return []byte("PK\x03\x04 and so on") }, `it starts with "PK\x03\x04": not a GGUF file`},
		{"version 1", func() []byte { return new(build).start(1, 0, 0).b }, "GGUF version 1"},
		{"big-endian", func() []byte { return new(build).start(3<<24, 0, 0).b }, "little-endian"},
		{"absurd tensor count", func() []byte { return new(build).start(3, 1<<62, 0).b }, "tensor count is 4611686018427387904"},
		{"absurd metadata count", func() []byte { return new(build).start(3, 0, 1<<40).b }, "metadata count is 1099511627776"},
		{"absurd string length", func() []byte {
			return new(build).start(3, 0, 1).u64(1 << 50).pad(64).b
		}, "string length is 1125899906842624"},
		{"absurd list length", func() []byte {
			return new(build).start(3, 0, 1).str("k").u32(9).u32(4).u64(1 << 60).pad(64).b
		}, `key "k": list length is 1152921504606846976`},
		{"list of lists", func() []byte {
			return new(build).start(3, 0, 1).str("k").u32(9).u32(9).u64(1).pad(64).b
		}, `key "k": list of value type 9`},
		{"unknown value type", func() []byte {
			return new(build).start(3, 0, 1).str("k").u32(77).pad(64).b
		}, "value type 77 is unknown"},
		{"a key twice", func() []byte {
			return new(build).start(3, 0, 2).str("k").u32(7).raw(1).str("k").u32(7).raw(1).pad(64).b
		}, `key "k" occurs twice`},
		{"a truth value of 2", func() []byte {
			return new(build).start(3, 0, 1).str("k").u32(7).raw(2).pad(64).b
		}, "truth value 2"},
		{"an alignment of 3", func() []byte {
			return new(build).start(3, 0, 1).str("general.alignment").u32(4).u32(3).pad(64).b
		}, "general.alignment is 3"},
		{"five dimensions", func() []byte { return new(build).start(3, 1, 0).str("w").u32(5).pad(64).b }, `"w": 5 dimensions`},
		{"a size of 0", func() []byte { return new(build).start(3, 1, 0).tensor("w", 0, 0, 0).pad(64).b }, "size 0 of dimension 0"},
		{"sizes that overflow", func() []byte {
			return new(build).start(3, 1, 0).tensor("w", 0, 0, 1<<33, 1<<33).pad(64).b
		}, "does not fit into the file"},
		{"an unknown type", func() []byte { return new(build).start(3, 1, 0).tensor("w", 99, 0, 8).pad(64).b }, "type 99: want one of bf16"},
		{"half a block", func() []byte { return new(build).start(3, 1, 0).tensor("w", 8, 0, 33).pad(64).b }, "q8_0 needs a multiple of 32"},
		{"an odd offset", func() []byte { return new(build).start(3, 1, 0).tensor("w", 0, 7, 8).pad(64).b }, `tensor "w": offset 7`},
		{"an offset beyond the end", func() []byte {
			return new(build).start(3, 1, 0).tensor("w", 0, 1<<40, 8).pad(64).b
		}, `tensor "w": 32 bytes at`},
		{"an offset that overflows", func() []byte {
			return new(build).start(3, 1, 0).tensor("w", 0, 1<<63, 8).pad(64).b
		}, "offset 9223372036854775808 is out of range"},
		{"cut off", func() []byte { return new(build).start(3, 1, 0).tensor("w", 0, 0, 64).align().pad(100).b }, "reach beyond the end"},
		{"overlap", func() []byte {
			return new(build).start(3, 2, 0).tensor("v", 0, 0, 16).tensor("w", 0, 32, 8).align().pad(64).b
		}, `tensor "w": its bytes overlap those of "v"`},
		{"a tensor twice", func() []byte {
			return new(build).start(3, 2, 0).tensor("w", 0, 0, 8).tensor("w", 0, 32, 8).align().pad(64).b
		}, `tensor "w": occurs twice`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.gguf")
			if err := os.WriteFile(path, tt.file(), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			if err == nil || !strings.HasPrefix(err.Error(), "read "+path+": ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one that names the file, with %q", err, tt.want)
			}
		})
	}
}

func TestNaNIsNamed(t *testing.T) {
	nan := []byte{0, 0, 0xc0, 0x7f}
	file := new(build).start(3, 1, 0).tensor("w", 0, 0, 2).align().raw(0, 0, 0, 0).raw(nan...).b
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := f.Tensor("w"); err == nil || !strings.Contains(err.Error(), `tensor "w": value 1 is NaN`) {
		t.Errorf("error is %v, want one that names tensor and value", err)
	}
}

// A build writes a GGUF file piece by piece.
type build struct{ b []byte }

func (w *build) raw(b ...byte) *build { w.b = append(w.b, b...); return w }
func (w *build) u32(v uint32) *build {
	return w.raw(byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}
func (w *build) u64(v uint64) *build { return w.u32(uint32(v)).u32(uint32(v >> 32)) }
func (w *build) str(s string) *build { return w.u64(uint64(len(s))).raw([]byte(s)...) }
func (w *build) pad(n int) *build    { return w.raw(make([]byte, n)...) }
func (w *build) align() *build       { return w.pad((32 - len(w.b)%32) % 32) }

func (w *build) start(version uint32, tensors, metas uint64) *build {
	w.raw([]byte("GGUF")...).u32(version).u64(tensors).u64(metas)
	if tensors < 9 && metas < 9 {
		return w
	}
	return w.pad(64)
}

func (w *build) tensor(name string, kind uint32, offset uint64, dims ...uint64) *build {
	w.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		w.u64(d)
	}
	return w.u32(kind).u64(offset)
}

func FuzzHeader(f *testing.F) {
	data, err := os.ReadFile(typesFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[:1600])
	f.Add(new(build).start(3, 2, 0).tensor("v", 0, 0, 16).tensor("w", 8, 64, 32).align().pad(128).b)
	f.Add(new(build).start(2, 0, 1).str("k").u32(9).u32(8).u64(1).str("x").align().b)
	f.Fuzz(func(t *testing.T, data []byte) {
		size := int64(len(data))
		h, err := readHeader(bytes.NewReader(data), size)
		if err != nil {
			return
		}
		for name, w := range h.tensors {
			if w.offset < 0 || w.offset+w.size() > size || w.size() < 1 {
				t.Errorf("tensor %q lies at %d and has %d bytes in a file of %d", name, w.offset, w.size(), size)
			}
		}
	})
}

// FuzzFile reads all tensors of whatever opens.
func FuzzFile(f *testing.F) {
	data, err := os.ReadFile(typesFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(new(build).start(3, 2, 0).tensor("v", 0, 0, 16).tensor("w", 8, 64, 32).align().pad(128).b)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := Open(path)
		if err != nil {
			return
		}
		defer file.Close()
		for _, name := range file.Names() {
			values, _, err := file.Tensor(name)
			if err != nil && !strings.Contains(err.Error(), strconv.Quote(name)) {
				t.Errorf("tensor %q: error is %v, which does not name it", name, err)
			}
			if err == nil && half.NotFinite(values) >= 0 {
				t.Errorf("tensor %q is not finite", name)
			}
		}
	})
}

func BenchmarkTensor(b *testing.B) {
	for _, name := range []string{"q4_1", "q8_0", "f32"} {
		b.Run("type="+name, func(b *testing.B) {
			const values = 1 << 16
			for _, k := range kinds {
				if k.name == name {
					dst, src := make([]float32, values), make([]byte, values/k.block*k.bytes)
					b.SetBytes(4 * values)
					for b.Loop() {
						k.decode(dst, src)
					}
				}
			}
		})
	}
}
