package dataset

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"agentmill/internal/mail"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// groupRows bounds a row group, which is held in memory while it is written.
const groupRows = 16384

func newParquetEncoder[T Record](w io.Writer) encoder[T] {
	var enc any
	switch any(new(T)).(type) {
	case *mail.Email:
		enc = newRowEncoder(w, rowOfEmail)
	case *question.Question:
		enc = newRowEncoder(w, rowOfQuestion)
	case *traj.Trajectory:
		enc = newRowEncoder(w, rowOfTrajectory)
	case *traj.Scored:
		enc = newRowEncoder(w, rowOfScored)
	}
	return enc.(encoder[T]) //nolint:errcheck // Record has these four types
}

// pageBytes is what is compressed at once. Mail repeats itself over many
// messages: with the library's 256 KiB a file of 20,647 real ones has 12.7 MB,
// with this 10.5.
const pageBytes = 2 << 20

// A rowEncoder writes records of type T as rows of type R.
type rowEncoder[T Record, R any] struct {
	w   *parquet.GenericWriter[R]
	row func(*T) (R, error)
	buf [1]R
	n   int
}

func newRowEncoder[T Record, R any](w io.Writer, row func(*T) (R, error)) *rowEncoder[T, R] {
	return &rowEncoder[T, R]{row: row, w: parquet.NewGenericWriter[R](
		w,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}),
		parquet.PageBufferSize(pageBytes),
		parquet.CreatedBy("agentmill", "1", ""),
	)}
}

func (e *rowEncoder[T, R]) write(rec *T) (err error) {
	if e.buf[0], err = e.row(rec); err != nil {
		return err
	}
	if _, err = e.w.Write(e.buf[:]); err != nil {
		return err
	}
	if e.n++; e.n%groupRows == 0 {
		return e.w.Flush()
	}
	return nil
}

func (e *rowEncoder[T, R]) close() error { return e.w.Close() }
