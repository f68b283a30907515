// Package atomicfile writes files that appear whole or not at all: a temporary
// name beside the target, sync, rename, sync of the folder.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A File is being written. Exactly one of Commit and Abort ends it; Abort after
// Commit does nothing, so that it can be deferred.
type File struct {
	path   string // as the caller knows it
	target string // what the temporary file will be renamed to
	direct bool   // tmp is a device or a pipe
	tmp    *os.File
	w      io.Writer
	err    error // the first write that failed
	done   bool
}

// wrap is replaced by tests to inject write errors.
var wrap = func(w io.Writer) io.Writer { return w }

// Create starts a file that will be at path. A device or a pipe there, such as
// /dev/null, is written to as it is. Of a symbolic link the target is replaced.
func Create(path string) (*File, error) {
	f := &File{path: path}
	var err error
	switch info, statErr := os.Stat(path); {
	case statErr == nil && info.IsDir():
		err = errors.New("it is a folder, want a file")
	case statErr == nil && !info.Mode().IsRegular():
		f.direct = true
		f.tmp, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		if f.target, err = filepath.EvalSymlinks(path); err != nil {
			f.target = path
		}
		f.tmp, err = Temp(f.target)
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, cause(err))
	}
	f.w = wrap(f.tmp)
	return f, nil
}

// Write appends to the temporary file. After an error Commit refuses.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.w.Write(p)
	if err != nil {
		f.err = fmt.Errorf("write %s: %w", f.path, cause(err))
	}
	return n, f.err
}

// Path is the name that the file will have.
func (f *File) Path() string { return f.path }

// Commit makes the file appear under its name. On any error nothing is left.
func (f *File) Commit() error { return f.commit(f.tmp.Sync) }

// CommitUnsynced is Commit without waiting for the disk: the file is whole after
// a kill, but maybe not after a loss of power. It is for large files that carry
// a checksum and can be made again.
func (f *File) CommitUnsynced() error { return f.commit(func() error { return nil }) }

func (f *File) commit(sync func() error) error {
	if f.done {
		return nil
	}
	if err := f.finish(sync); err != nil {
		f.Abort()
		return err
	}
	f.done = true
	return nil
}

func (f *File) finish(sync func() error) error {
	if f.err != nil {
		return f.err
	}
	if f.direct {
		return f.tmp.Close()
	}
	err := errors.Join(f.tmp.Chmod(0o644), sync())
	if err = errors.Join(err, f.tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.path, cause(err))
	}
	if err := os.Rename(f.tmp.Name(), f.target); err != nil {
		return fmt.Errorf("write %s: %w", f.path, cause(err))
	}
	return SyncDir(filepath.Dir(f.target))
}

// Abort removes what was written.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.tmp.Close()
	if !f.direct {
		_ = os.Remove(f.tmp.Name())
	}
}

// WriteFile writes data to path.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// SyncDir makes the entries of a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer func() { _ = d.Close() }()
	// Some file systems cannot sync a folder; the rename has happened all the same.
	_ = d.Sync()
	return nil
}

// cause strips the operation and the temporary name from an error, because
// neither means anything to a user.
func cause(err error) error {
	var p *os.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
