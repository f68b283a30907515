package gguf

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"agentmill/internal/half"
	"agentmill/internal/mapped"
)

// A File is an open GGUF file. It is safe for concurrent use.
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

// Names returns the names of all tensors, in file order.
func (f *File) Names() []string { return slices.Clone(f.order) }

// Shape returns the shape of the tensor called name, row-major.
func (f *File) Shape(name string) ([]int, error) {
	t, err := f.find(name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.shape), nil
}

// Type returns the name of the type that a tensor is stored in, such as "q4_1".
func (f *File) Type(name string) (string, error) {
	t, err := f.find(name)
	if err != nil {
		return "", err
	}
	return t.kind.name, nil
}

// Tensor returns the values and the shape of the tensor called name.
func (f *File) Tensor(name string) ([]float32, []int, error) {
	t, err := f.find(name)
	if err != nil {
		return nil, nil, err
	}
	values := make([]float32, t.elements())
	if err := f.read(t, values); err != nil {
		return nil, nil, err
	}
	return values, slices.Clone(t.shape), nil
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
	return f.read(t, dst)
}

func (f *File) find(name string) (*tensor, error) {
	t, ok := f.tensors[name]
	if !ok {
		return nil, fmt.Errorf("read %s: tensor %q: not in the file", f.path, name)
	}
	return t, nil
}

// chunkValues is what one goroutine decodes at a time: they stay in a core's
// cache until they are checked. It is a multiple of every block size.
const chunkValues = 1 << 16

// read dequantises all values of t into dst, in parallel.
func (f *File) read(t *tensor, dst []float32) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for at := 0; at < len(dst); at += chunkValues {
		part := dst[at:min(at+chunkValues, len(dst))]
		g.Go(func() error { return f.readChunk(t, at, part) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("read %s: tensor %q: %w", f.path, t.name, err)
	}
	return nil
}

func (f *File) readChunk(t *tensor, from int, dst []float32) error {
	bytesOf := func(values int) int64 { return int64(values / t.kind.block * t.kind.bytes) }
	return f.file.Read(t.offset+bytesOf(from), bytesOf(len(dst)), func(raw []byte) error {
		t.kind.decode(dst, raw)
		if i := half.NotFinite(dst); i >= 0 {
			return fmt.Errorf("value %d is %v: want finite numbers", from+i, dst[i])
		}
		return nil
	})
}
