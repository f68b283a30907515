package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"agentmill/internal/half"
	"agentmill/internal/mapped"
)

// A File is an open safetensors file. It is safe for concurrent use.
type File struct {
	*header
	path string
	file *mapped.File
}

// Open maps the file at path, reads its header and checks it.
func Open(path string) (*File, error) {
	file, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(file, file.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), file.Close())
	}
	return &File{header: h, path: path, file: file}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Path is where the file was opened.
func (f *File) Path() string { return f.path }

// Metadata returns a copy of the file's free-form metadata.
func (f *File) Metadata() map[string]string { return maps.Clone(f.metadata) }

// Names returns the names of all tensors, in the order of their values.
func (f *File) Names() []string { return slices.Clone(f.order) }

// Shape returns the shape of the tensor called name.
func (f *File) Shape(name string) ([]int, error) {
	t, err := f.find(name)
	return slices.Clone(t.Shape), err
}

// Type returns how the tensor called name is stored.
func (f *File) Type(name string) (DType, error) {
	t, err := f.find(name)
	return t.DType, err
}

// Tensor returns the values and the shape of the tensor called name.
func (f *File) Tensor(name string) ([]float32, []int, error) {
	t, err := f.find(name)
	if err != nil {
		return nil, nil, err
	}
	values := make([]float32, t.elements())
	if err := f.read(name, t, values); err != nil {
		return nil, nil, err
	}
	return values, slices.Clone(t.Shape), nil
}

// Fill writes the values of the tensor called name to dst, which is as long as
// its shape says.
func (f *File) Fill(name string, dst []float32) error {
	t, err := f.find(name)
	if err != nil {
		return err
	}
	if len(dst) != t.elements() {
		return fmt.Errorf("read %s: tensor %q has %d values: want %d", f.path, name, t.elements(), len(dst))
	}
	return f.read(name, t, dst)
}

func (f *File) find(name string) (tensor, error) {
	t, ok := f.tensors[name]
	if !ok {
		return t, fmt.Errorf("read %s: tensor %q: not in the file", f.path, name)
	}
	return t, nil
}

// decoders turn bytes into values.
var decoders = map[DType]func(dst []float32, src []byte){
	F32:  decodeF32,
	F16:  decodeF16,
	BF16: decodeBF16,
}

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half.FromF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// decodeBF16 takes four values at a time.
func decodeBF16(dst []float32, src []byte) {
	for ; len(dst) >= 4 && len(src) >= 8; dst, src = dst[4:], src[8:] {
		v := binary.LittleEndian.Uint64(src)
		dst[0] = half.FromBF16(uint16(v))
		dst[1] = half.FromBF16(uint16(v >> 16))
		dst[2] = half.FromBF16(uint16(v >> 32))
		dst[3] = half.FromBF16(uint16(v >> 48))
	}
	for i := range dst {
		dst[i] = half.FromBF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// chunkValues is what one goroutine decodes at a time: they stay in a core's
// cache until they are checked.
const chunkValues = 1 << 16

// read decodes all values of t into dst, in parallel.
func (f *File) read(name string, t tensor, dst []float32) error {
	decode, ok := decoders[t.DType]
	if !ok {
		return fmt.Errorf("read %s: tensor %q: dtype %s: want F32, F16 or BF16", f.path, name, t.DType)
	}
	width := sizes[t.DType]
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for at := 0; at < len(dst); at += chunkValues {
		part := dst[at:min(at+chunkValues, len(dst))]
		g.Go(func() error {
			return f.file.Read(t.Offsets[0]+int64(at)*width, int64(len(part))*width, func(raw []byte) error {
				decode(part, raw)
				if i := half.NotFinite(part); i >= 0 {
					return fmt.Errorf("value %d is %v: want finite numbers", at+i, part[i])
				}
				return nil
			})
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("read %s: tensor %q: %w", f.path, name, err)
	}
	return nil
}
