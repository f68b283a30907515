package mapped

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, content []byte) (*File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, path
}

// TestRead reads mapped, and as where files are not mapped.
func TestRead(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	f, _ := open(t, content)
	plain := &File{file: f.file, size: f.size}
	for _, f := range []*File{f, plain} {
		var got []byte
		err := f.Read(25, 100, func(b []byte) error { got = bytes.Clone(b); return nil })
		if err != nil || !bytes.Equal(got, content[25:125]) {
			t.Errorf("got %q and error %v, want %q", got, err, content[25:125])
		}
		for _, at := range [][2]int64{{-1, 1}, {0, 10001}, {10000, 1}, {1, -1}, {1 << 62, 1 << 62}} {
			err := f.Read(at[0], at[1], func([]byte) error { t.Error("called"); return nil })
			if err == nil || !strings.Contains(err.Error(), "the file has 10000") {
				t.Errorf("%v: error is %v, want one with the size", at, err)
			}
		}
	}
	mine := errors.New("mine")
	if err := f.Read(0, 1, func([]byte) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("error is %v, want the caller's", err)
	}
}

func TestEmptyFile(t *testing.T) {
	f, _ := open(t, nil)
	if err := f.Read(0, 0, func([]byte) error { return nil }); err != nil || f.Size() != 0 {
		t.Errorf("size %d, error %v, want 0 and none", f.Size(), err)
	}
}

func TestTruncatedWhileOpen(t *testing.T) {
	f, path := open(t, make([]byte, 1<<20))
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	sum := byte(0)
	err := f.Read(0, 1<<20, func(b []byte) error {
		for _, v := range b {
			sum += v
		}
		return nil
	})
	if err == nil {
		t.Errorf("no error (sum %d), want that the file got shorter", sum)
	}
}

func TestOtherPanicsGoOn(t *testing.T) {
	f, _ := open(t, []byte("x"))
	defer func() {
		if r := recover(); r != "mine" {
			t.Errorf("recovered %v, want the caller's panic", r)
		}
	}()
	_ = f.Read(0, 1, func([]byte) error { panic("mine") })
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error is %v, want that a folder is no file", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want that nothing exists", err)
	}
}
