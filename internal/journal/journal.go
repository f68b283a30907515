// Package journal keeps what a stage has finished, so that the same command
// run again continues where it was stopped, wherever that was.
//
// A journal is a text file: a first line with the fingerprint of the run
// (inputs, flags, seed), then one line an entry: key, hash, data. A torn last
// line, which a kill can leave, is dropped.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"agentmill/internal/atomicfile"
)

// A MismatchError says that a journal belongs to a run with other inputs or flags.
type MismatchError struct{ Path string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("journal %s was written by a run with other inputs or flags; finish that one, or delete the file to start anew", e.Path)
}

// A Journal is safe for concurrent use. A nil Journal keeps nothing.
type Journal struct {
	mu     sync.Mutex
	path   string
	f      *os.File
	closed bool
	done   map[string][]byte
}

type entry struct {
	Key  string          `json:"key"`
	Sum  uint32          `json:"sum"` // CRC-32 of data
	Data json.RawMessage `json:"data"`
}

type header struct {
	Journal     int    `json:"journal"` // version of this format
	Fingerprint string `json:"fingerprint"`
}

const version = 1

// Beside is where the journal of an output is kept, "" where there is none: of
// standard output, a device or a pipe.
func Beside(out string) string {
	if out == "" || out == "-" {
		return ""
	}
	if info, err := os.Stat(out); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	return out + ".journal"
}

// Open continues the journal at path or starts one. One that was written under
// another fingerprint is a *MismatchError. One that another process has open is
// refused.
func Open(path, fingerprint string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if atomicfile.TryLock(f) == atomicfile.Taken {
		_ = f.Close()
		return nil, fmt.Errorf("journal %s: another run is writing it", path)
	}
	j := &Journal{path: path, f: f, done: map[string][]byte{}}
	good, err := j.load(fingerprint)
	if err == nil {
		err = j.cut(good)
	}
	if err == nil && good == 0 {
		err = j.line(header{version, fingerprint})
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return j, nil
}

// load reads the entries and returns the length of the part that is whole.
func (j *Journal) load(fingerprint string) (good int64, err error) {
	r := bufio.NewReaderSize(j.f, 1<<20)
	for first := true; ; first = false {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return good, nil // what is left of the line is torn
		}
		if err != nil {
			return 0, fmt.Errorf("read journal: %w", err)
		}
		if first {
			if err := j.checkHeader(line, fingerprint); err != nil {
				return 0, err
			}
		} else if !j.take(line) {
			return good, nil
		}
		good += int64(len(line))
	}
}

func (j *Journal) checkHeader(line []byte, fingerprint string) error {
	var h header
	if json.Unmarshal(line, &h) != nil || h.Journal == 0 {
		return fmt.Errorf("journal %s: not a journal; choose another --journal or move the file away", j.path)
	}
	if h.Journal != version || h.Fingerprint != fingerprint {
		return &MismatchError{j.path}
	}
	return nil
}

// take adds one entry; false for a damaged line.
func (j *Journal) take(line []byte) bool {
	var e entry
	if json.Unmarshal(line, &e) != nil || crc32.ChecksumIEEE(e.Data) != e.Sum {
		return false
	}
	j.done[e.Key] = e.Data
	return true
}

// cut drops what stands behind the whole entries.
func (j *Journal) cut(good int64) error {
	if err := j.f.Truncate(good); err != nil {
		return fmt.Errorf("mend journal: %w", err)
	}
	if _, err := j.f.Seek(good, io.SeekStart); err != nil {
		return fmt.Errorf("mend journal: %w", err)
	}
	return nil
}

// line writes v in one system call, so that a kill tears at most this line.
func (j *Journal) line(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write journal %s: %w", j.path, err)
	}
	if _, err := j.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// Done returns what was appended under key.
func (j *Journal) Done(key string) (raw []byte, ok bool) {
	if j == nil {
		return nil, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	raw, ok = j.done[key]
	return raw, ok
}

// Len is the number of keys that are done.
func (j *Journal) Len() int {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.done)
}

// Append keeps raw, one JSON value, under key.
func (j *Journal) Append(key string, raw []byte) error {
	if j == nil {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return fmt.Errorf("journal %s, entry %q: %w", j.path, key, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.line(entry{key, crc32.ChecksumIEEE(compact.Bytes()), compact.Bytes()}); err != nil {
		return err
	}
	j.done[key] = compact.Bytes()
	return nil
}

// Close ends writing; the file stays for the next run, unless nothing was done.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	if !j.closed && j.Len() == 0 {
		_ = os.Remove(j.path) // or it would bind the next run to this one's flags
	}
	j.closed = true
	if err := j.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// Remove deletes the journal, once the output it served is whole.
func (j *Journal) Remove() error {
	if j == nil {
		return nil
	}
	// Removed while it is still locked, so that no other run begins to use it.
	err := os.Remove(j.path)
	j.closed = true
	if err = errors.Join(err, j.Close()); err != nil {
		return fmt.Errorf("remove journal %s: %w", filepath.Base(j.path), err)
	}
	return nil
}
