package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"agentmill/internal/atomicfile"
	"agentmill/internal/jsonl"
)

// A Source says what to read.
type Source struct {
	Paths     []string // none, or "-": standard input
	Stdin     io.Reader
	MaxErrors int             // so many bad records are tolerated
	Rejects   string          // file that keeps the bad ones
	Report    func(err error) // told of each tolerated bad record; may be nil
}

// A Position says where a record stands: Line counts from 1 (rows, in Parquet).
type Position struct {
	File string
	Line int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Stats counts what Read saw.
type Stats struct{ Read, Bad int }

// A RecordError is a bad record.
type RecordError struct {
	Pos Position
	Err error
}

func (e *RecordError) Error() string { return e.Pos.String() + ": " + e.Err.Error() }
func (e *RecordError) Unwrap() error { return e.Err }

// Read calls fn with each record of src. A bad record is counted and, beyond
// src.MaxErrors, an error. rec is valid during the call only.
func Read[T Record](ctx context.Context, src Source, fn func(pos Position, rec *T) error) (Stats, error) {
	rd := &reader{src: src}
	defer rd.abort()
	take := func(pos Position, data []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec := new(T)
		err := Unmarshal(data, rec)
		if err == nil {
			err = fn(pos, rec)
		}
		if _, ok := errors.AsType[*FieldError](err); ok {
			return rd.bad(pos, data, err)
		}
		if err == nil {
			rd.stats.Read++
		}
		return err
	}
	paths := src.Paths
	if len(paths) == 0 {
		paths = []string{"-"}
	}
	for _, path := range paths {
		if err := rd.file(path, take); err != nil {
			return rd.stats, err
		}
	}
	return rd.stats, rd.commit()
}

// ReadAll returns all records of src.
func ReadAll[T Record](ctx context.Context, src Source) ([]T, Stats, error) {
	var all []T
	stats, err := Read(ctx, src, func(_ Position, rec *T) error {
		all = append(all, *rec)
		return nil
	})
	return all, stats, err
}

// Count is the number of records in files, bad ones included, without reading
// them as such; 0 where they cannot be read twice (a pipe).
func Count(ctx context.Context, paths []string) (n int, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "-" || err == nil && !info.Mode().IsRegular() {
			return 0, nil
		}
	}
	rd := &reader{}
	for _, path := range paths {
		err := rd.file(path, func(Position, []byte) error {
			n++
			return ctx.Err()
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// ReadLines calls fn for every line of a file that is not one of the records
// here: plain, gzip or zstd, one JSON object a line.
func ReadLines(path string, fn func(pos Position, line []byte) error) error {
	rd := &reader{}
	return rd.file(path, fn)
}

// Objects calls fn with each JSON object of a stream of JSON lines or a Parquet
// file, for tables whose columns are not a record's. name is for complaints. A
// Parquet file on the disk is given as r, and read as it is; anything else comes
// from buffered. columns, which may be nil, is asked about the columns of a
// Parquet file before its rows are read. data is valid during the call only.
func Objects(ctx context.Context, name string, r, buffered io.Reader, columns func(names []string) error, fn func(pos Position, data []byte) error) error {
	rd := &reader{columns: columns}
	br := bufio.NewReaderSize(buffered, 1<<16)
	take := func(pos Position, data []byte) error { return cmp.Or(ctx.Err(), fn(pos, data)) }
	if head, err := br.Peek(len(magicParquet)); err == nil && bytes.Equal(head, magicParquet) {
		return rd.parquet(name, r, br, take)
	}
	return rd.lines(name, br, take)
}

// A reader is one call of Read.
type reader struct {
	src     Source
	stats   Stats
	rejects *atomicfile.File
	columns func(names []string) error
}

type take func(pos Position, data []byte) error

func (rd *reader) file(path string, fn take) error {
	if path == "-" {
		if rd.src.Stdin == nil {
			return errors.New("read standard input: there is none")
		}
		return rd.stream("stdin", rd.src.Stdin, fn)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("read records: %s is a folder, want a file", path)
	}
	return rd.stream(path, f, fn)
}

var (
	magicParquet = []byte("PAR1")
	magicGzip    = []byte{0x1f, 0x8b}
	magicZstd    = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// stream reads by content: the formats cannot be taken for one another, and a
// file with a wrong extension is read all the same.
func (rd *reader) stream(name string, r io.Reader, fn take) error {
	br := bufio.NewReaderSize(r, 1<<20)
	head, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case bytes.Equal(head, magicParquet):
		return rd.parquet(name, r, br, fn)
	case strings.HasSuffix(name, ".parquet"):
		return fmt.Errorf("%s: not a Parquet file", name)
	case len(head) == 0 && (strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst")):
		return fmt.Errorf("%s: is empty, want compressed data", name)
	case bytes.HasPrefix(head, magicGzip):
		z, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("%s: %w", name, cutOff(err))
		}
		defer func() { _ = z.Close() }()
		return rd.lines(name, z, fn)
	case bytes.Equal(head, magicZstd):
		z, err := zstd.NewReader(br)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer z.Close()
		return rd.lines(name, z, fn)
	}
	return rd.lines(name, br, fn)
}

// cutOff says in words what a decompressor means by an unexpected end.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the compressed data ends too early: the file is cut off")
	}
	return err
}

func (rd *reader) lines(name string, r io.Reader, fn take) error {
	lines := jsonl.NewReader(r)
	for {
		data, line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, line, cutOff(err))
		}
		if err := fn(Position{name, line}, data); err != nil {
			return err
		}
	}
}

// bad counts a bad record; beyond the limit it is the error of the run.
func (rd *reader) bad(pos Position, data []byte, err error) error {
	rd.stats.Bad++
	e := &RecordError{pos, err}
	if err := rd.reject(e, data); err != nil {
		return err
	}
	if rd.stats.Bad > rd.src.MaxErrors {
		if rd.src.MaxErrors > 0 {
			return fmt.Errorf("%w (more than --max-errors %d)", e, rd.src.MaxErrors)
		}
		return e
	}
	if rd.src.Report != nil {
		rd.src.Report(e)
	}
	return nil
}

func (rd *reader) reject(e *RecordError, data []byte) (err error) {
	if rd.src.Rejects == "" {
		return nil
	}
	if rd.rejects == nil {
		if rd.rejects, err = atomicfile.Create(rd.src.Rejects); err != nil {
			return err
		}
	}
	line, err := jsonl.Marshal(struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Error  string `json:"error"`
		Record string `json:"record"`
	}{e.Pos.File, e.Pos.Line, e.Err.Error(), string(data)})
	if err == nil {
		_, err = rd.rejects.Write(append(line, '\n'))
	}
	return err
}

// commit keeps the rejects; abort does too, when reading was given up over them.
func (rd *reader) commit() error {
	if rd.rejects == nil {
		return nil
	}
	return rd.rejects.Commit()
}

func (rd *reader) abort() { _ = rd.commit() }
