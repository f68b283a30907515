package filterq_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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

// A world is sample mail that was ingested, in a folder of the test.
type world struct {
	dir    string
	index  *mailstore.Store
	kindOf map[string]string // Message-ID → kind of message
}

func newWorld(t *testing.T, cfg samplemail.Config) world {
	t.Helper()
	w := world{dir: t.TempDir(), kindOf: map[string]string{}}
	messages, err := samplemail.Generate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		w.kindOf[m.ID] = m.Kind
	}
	archive, err := os.Create(w.path("sample.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := samplemail.Write(archive, cfg); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = ingest.Run(context.Background(), ingest.Config{
		Paths: []string{w.path("sample.tar.gz")}, Out: w.path("emails.parquet"), Index: w.path("inbox.db"),
		Stdout: io.Discard, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler), Progress: silent(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.index, err = mailstore.Open(w.path("inbox.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.index.Close() })
	return w
}

func (w world) path(name string) string { return filepath.Join(w.dir, name) }

func silent() *progress.Reporter { return progress.New(io.Discard, nil, progress.Never, false) }

// synth makes questions as the command does by default.
func (w world) synth(t *testing.T, out string, change func(*synthq.Config)) []question.Question {
	t.Helper()
	cfg := synthq.Config{In: dataset.Source{Paths: []string{w.path("emails.parquet")}}, Out: w.path(out), Stdout: io.Discard, Progress: silent(), Index: w.index, Seed: 1, Unanswerable: .12, PerMail: 2}
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
		Index: w.index, Shares: filterq.Shares{Val: .125, Test: .25}, Hits: 5, MaxRank: 30,
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
