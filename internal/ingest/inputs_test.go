package ingest_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/ingest"
	"agentmill/internal/jsonl"
	"agentmill/internal/seed"
)

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEveryInputSameRecords: what holds the mail does not show in the records.
func TestEveryInputSameRecords(t *testing.T) {
	files := office()
	want := run(t, config(writeTar(t, files)))
	var table, lines, zipped bytes.Buffer
	table.WriteString("\"file\",\"message\"\n")
	z := zip.NewWriter(&zipped)
	for _, f := range files {
		fmt.Fprintf(&table, "%q,\"%s\"\n", f.path, strings.ReplaceAll(f.text, `"`, `""`))
		line, err := jsonl.Marshal(map[string]string{"file": f.path, "message": f.text})
		w, e := z.Create(f.path)
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		lines.Write(append(line, '\n'))
		if _, err := io.WriteString(w, f.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"emails.csv": table.Bytes(), "emails.jsonl": lines.Bytes(), "mail.zip": zipped.Bytes()} {
		if diff := cmp.Diff(want, run(t, config(write(t, name, data)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		cfg := config()
		cfg.Stdin = bytes.NewReader(data)
		if diff := cmp.Diff(want, run(t, cfg)); diff != "" {
			t.Errorf("%s on standard input: %s", name, diff)
		}
	}
}

// TestOwnRecordsAgain: reading what was written writes the same, and mail that
// is read twice is not its own copy.
func TestOwnRecordsAgain(t *testing.T) {
	archive := writeTar(t, office())
	want := run(t, config(archive))
	for _, name := range []string{"emails.parquet", "emails.jsonl.zst"} {
		cfg := config(archive)
		cfg.Out = filepath.Join(t.TempDir(), name)
		if _, err := ingest.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, run(t, config(cfg.Out))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, twice := range [][]string{{cfg.Out, archive}, {archive, cfg.Out}, {archive, archive}} {
			if diff := cmp.Diff(want, run(t, config(twice...))); diff != "" {
				t.Errorf("%s: %s", strings.Join(twice, " and "), diff)
			}
		}
	}
}

// TestShardsOfOwners: a person whose mail lies in several inputs, under several
// names, is whole in one shard.
func TestShardsOfOwners(t *testing.T) {
	var mbox strings.Builder
	for i := range 4 {
		fmt.Fprintf(&mbox, "From a@x Mon Mar  5 09:00:00 2001\nMessage-ID: <box%d@x>\nDelivered-To: bo.kim@example.com\nFrom: ana.reed@example.com\nTo: bo.kim@example.com\nSubject: curve\nDate: Mon, 9 Mar 2001 09:00:00 -0800\n\nFour ten? %d\n\n", i, i/2)
	}
	paths := []string{writeTar(t, office()), write(t, "box.mbox", []byte(mbox.String()))}
	whole := run(t, config(paths...))
	if n := strings.Count(whole, `"owner":"bo.kim@example.com"`); n != 4 {
		t.Fatalf("%d records of bo, want 4:\n%s", n, whole)
	}
	var parts []string
	for i := 1; i <= 4; i++ {
		cfg := config(paths...)
		cfg.Shard = seed.Shard{Part: i, Of: 4}
		var out bytes.Buffer
		cfg.Stdout = &out
		if _, err := ingest.Run(t.Context(), cfg); err != nil && !strings.Contains(err.Error(), "no mailbox") {
			t.Fatal(err)
		}
		parts = append(parts, slices.Collect(strings.Lines(out.String()))...)
	}
	slices.Sort(parts)
	if diff := cmp.Diff(slices.Sorted(strings.Lines(whole)), parts); diff != "" {
		t.Error(diff)
	}
}
