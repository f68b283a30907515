package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T, path, fingerprint string) *Journal {
	t.Helper()
	j, err := Open(path, fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestContinue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := open(t, path, "run 1")
	for k, v := range map[string]string{"a": `{"x": "<&>\u2028"}`, "b": `null`, "c": `[1, 2]`} {
		if err := j.Append(k, []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	j = open(t, path, "run 1")
	for k, want := range map[string]string{"a": `{"x":"<&>\u2028"}`, "b": `null`, "c": `[1,2]`} {
		if got, ok := j.Done(k); !ok || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", k, got, ok, want)
		}
	}
	if _, ok := j.Done("d"); ok || j.Len() != 3 {
		t.Errorf("d is done: %v, len %d", ok, j.Len())
	}
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}

// TestKilledAnywhere cuts the file at every byte: what is read back is a prefix
// of what was written, and the next entry is not spoilt by the torn one.
func TestKilledAnywhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j")
	j := open(t, path, "f")
	for i := range 3 {
		if err := j.Append(strconv.Itoa(i), fmt.Appendf(nil, `{"i":%d}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for n := range len(whole) + 1 {
		cut := filepath.Join(dir, "cut")
		if err := os.WriteFile(cut, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		j := open(t, cut, "f")
		want, end := -1, 0
		for _, l := range lines {
			if end += len(l); end <= n && l != "" {
				want++
			}
		}
		if got := j.Len(); got != max(want, 0) {
			t.Errorf("cut at %d: %d entries, want %d", n, got, max(want, 0))
		}
		if err := j.Append("next", []byte("1")); err != nil {
			t.Fatal(err)
		}
		j.Close()
		again := open(t, cut, "f")
		if _, ok := again.Done("next"); !ok {
			t.Errorf("cut at %d: the entry after it is lost", n)
		}
		again.Close()
	}
}

func TestOtherRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	open(t, path, "lr=0").Close() // nothing done, nothing left
	j := open(t, path, "lr=1")
	j.Append("a", []byte("1"))
	j.Close()
	_, err := Open(path, "lr=2")
	var mismatch *MismatchError
	if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want a mismatch that names %s", err, path)
	}
	if err := os.WriteFile(path, []byte("dear diary\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, "lr=1"); err == nil || !strings.Contains(err.Error(), "not a journal") {
		t.Errorf("got %v, want a refusal", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "dear diary\n" {
		t.Errorf("the foreign file was changed: %q", data)
	}
}

func TestBeside(t *testing.T) {
	for out, want := range map[string]string{"": "", "-": "", os.DevNull: "", t.TempDir(): "", "no/a.jsonl": "no/a.jsonl.journal"} {
		if got := Beside(out); got != want {
			t.Errorf("beside %q: got %q, want %q", out, got, want)
		}
	}
}

func TestTwoRunsAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	first := open(t, path, "f")
	if _, err := Open(path, "f"); err == nil || err.Error() != "journal "+path+": another run is writing it" {
		t.Errorf("got %v, want a refusal", err)
	}
	first.Close()
	open(t, path, "f")
}

func TestDamagedEntryEndsTheJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := open(t, path, "f")
	j.Append("a", []byte(`"good"`))
	j.Append("b", []byte(`"flip"`))
	j.Close()
	data, _ := os.ReadFile(path)
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), "flip", "flop", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	j = open(t, path, "f")
	if _, ok := j.Done("b"); ok || j.Len() != 1 {
		t.Errorf("a damaged entry was taken: len %d", j.Len())
	}
}

func TestConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := open(t, path, "f")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := j.Append(strconv.Itoa(i), []byte(`1`)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	j.Close()
	if got := open(t, path, "f").Len(); got != 50 {
		t.Errorf("got %d entries, want 50", got)
	}
}

func TestNil(t *testing.T) {
	var j *Journal
	if err := errors.Join(j.Append("a", []byte("1")), j.Close(), j.Remove()); err != nil {
		t.Error(err)
	}
	if _, ok := j.Done("a"); ok || j.Len() != 0 {
		t.Error("a nil journal kept something")
	}
}

func TestBadEntry(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "j"), "f")
	if err := j.Append("k", []byte("{")); err == nil || j.Len() != 0 {
		t.Errorf("broken JSON: got %v, len %d", err, j.Len())
	}
}
