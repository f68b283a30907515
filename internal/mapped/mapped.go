// Package mapped reads files where they lie: mapped into memory where the system
// can, so that weights are converted from the page cache without being copied.
//
// A file that gets shorter while it is mapped is an error of Read, not a crash.
package mapped

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

// A File is a regular file open for reading. It is safe for concurrent use.
type File struct {
	file *os.File
	size int64
	data []byte // nil where the system does not map files
}

// Open opens the regular file at path.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.mapWhole(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

func (f *File) mapWhole() error {
	st, err := f.file.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", f.file.Name())
	}
	f.size = st.Size()
	if f.size > 0 {
		f.data = mapFile(f.file, f.size)
	}
	return nil
}

// Size is the file's length when it was opened.
func (f *File) Size() int64 { return f.size }

// ReadAt copies bytes as io.ReaderAt does.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Read calls use with the n bytes at off, which are valid until it returns.
func (f *File) Read(off, n int64, use func([]byte) error) error {
	if off < 0 || n < 0 || off > f.size-n {
		return fmt.Errorf("%d bytes at %d: the file has %d", n, off, f.size)
	}
	if f.data == nil {
		buf := make([]byte, n)
		if _, err := f.file.ReadAt(buf, off); err != nil {
			return err
		}
		return use(buf)
	}
	return guard(func() error { return use(f.data[off : off+n]) })
}

// errChanged is what a fault of the memory of a mapped file means.
var errChanged = errors.New("the file got shorter, or its disk failed, while it was read")

// guard calls read and turns a fault of mapped memory into errChanged.
func guard(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a fault, at this address
			err = errChanged
		default:
			panic(r)
		}
	}()
	return read()
}

// Close closes the file. Nothing may be reading it.
func (f *File) Close() error {
	data := f.data
	f.data, f.size = nil, 0
	return errors.Join(unmap(data), f.file.Close())
}
