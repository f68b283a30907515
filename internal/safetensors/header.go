package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"agentmill/internal/jsonl"
)

// A DType is how values are stored, as the format names it.
type DType string

// The types that Tensor and Write know.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
)

// sizes are the bytes of a value of every type of the format.
var sizes = map[DType]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, F16: 2, BF16: 2,
	"I32": 4, "U32": 4, F32: 4, "I64": 8, "U64": 8, "F64": 8, "C64": 8,
}

const (
	metadataKey = "__metadata__"
	maxHeader   = 100_000_000 // the format's own limit
)

// header describes a file's tensors and where their values lie.
type header struct {
	metadata map[string]string
	tensors  map[string]tensor
	order    []string // names by position of their values
}

type tensor struct {
	DType   DType    `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // from the end of the header; readHeader adds its size
}

func (t tensor) elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// readHeader parses and checks the header of a file of size bytes.
func readHeader(r io.ReaderAt, size int64) (*header, error) {
	text, err := headerText(r, size)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := jsonl.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if name := repeated(text, len(raw)); name != "" {
		return nil, fmt.Errorf("tensor %q: occurs twice", name)
	}
	h := &header{tensors: make(map[string]tensor, len(raw))}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if err := h.add(name, raw[name], size); err != nil {
			return nil, err
		}
	}
	return h, h.place(int64(8+len(text)), size)
}

func headerText(r io.ReaderAt, size int64) ([]byte, error) {
	var length [8]byte
	if size < 8 {
		return nil, fmt.Errorf("%d bytes: too short for a safetensors file", size)
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("header of %d bytes in a file of %d: not a safetensors file, or cut off", n, size)
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n == 0 || text[0] != '{' {
		return nil, errors.New("the header is not a JSON object: not a safetensors file")
	}
	return text, nil
}

// repeated returns the first name that the JSON object text, of n different
// names, has twice.
func repeated(text []byte, n int) string {
	d := json.NewDecoder(bytes.NewReader(text))
	seen := make(map[string]bool, n)
	if _, err := d.Token(); err != nil { // the opening brace
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		s, _ := name.(string)
		if seen[s] {
			return s
		}
		seen[s] = true
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return ""
		}
	}
	return ""
}

func (h *header) add(name string, raw json.RawMessage, size int64) error {
	if name == metadataKey {
		if err := jsonl.Unmarshal(raw, &h.metadata); err != nil {
			return fmt.Errorf("%s: %w", metadataKey, err)
		}
		return nil
	}
	var t tensor
	if err := jsonl.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	if err := t.check(size); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	h.tensors[name] = t
	h.order = append(h.order, name)
	return nil
}

// check makes sure that t's shape, type and offsets agree.
func (t tensor) check(size int64) error {
	width, ok := sizes[t.DType]
	if !ok {
		return fmt.Errorf("dtype %q is unknown", t.DType)
	}
	product := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && product > math.MaxInt64/8/int64(d) {
			return fmt.Errorf("shape %v is impossible", t.Shape)
		}
		product *= int64(d)
	}
	from, to := t.Offsets[0], t.Offsets[1]
	if from < 0 || to < from || to > size {
		return fmt.Errorf("data_offsets %v are out of range", t.Offsets)
	}
	if to-from != product*width {
		return fmt.Errorf("shape %v of %s takes %d bytes, data_offsets %v give it %d", t.Shape, t.DType, product*width, t.Offsets, to-from)
	}
	return nil
}

// place makes offsets absolute and checks that the tensors fill the file
// without overlap or gap, as the format demands.
func (h *header) place(start, size int64) error {
	slices.SortStableFunc(h.order, func(a, b string) int {
		x, y := h.tensors[a].Offsets, h.tensors[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), strings.Compare(a, b))
	})
	at := start
	for _, name := range h.order {
		t := h.tensors[name]
		t.Offsets[0] += start
		t.Offsets[1] += start
		if t.Offsets[0] != at {
			return fmt.Errorf("tensor %q: begins at byte %d of the file, want %d: overlap or gap", name, t.Offsets[0], at)
		}
		at = t.Offsets[1]
		h.tensors[name] = t
	}
	if at != size {
		return fmt.Errorf("the tensors end at byte %d, the file at %d (is it cut off?)", at, size)
	}
	return nil
}
