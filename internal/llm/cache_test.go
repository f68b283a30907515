package llm

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
)

// through asks f through a cache in dir.
func through(t *testing.T, f *fake, dir string, only bool) (Client, *Meter) {
	t.Helper()
	k, err := OpenCache(dir, only)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMeter(dollar, 0)
	return Cached(Metered(f, m), k, m, "low"), m
}

func TestCacheAnswersAgain(t *testing.T) {
	dir := t.TempDir()
	broken := Reply{
		Text: "<|im_end|> ünï\u0001", Finish: chat.FinishLength, Usage: Usage{CompletionTokens: 50}, Served: "m-7", TokenIDs: []int32{1}, LogProbs: []float32{-.1},
		ToolCalls: []chat.ToolCall{{ID: "a", Name: "x", Arguments: json.RawMessage(`"{\"cut"`)}},
	}
	f := &fake{replies: []Reply{broken}}
	r := Request{Messages: []chat.Message{{Role: chat.User, Content: "q", ToolCalls: broken.ToolCalls}}, Seed: 3}
	c, _ := through(t, f, dir, false)
	first, err := c.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	c, m := through(t, &fake{err: errors.New("offline")}, dir, true)
	again, err := c.Complete(t.Context(), r)
	if err != nil || !again.FromCache || again.USD != .5 {
		t.Fatalf("from the cache: %+v, %v", again, err)
	}
	again.FromCache = false
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("reply from the cache (-first +again):\n%s", diff)
	}
	if st := m.Stats(); st.USD != 0 || st.FromCache != 1 || st.Requests != 0 {
		t.Errorf("asking again cost %+v", st)
	}
	for _, other := range []Request{{Messages: r.Messages, Seed: 3, Sample: 1}, {Messages: r.Messages, Seed: 3, Try: 1}, {Messages: r.Messages, Seed: 4}} {
		if _, err := c.Complete(t.Context(), other); !errors.Is(err, ErrNotCached) {
			t.Errorf("%+v is answered as another request was: %v", other, err)
		}
	}
}

func TestCacheKeepsNoFailure(t *testing.T) {
	f := &fake{err: errors.New("down"), replies: []Reply{half}}
	c, _ := through(t, f, t.TempDir(), false)
	if _, err := c.Complete(t.Context(), asking); err == nil {
		t.Error("a failure is a reply")
	}
	f.err = nil
	if r, err := c.Complete(t.Context(), asking); err != nil || r.FromCache {
		t.Errorf("after a failure: %+v, %v", r, err)
	}
}

func TestCacheMendsADamagedFile(t *testing.T) {
	dir := t.TempDir()
	f := &fake{replies: []Reply{half}}
	c, _ := through(t, f, dir, false)
	for range 3 {
		if _, err := c.Complete(t.Context(), asking); err != nil {
			t.Fatal(err)
		}
		if f.requests() == 1 {
			damage(t, dir)
		}
	}
	if f.requests() != 2 {
		t.Errorf("%d requests were sent, want the first and one for the damaged file", f.requests())
	}
}

// damage cuts every file under dir, once.
func damage(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Truncate(path, 20)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEqualRequestsAreSentOnce(t *testing.T) {
	f := &fake{replies: []Reply{half}}
	c, _ := through(t, f, t.TempDir(), false)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.Complete(t.Context(), asking); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f.requests() != 1 {
		t.Errorf("%d requests were sent, want 1", f.requests())
	}
}

func TestCacheOnlyNeedsItsFolder(t *testing.T) {
	if _, err := OpenCache(filepath.Join(t.TempDir(), "none"), true); err == nil {
		t.Error("a folder that is not there is a cache to read from")
	}
}
