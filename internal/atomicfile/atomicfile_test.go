package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if _, err := f.Write([]byte("whole")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is there before Commit: %v", err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort() // must not remove a committed file
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "whole" {
		t.Errorf("got %q, %v", data, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("folder holds %v, want a.txt alone", got)
	}
}

func TestAbortKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("new"))
	f.Abort()
	if data, _ := os.ReadFile(path); string(data) != "old" || len(names(t, dir)) != 1 {
		t.Errorf("got %q and %v, want the old file alone", data, names(t, dir))
	}
}

// A fullDisk takes room bytes.
type fullDisk struct {
	w    io.Writer
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, &os.PathError{Op: "write", Path: ".a.txt.123.tmp", Err: syscall.ENOSPC}
	}
	return d.w.Write(p)
}

func TestFullDiskLeavesNothing(t *testing.T) {
	wrap = func(w io.Writer) io.Writer { return &fullDisk{w, 4} }
	t.Cleanup(func() { wrap = func(w io.Writer) io.Writer { return w } })
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	err := WriteFile(path, []byte("hello"))
	if want := "write " + path + ": no space left on device"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("hello")) // the error is not looked at
	if err := f.Commit(); err == nil {
		t.Error("Commit after a failed write: got no error")
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "a.txt")
	if err := WriteFile(path, nil); err == nil || err.Error() != "create "+path+": no such file or directory" {
		t.Errorf("got %v", err)
	}
}
