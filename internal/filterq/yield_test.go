package filterq_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"agentmill/internal/clock"
	"agentmill/internal/ingest"
	"agentmill/internal/synthq"
)

// TestYieldOnRealMail makes questions of a whole sample of real mail without a
// model, and counts what the checks leave.
func TestYieldOnRealMail(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("AGENTMILL_SHARED")
	if shared == "" {
		t.Skip("AGENTMILL_SHARED names no folder with real mail and questions")
	}
	dir := t.TempDir()
	_, err := ingest.Run(t.Context(), ingest.Config{
		Paths: []string{filepath.Join(shared, "enron", "enron_sample_dev.tar.gz")}, Out: filepath.Join(dir, "emails.parquet"), Index: filepath.Join(dir, "inbox.db"),
		Stdout: io.Discard, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler), Progress: silent(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, dir)
	asked := w.synth(t, "q.jsonl", func(c *synthq.Config) { c.Shapes = synthq.Shapes() })
	checkSpans(t, w, asked)
	kept, _, st := w.filter(t, "q.jsonl", nil)
	inboxes, kinds := map[string]int{}, map[string]int{}
	for _, q := range kept {
		inboxes[q.InboxAddress]++
		kinds[q.Kind]++
	}
	t.Logf("%d of %d questions are kept, of %d mailboxes and kinds %v\n%s", st.Kept, len(asked), len(inboxes), kinds, st.Table())
	if st.Kept < 4000 || len(inboxes) < 10 || len(kinds) < 12 {
		t.Errorf("%d questions of %d mailboxes and %d kinds are kept, want 4000 of 10 and 12", st.Kept, len(inboxes), len(kinds))
	}
}
