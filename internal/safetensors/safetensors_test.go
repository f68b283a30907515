package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/half"
)

func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func encoded(t testing.TB, entries []Entry, metadata map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, entries, metadata); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func openBytes(t testing.TB, data []byte) *File {
	t.Helper()
	f, err := Open(write(t, filepath.Join(t.TempDir(), "w.safetensors"), data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestRoundTrip(t *testing.T) {
	long := make([]float32, 3*chunkValues/2)
	for i := range long {
		long[i] = float32(i%251) - 125
	}
	f := openBytes(t, encoded(t, []Entry{
		Of("z", F32, []int{2, 2}, []float32{1, -2, 0.1, math.MaxFloat32}),
		Of("a.long", BF16, []int{len(long)}, long),
		Of("scalar", F32, []int{}, []float32{7}),
		Of("none", F32, []int{0, 3}, nil),
	}, map[string]string{"format": "pt"}))
	if d := cmp.Diff([]string{"a.long", "none", "scalar", "z"}, f.Names()); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"format": "pt"}, f.Metadata()); d != "" {
		t.Errorf("metadata (-want +got):\n%s", d)
	}
	for _, want := range []struct {
		name   string
		shape  []int
		values []float32
	}{
		{"z", []int{2, 2}, []float32{1, -2, 0.1, math.MaxFloat32}},
		{"a.long", []int{len(long)}, long},
		{"scalar", []int{}, []float32{7}},
		{"none", []int{0, 3}, []float32{}},
	} {
		values, shape, err := f.Tensor(want.name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.shape, shape); d != "" {
			t.Errorf("%s: shape (-want +got):\n%s", want.name, d)
		}
		if d := cmp.Diff(want.values, values); d != "" {
			t.Errorf("%s: values (-want +got):\n%.300s", want.name, d)
		}
	}
}

// TestBytes fixes the format: what the published library reads.
func TestBytes(t *testing.T) {
	got := encoded(t, []Entry{Of("b", BF16, []int{1}, []float32{1}), Of("a", F32, []int{1}, []float32{2})}, nil)
	header := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]}}`
	header += strings.Repeat(" ", 7-(len(header)+7)%8)
	want := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	want = append(want, header...)
	want = append(want, 0, 0, 0, 0x40, 0x80, 0x3f)
	if !bytes.Equal(got, want) {
		t.Errorf("file is\n%q, want\n%q", got, want)
	}
}

func TestHalfPrecision(t *testing.T) {
	f := openBytes(t, raw(`{"h":{"dtype":"F16","shape":[3],"data_offsets":[0,6]}}`, "\x00\x3c\x00\xc0\x01\x00"))
	got, _, err := f.Tensor("h")
	if d := cmp.Diff([]float32{1, -2, 1.0 / (1 << 24)}, got); err != nil || d != "" {
		t.Errorf("error %v, values (-want +got):\n%s", err, d)
	}
}

func TestWriteRefuses(t *testing.T) {
	nan := float32(math.NaN())
	broken := errors.New("the device is gone")
	for _, tt := range []struct {
		name    string
		entries []Entry
		want    string
	}{
		{"NaN", []Entry{Of("w", F32, []int{2}, []float32{1, nan})}, `tensor "w": value 1 is NaN`},
		{"too large for bf16", []Entry{Of("w", BF16, []int{1}, []float32{math.MaxFloat32})}, "too large for bf16"},
		{"another shape", []Entry{Of("w", F32, []int{3}, []float32{1})}, `tensor "w": 1 values for shape [3]`},
		{"a name twice", []Entry{Of("w", F32, []int{0}, nil), Of("w", F32, []int{0}, nil)}, `tensor "w": name is taken`},
		{"an unknown type", []Entry{Of("w", F16, []int{0}, nil)}, `dtype "F16"`},
		{"values that fail", []Entry{{"w", F32, []int{1}, func() ([]float32, error) { return nil, broken }}}, `tensor "w": the device is gone`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Write(&bytes.Buffer{}, tt.entries, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

// raw is a file of a header's text and data.
func raw(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(b, header+data...)
}

func TestBroken(t *testing.T) {
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "0 bytes: too short"},
		{"another format", []byte("PK\x03\x04 and some more"), "not a safetensors file"},
		{"an absurd header", binary.LittleEndian.AppendUint64(nil, 1<<60), "header of 1152921504606846976 bytes"},
		{"a header longer than the file", append(binary.LittleEndian.AppendUint64(nil, 50), "{}"...), "header of 50 bytes in a file of 10"},
		{"no JSON", raw(`{"w":`, ""), "header: not valid JSON: unexpected end of JSON input"},
		{"no object", raw(`[1]`, ""), "not a JSON object"},
		{"an unknown type", raw(`{"w":{"dtype":"F12","shape":[1],"data_offsets":[0,4]}}`, "0123"), `tensor "w": dtype "F12"`},
		{"a negative size", raw(`{"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, "0123"), `tensor "w": shape [-1]`},
		{"sizes that overflow", raw(`{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, "0123"), "is impossible"},
		{"another length", raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, "0123"), "takes 8 bytes"},
		{"beyond the end", raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[400,404]}}`, "0123"), `tensor "w": data_offsets [400 404]`},
		{"reversed offsets", raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, "0123"), `tensor "w": data_offsets [4 0]`},
		{"cut off", raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, "0123"), "cut off"},
		{"overlap", raw(`{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "01234567"), `tensor "w": begins at byte`},
		{"a name twice", raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "0123"), `tensor "w": occurs twice`},
		{"no offsets", raw(`{"w":{"dtype":"F32","shape":[1]}}`, "0123"), `tensor "w": shape [1] of F32 takes 4 bytes`},
		{"offsets of another kind", raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":"all"}}`, "0123"), `tensor "w"`},
		{"half a value as size", raw(`{"w":{"dtype":"F32","shape":[0.5],"data_offsets":[0,4]}}`, "0123"), `tensor "w"`},
		{"a gap", raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "01234567"), "overlap or gap"},
		{"bytes of no tensor", raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "0123456789"), "the tensors end at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "w.safetensors"), tt.file)
			_, err := Open(path)
			if err == nil || !strings.HasPrefix(err.Error(), "read "+path+": ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one that names the file, with %q", err, tt.want)
			}
		})
	}
}

func TestTensorRefuses(t *testing.T) {
	f := openBytes(t, raw(`{"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, "01234567\x00\x00\x80\x7f"))
	for _, tt := range []struct{ tensor, want string }{
		{"i", `tensor "i": dtype I64: want F32, F16 or BF16`},
		{"w", `tensor "w": value 0 is +Inf`},
		{"x", `tensor "x": not in the file`},
	} {
		if _, _, err := f.Tensor(tt.tensor); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want one with %q", err, tt.want)
		}
	}
}

func TestShards(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m-1.safetensors"), encoded(t, []Entry{Of("a", F32, []int{1}, []float32{1})}, nil))
	write(t, filepath.Join(dir, "m-2.safetensors"), encoded(t, []Entry{Of("b", F32, []int{1}, []float32{2})}, nil))
	index := filepath.Join(dir, IndexFile)
	write(t, index, []byte(`{"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}}`))
	s, err := OpenSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, shape, err := s.Tensor("b")
	if err != nil || !cmp.Equal(got, []float32{2}) || !cmp.Equal(shape, []int{1}) {
		t.Errorf("b = %v, shape %v, error %v, want [2] of shape [1]", got, shape, err)
	}
	if d := cmp.Diff([]string{"a", "b"}, s.Names()); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	for _, tt := range []struct{ name, index, want string }{
		{"a tensor in the wrong shard", `{"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors"}}`, `tensor "a": not in m-2.safetensors`},
		{"a tensor in no shard", `{"weight_map":{"a":"m-1.safetensors","c":"m-1.safetensors"}}`, `tensor "c": not in m-1.safetensors`},
		{"a missing shard", `{"weight_map":{"a":"m-3.safetensors"}}`, "m-3.safetensors"},
		{"a path out of the folder", `{"weight_map":{"a":"../m-1.safetensors"}}`, "is not a file name"},
		{"no map", `{}`, "weight_map is missing"},
		{"no JSON", `{`, IndexFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, index, []byte(tt.index))
			if _, err := OpenSet(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := OpenSet(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error for an empty folder is %v, want that nothing exists", err)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(encoded(f, []Entry{Of("a", F32, []int{2, 1}, []float32{1, 2}), Of("b", BF16, []int{1}, []float32{1})}, map[string]string{"k": "v"}))
	f.Add(raw(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "0123"))
	f.Add(raw(`{"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"v":{"dtype":"F32","shape":[0],"data_offsets":[1,1]}}`, "0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		size := int64(len(data))
		h, err := readHeader(bytes.NewReader(data), size)
		if err != nil {
			return
		}
		for name, w := range h.tensors {
			if w.Offsets[0] < 8 || w.Offsets[1] > size || int64(w.elements())*sizes[w.DType] != w.Offsets[1]-w.Offsets[0] {
				t.Errorf("tensor %q of shape %v lies at %v in a file of %d", name, w.Shape, w.Offsets, size)
			}
		}
	})
}

// FuzzFile reads all tensors of whatever opens.
func FuzzFile(f *testing.F) {
	f.Add(encoded(f, []Entry{Of("a", F32, []int{2, 1}, []float32{1, 2}), Of("b", BF16, []int{5}, []float32{1, 2, 3, 4, 5})}, nil))
	f.Add(raw(`{"h":{"dtype":"F16","shape":[3],"data_offsets":[0,6]}}`, "\x00\x3c\x00\xc0\x01\x7c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(write(t, filepath.Join(t.TempDir(), "w.safetensors"), data))
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
				t.Errorf("tensor %q: %v is not finite", name, values)
			}
		}
	})
}
