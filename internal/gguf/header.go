package gguf

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

const (
	defaultAlignment = 32
	maxDims          = 4
	maxNameLen       = 1 << 16 // of keys and tensors; the format allows 65535 and 64
)

// header is everything in a file but the tensors' values.
type header struct {
	meta    Meta
	tensors map[string]*tensor
	order   []string // names, as in the file
}

// A tensor says where values lie and how they are stored.
type tensor struct {
	name   string
	shape  []int // row-major
	kind   kind
	offset int64 // from the start of the file
}

func (t *tensor) elements() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

func (t *tensor) size() int64 { return int64(t.elements()) / int64(t.kind.block) * int64(t.kind.bytes) }

// readHeader parses the header of a file of size bytes.
func readHeader(r io.ReaderAt, size int64) (*header, error) {
	d := &decoder{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16), left: size, size: size}
	tensorCount, metaCount, err := d.start()
	if err != nil {
		return nil, err
	}
	h := &header{meta: Meta{}, tensors: map[string]*tensor{}}
	for i := range metaCount {
		if err := d.pair(h.meta); err != nil {
			return nil, fmt.Errorf("metadata entry %d: %w", i, err)
		}
	}
	for i := range tensorCount {
		t, err := d.tensor()
		if err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, err)
		}
		if h.tensors[t.name] != nil {
			return nil, fmt.Errorf("tensor %q: occurs twice", t.name)
		}
		h.tensors[t.name] = t
		h.order = append(h.order, t.name)
	}
	return h, h.place(size-d.left, size)
}

// place makes offsets absolute and checks that no two tensors overlap and that
// all lie in the file.
func (h *header) place(end, size int64) error {
	align := int64(defaultAlignment)
	if _, ok := h.meta["general.alignment"]; ok {
		n, err := h.meta.Int("general.alignment")
		if err != nil {
			return err
		}
		if n < 1 || n > 1<<20 || n&(n-1) != 0 {
			return fmt.Errorf("general.alignment is %d: want a power of two", n)
		}
		align = int64(n)
	}
	start := (end + align - 1) / align * align
	sorted := make([]*tensor, 0, len(h.order))
	for _, name := range h.order {
		t := h.tensors[name]
		if t.offset%align != 0 {
			return fmt.Errorf("tensor %q: offset %d is not a multiple of %d", name, t.offset, align)
		}
		if start > size || t.offset > size-start || t.size() > size-start-t.offset {
			return fmt.Errorf("tensor %q: %d bytes at %d reach beyond the end of the file at %d (is it cut off?)", name, t.size(), start+t.offset, size)
		}
		t.offset += start
		sorted = append(sorted, t)
	}
	slices.SortStableFunc(sorted, func(a, b *tensor) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; a.offset+a.size() > b.offset {
			return fmt.Errorf("tensor %q: its bytes overlap those of %q", b.name, a.name)
		}
	}
	return nil
}

// A decoder reads numbers and strings, and knows how much of the file is left.
type decoder struct {
	r    *bufio.Reader
	left int64
	size int64
	buf  [8]byte
}

func (d *decoder) start() (tensors, metas uint64, err error) {
	if err := d.fill(4); err != nil {
		return 0, 0, err
	}
	if string(d.buf[:4]) != "GGUF" {
		return 0, 0, fmt.Errorf("it starts with %q: not a GGUF file", d.buf[:4])
	}
	version, err := d.uint(4)
	if err != nil {
		return 0, 0, err
	}
	if version != 2 && version != 3 {
		return 0, 0, fmt.Errorf("GGUF version %d: want 2 or 3, little-endian", version)
	}
	if tensors, err = d.count("tensor count", 8+4+4+8); err != nil {
		return 0, 0, err
	}
	metas, err = d.count("metadata count", 8+4+1)
	return tensors, metas, err
}

// fill reads n bytes into buf, the rest of which becomes zero.
func (d *decoder) fill(n int) error {
	if int64(n) > d.left {
		return errCut
	}
	clear(d.buf[n:])
	_, err := io.ReadFull(d.r, d.buf[:n])
	d.left -= int64(n)
	return err
}

var errCut = errors.New("the file ends within the header (is it cut off?)")

// uint reads an unsigned number of n bytes.
func (d *decoder) uint(n int) (uint64, error) {
	if err := d.fill(n); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(d.buf[:]), nil
}

// count reads a number of things that take at least each bytes.
func (d *decoder) count(what string, each int64) (uint64, error) {
	n, err := d.uint(8)
	if err != nil {
		return 0, err
	}
	if n > uint64(d.left/each) {
		return 0, fmt.Errorf("%s is %d: more than the file has room for", what, n)
	}
	return n, nil
}

func (d *decoder) string(maxLen int64) (string, error) {
	n, err := d.count("string length", 1)
	if err != nil {
		return "", err
	}
	if n > uint64(maxLen) {
		return "", fmt.Errorf("string length is %d: want at most %d", n, maxLen)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(d.r, b)
	d.left -= int64(n)
	return string(b), err
}

func (d *decoder) pair(meta Meta) error {
	key, err := d.string(maxNameLen)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if _, ok := meta[key]; ok {
		return fmt.Errorf("key %q occurs twice", key)
	}
	kind, err := d.uint(4)
	if err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	v, err := d.value(valueType(kind))
	if err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	meta[key] = v
	return nil
}

func (d *decoder) tensor() (*tensor, error) {
	name, err := d.string(maxNameLen)
	if err != nil {
		return nil, fmt.Errorf("name: %w", err)
	}
	t := &tensor{name: name}
	if err := d.tensorInfo(t); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return t, nil
}

func (d *decoder) tensorInfo(t *tensor) error {
	dims, err := d.uint(4)
	if err != nil {
		return err
	}
	if dims < 1 || dims > maxDims {
		return fmt.Errorf("%d dimensions: want 1 to %d", dims, maxDims)
	}
	if err := d.shape(t, int(dims)); err != nil {
		return err
	}
	id, err := d.uint(4)
	if err != nil {
		return err
	}
	k, ok := kinds[uint32(id)]
	if !ok {
		return fmt.Errorf("type %d: want one of %s", id, kindNames())
	}
	t.kind = k
	if row := t.shape[len(t.shape)-1]; row%k.block != 0 {
		return fmt.Errorf("rows of %d values: %s needs a multiple of %d", row, k.name, k.block)
	}
	offset, err := d.uint(8)
	if offset > math.MaxInt64 {
		return fmt.Errorf("offset %d is out of range", offset)
	}
	t.offset = int64(offset)
	return err
}

// shape reads dims sizes, the fastest first, and bounds their product by what
// the file could hold (the densest type has about two values a byte).
func (d *decoder) shape(t *tensor, dims int) error {
	t.shape = make([]int, dims)
	product := uint64(1)
	for i := range dims {
		n, err := d.uint(8)
		if err != nil {
			return err
		}
		if n == 0 || n > uint64(2*d.size)/product {
			return fmt.Errorf("size %d of dimension %d does not fit into the file", n, i)
		}
		product *= n
		t.shape[dims-1-i] = int(n)
	}
	return nil
}
