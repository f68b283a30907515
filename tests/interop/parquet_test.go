package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/ingest"
	"agentmill/internal/mail"
	"agentmill/internal/progress"
)

// What a library finds in a file of Email records.
type counts struct {
	Rows, To, Body, Copies, Undated int
	Newest, First                   string
}

type found struct {
	PyArrow, Pandas, DuckDB counts
	Size                    struct{ Ours, Theirs int64 }
}

func look(t *testing.T, path string) (f found) {
	t.Helper()
	exe := os.Getenv("AGENTMILL_PYTHON")
	if exe == "" {
		t.Skip("AGENTMILL_PYTHON is not set to a Python with pyarrow, pandas and DuckDB: make test-interop sets it")
	}
	out, err := exec.Command(exe, "parquet.py", path).Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s", err, e.Stderr)
		}
		t.Fatalf("parquet.py: %v", err)
	}
	if err := json.Unmarshal(out, &f); err != nil {
		t.Fatalf("parquet.py answers %.200q: %v", out, err)
	}
	return f
}

// inventedMail is mail of many words, with lists, dates to the microsecond, and
// what is not ASCII.
func inventedMail(n int) []mail.Email {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 5000)
	for i := range words {
		for range 2 + rnd.IntN(8) {
			words[i] += string(rune('a' + rnd.IntN(26)))
		}
	}
	emails := make([]mail.Email, n)
	for i := range emails {
		e := &emails[i]
		*e = mail.Email{
			MessageID: fmt.Sprintf("<%x@mill.example>", rnd.Uint64()), DateSource: "none", From: words[rnd.IntN(300)] + "@mill.example",
			Subject: "Grüße " + words[i%5000], Owner: words[i*20/n] + "@mill.example", Folder: "inbox", Source: fmt.Sprint("mail/", i),
		}
		if i%50 > 0 {
			e.DateSource, e.Date = "header", time.UnixMicro(1e15+int64(i)*1e9+int64(i)).UTC()
		}
		for range rnd.IntN(4) {
			e.To = append(e.To, words[rnd.IntN(300)]+"@mill.example")
			e.Copies = append(e.Copies, mail.Copy{MessageID: fmt.Sprintf("<%x@copy>", rnd.Uint64()), Folder: "all", Source: fmt.Sprint("copy/", i)})
		}
		var body strings.Builder
		for range 50 + rnd.IntN(400) {
			body.WriteString(words[int(float64(len(words))*rnd.Float64()*rnd.Float64())] + " ")
		}
		e.Body = body.String() + "\n— Zoë"
	}
	return emails
}

func countMail(emails []mail.Email) (c counts) {
	var newest time.Time
	for i := range emails {
		e := &emails[i]
		c.To += len(e.To)
		c.Body += len([]rune(e.Body))
		c.Copies += len(e.Copies)
		if e.Date.IsZero() {
			c.Undated++
		} else if e.Date.After(newest) {
			newest = e.Date
		}
	}
	c.Rows, c.First, c.Newest = len(emails), emails[0].Subject, newest.Format("2006-01-02T15:04:05.000000-07:00")
	return c
}

func checkParquet(t *testing.T, path string, want counts) {
	t.Helper()
	f := look(t, path)
	for name, got := range map[string]counts{"pyarrow": f.PyArrow, "pandas": f.Pandas, "DuckDB": f.DuckDB} {
		if !strings.Contains(got.Newest, ".") { // Python leaves out a fraction of 0
			got.Newest = strings.Replace(got.Newest, "+", ".000000+", 1)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	t.Logf("%d bytes, %.3f of what pyarrow writes with zstd", f.Size.Ours, float64(f.Size.Ours)/float64(f.Size.Theirs))
	if f.Size.Ours > f.Size.Theirs {
		t.Errorf("our file has %d bytes, pyarrow's %d", f.Size.Ours, f.Size.Theirs)
	}
}

// TestParquetOfMail: DuckDB, pyarrow and pandas read what we write, and pyarrow
// writes the same rows no smaller.
func TestParquetOfMail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "emails.parquet")
	emails := inventedMail(4_000)
	out, err := dataset.Create[mail.Email](path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range emails {
		if err := out.Write(&emails[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	checkParquet(t, path, countMail(emails))
}

// TestParquetOfRealMail does the same with real mail, where it is at hand.
func TestParquetOfRealMail(t *testing.T) {
	dir := os.Getenv("AGENTMILL_SHARED")
	if dir == "" {
		t.Skip("AGENTMILL_SHARED is not set: not compared on real mail")
	}
	path := filepath.Join(t.TempDir(), "emails.parquet")
	quiet := slog.New(slog.DiscardHandler)
	cfg := ingest.Config{
		Paths: []string{filepath.Join(dir, "enron", "enron_sample_dev.tar.gz")}, Out: path,
		Clock: clock.Real(), Log: quiet, Progress: progress.New(os.Stderr, quiet, progress.Never, false),
	}
	if _, err := ingest.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	emails, _, err := dataset.ReadAll[mail.Email](t.Context(), dataset.Source{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	checkParquet(t, path, countMail(emails))
}
