package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// TestNotAFile writes to what is no regular file, and through a link.
func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFile(dir, nil); err == nil || err.Error() != "create "+dir+": it is a folder, want a file" {
		t.Errorf("a folder: got %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		data, err := os.ReadFile(pipe)
		got <- fmt.Sprint(string(data), err)
	}()
	if err := WriteFile(pipe, []byte("hello")); err != nil {
		t.Error(err)
	}
	if s := <-got; s != "hello<nil>" {
		t.Errorf("through the pipe came %s", s)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"new", "newer"} {
		if err := WriteFile(filepath.Join(dir, "real"), []byte("old")); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(filepath.Join(dir, "link"), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, _ := os.ReadFile(filepath.Join(dir, "real")); string(data) != text {
			t.Errorf("the link's target holds %q, want %q", data, text)
		}
	}
	if got := names(t, dir); len(got) != 3 {
		t.Errorf("folder holds %v, want link, pipe and real", got)
	}
}

func TestLeftoversGo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for _, name := range []string{".a.txt.123.tmp", ".a.txt.x.tmp", ".a.txt.gz.123.tmp", ".b.txt.123.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Abort()
	if err := WriteFile(path, []byte("second")); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(); err != nil {
		t.Errorf("the file of another writer was taken for left behind: %v", err)
	}
	want := []string{".a.txt.gz.123.tmp", ".a.txt.x.tmp", ".b.txt.123.tmp", "a.txt"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("folder holds %v, want %v", got, want)
	}
}

func TestNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "a.txt")
	if err := WriteFile(path, nil); err == nil || err.Error() != "create "+path+": no such file or directory" {
		t.Errorf("got %v", err)
	}
}
