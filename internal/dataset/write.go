package dataset

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"agentmill/internal/atomicfile"
)

// A Writer writes records of one type. It is used by one goroutine.
type Writer[T Record] struct {
	file   *atomicfile.File // nil: standard output
	encode encoder[T]
	Count  int // records written
}

// An encoder turns records into bytes. close flushes what is buffered.
type encoder[T Record] interface {
	write(rec *T) error
	close() error
}

// Create starts a file of records, whose format is the extension's: .parquet,
// .jsonl.gz, .jsonl.zst, else JSON lines. "" and "-" are JSON lines on stdout.
func Create[T Record](path string, stdout io.Writer) (*Writer[T], error) {
	if path == "" || path == "-" {
		return &Writer[T]{encode: &lineEncoder[T]{w: stdout}}, nil
	}
	if err := checkExtension(path); err != nil {
		return nil, err
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	enc, err := newEncoder[T](path, f)
	if err != nil {
		f.Abort()
		return nil, err
	}
	return &Writer[T]{file: f, encode: enc}, nil
}

// checkExtension refuses a name that promises a format which is not written. A
// name without extension (a device, a pipe) gets JSON lines.
func checkExtension(path string) error {
	plain := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	switch ext := filepath.Ext(plain); {
	case ext == "", ext == ".jsonl", ext == ".parquet" && plain == path:
		return nil
	default:
		return fmt.Errorf("create %s: extension %q: want .parquet, .jsonl, .jsonl.gz or .jsonl.zst", path, ext)
	}
}

func newEncoder[T Record](path string, w io.Writer) (encoder[T], error) {
	switch {
	case strings.HasSuffix(path, ".parquet"):
		return newParquetEncoder[T](w), nil
	case strings.HasSuffix(path, ".gz"):
		z := gzip.NewWriter(w)
		return &lineEncoder[T]{w: z, closers: []func() error{z.Close}}, nil
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return &lineEncoder[T]{w: z, closers: []func() error{z.Close}}, nil
	}
	b := bufio.NewWriterSize(w, 1<<20)
	return &lineEncoder[T]{w: b, closers: []func() error{b.Flush}}, nil
}

// Write appends rec.
func (w *Writer[T]) Write(rec *T) error {
	if err := w.encode.write(rec); err != nil {
		return err
	}
	w.Count++
	return nil
}

// Commit makes the file appear. On an error nothing is left of it.
func (w *Writer[T]) Commit() error {
	err := w.encode.close()
	if w.file == nil {
		return err
	}
	if err != nil {
		w.file.Abort()
		return err
	}
	return w.file.Commit()
}

// Abort removes what was written; after Commit it does nothing.
func (w *Writer[T]) Abort() {
	if w.file != nil {
		w.file.Abort()
	}
}

// A lineEncoder writes JSON lines, one write a record.
type lineEncoder[T Record] struct {
	w       io.Writer
	closers []func() error
}

func (e *lineEncoder[T]) write(rec *T) error {
	data, err := Marshal(rec)
	if err != nil {
		return err
	}
	_, err = e.w.Write(append(data, '\n'))
	return err
}

func (e *lineEncoder[T]) close() error {
	var errs []error
	for _, c := range e.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
