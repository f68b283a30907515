package filterq_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/filterq"
	"agentmill/internal/ingest"
	"agentmill/internal/mailstore"
	"agentmill/internal/progress"
	"agentmill/internal/question"
	"agentmill/internal/samplemail"
	"agentmill/internal/synthq"
)

// A world is ingested mail and a folder of the test.
type world struct {
	dir   string
	mail  string // folder of emails.parquet and inbox.db
	index *mailstore.Store
}

// ingested ingests a sample and returns its folder.
func ingested(dir string, cfg samplemail.Config) error {
	archive, err := os.Create(filepath.Join(dir, "sample.tar.gz"))
	if err != nil {
		return err
	}
	if _, err := samplemail.Write(archive, cfg); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	_, err = ingest.Run(context.Background(), ingest.Config{
		Paths: []string{archive.Name()}, Out: filepath.Join(dir, "emails.parquet"), Index: filepath.Join(dir, "inbox.db"),
		Stdout: io.Discard, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler), Progress: silent(),
	})
	return err
}

// newWorld ingests a sample for one test.
func newWorld(t *testing.T, cfg samplemail.Config) world {
	t.Helper()
	dir := t.TempDir()
	if err := ingested(dir, cfg); err != nil {
		t.Fatal(err)
	}
	return openWorld(t, dir)
}

func openWorld(t *testing.T, mail string) world {
	t.Helper()
	index, err := mailstore.Open(filepath.Join(mail, "inbox.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	return world{t.TempDir(), mail, index}
}

// small is the folder of sample mail that tests share, which only read it.
var small = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "filterq-test-"); err != nil {
		return "", err
	}
	return dir, ingested(dir, samplemail.Config{Seed: 4, Inboxes: 2, Messages: 240})
})

func smallWorld(t *testing.T) world {
	t.Helper()
	dir, err := small()
	if err != nil {
		t.Fatal(err)
	}
	return openWorld(t, dir)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := small(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func (w world) path(name string) string { return filepath.Join(w.dir, name) }

func silent() *progress.Reporter { return progress.New(io.Discard, nil, progress.Never, false) }

// synth makes questions as the command does by default.
func (w world) synth(t *testing.T, out string, change func(*synthq.Config)) []question.Question {
	t.Helper()
	cfg := synthq.Config{
		In: dataset.Source{Paths: []string{filepath.Join(w.mail, "emails.parquet")}}, Out: w.path(out), Stdout: io.Discard, Progress: silent(),
		Index: w.index, Seed: 1, Unanswerable: .1, PerMail: 5,
	}
	if change != nil {
		change(&cfg)
	}
	if _, err := synthq.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	return w.read(t, out)
}

// filter runs the filter and returns what it keeps, what it drops and its counts.
func (w world) filter(t *testing.T, in string, change func(*filterq.Config)) (kept, dropped []question.Question, st filterq.Stats) {
	t.Helper()
	cfg := filterq.Config{
		In: dataset.Source{Paths: []string{w.path(in)}}, Out: w.path("kept.jsonl"), Drops: w.path("drops.jsonl"), Stdout: io.Discard, Progress: silent(),
		Index: w.index, Shares: filterq.Shares{Val: .125, Test: .25}, Hits: 5,
	}
	if change != nil {
		change(&cfg)
	}
	st, err := filterq.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w.read(t, "kept.jsonl"), w.read(t, "drops.jsonl"), st
}

func (w world) read(t *testing.T, name string) []question.Question {
	t.Helper()
	qs, _, err := dataset.ReadAll[question.Question](context.Background(), dataset.Source{Paths: []string{w.path(name)}})
	if err != nil {
		t.Fatal(err)
	}
	return qs
}

func (w world) write(t *testing.T, name string, qs []question.Question) {
	t.Helper()
	out, err := dataset.Create[question.Question](w.path(name), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for i := range qs {
		if err := out.Write(&qs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
}
