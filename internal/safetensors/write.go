package safetensors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"agentmill/internal/half"
)

// An Entry is one tensor to write. Values is called once, when its turn comes,
// so that not all tensors need to be in memory at a time.
type Entry struct {
	Name   string
	DType  DType // F32 or BF16
	Shape  []int
	Values func() ([]float32, error)
}

// Of is an Entry of values that are at hand.
func Of(name string, dtype DType, shape []int, values []float32) Entry {
	return Entry{name, dtype, shape, func() ([]float32, error) { return values, nil }}
}

// Write writes a file with the tensors of entries, sorted by name, to w. A value
// that is not finite is an error.
func Write(w io.Writer, entries []Entry, metadata map[string]string) error {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	head, err := encodeHeader(entries, metadata)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(head); err != nil {
		return err
	}
	for _, e := range entries {
		if err := e.write(out); err != nil {
			return fmt.Errorf("tensor %q: %w", e.Name, err)
		}
	}
	return out.Flush()
}

func (e Entry) elements() int {
	n := 1
	for _, d := range e.Shape {
		n *= d
	}
	return n
}

// encodeHeader is the length and the JSON text, padded to a multiple of 8.
func encodeHeader(entries []Entry, metadata map[string]string) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 8))
	b.WriteByte('{')
	if len(metadata) > 0 {
		if err := field(b, metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	at := int64(0)
	for i, e := range entries {
		if e.DType != F32 && e.DType != BF16 {
			return nil, fmt.Errorf("tensor %q: dtype %q: want F32 or BF16", e.Name, e.DType)
		}
		if i > 0 && entries[i-1].Name == e.Name || e.Name == metadataKey {
			return nil, fmt.Errorf("tensor %q: name is taken", e.Name)
		}
		end := at + int64(e.elements())*sizes[e.DType]
		if err := field(b, e.Name, tensor{e.DType, e.Shape, [2]int64{at, end}}); err != nil {
			return nil, err
		}
		at = end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

func field(b *bytes.Buffer, name string, v any) error {
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if b.Len() > 9 {
		b.WriteByte(',')
	}
	b.Write(key)
	b.WriteByte(':')
	b.Write(value)
	return nil
}

func (e Entry) write(w io.Writer) error {
	values, err := e.Values()
	if err != nil {
		return err
	}
	if len(values) != e.elements() {
		return fmt.Errorf("%d values for shape %v", len(values), e.Shape)
	}
	if i := half.NotFinite(values); i >= 0 {
		return fmt.Errorf("value %d is %v: want finite numbers", i, values[i])
	}
	width := int(sizes[e.DType])
	buf := make([]byte, min(len(values), chunkValues)*width)
	for len(values) > 0 {
		n := min(len(values), chunkValues)
		if err := encode(buf, values[:n], e.DType); err != nil {
			return err
		}
		if _, err := w.Write(buf[:n*width]); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

func encode(dst []byte, values []float32, dtype DType) error {
	if dtype == F32 {
		for i, v := range values {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
		return nil
	}
	for i, v := range values {
		h := half.ToBF16(v)
		if h&0x7f80 == 0x7f80 {
			return fmt.Errorf("value %v is too large for bf16", v)
		}
		binary.LittleEndian.PutUint16(dst[2*i:], h)
	}
	return nil
}
