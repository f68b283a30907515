package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/ingest"
	"agentmill/internal/mail"
)

// A tableRow is what tables.py wrote, in Python's terms.
type tableRow struct {
	MessageID string    `json:"message_id"`
	Subject   *string   `json:"subject"`
	From      string    `json:"from"`
	To        []*string `json:"to"`
	Date      *string   `json:"date"`
	Body      *string   `json:"body"`
	FileName  string    `json:"file_name"`
}

// TestParquetOfOthers reads tables of mail as pyarrow and DuckDB write them, in
// all encodings of lists, strings, dates and pages that they have.
func TestParquetOfOthers(t *testing.T) {
	exe := os.Getenv("AGENTMILL_PYTHON")
	if exe == "" {
		t.Skip("AGENTMILL_PYTHON is not set to a Python with pyarrow and DuckDB: make test-interop sets it")
	}
	dir := t.TempDir()
	out, err := exec.Command(exe, "tables.py", dir).Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("tables.py: %v\n%s", err, e.Stderr)
	}
	var rows []tableRow
	if err := errors.Join(err, json.Unmarshal(out, &rows)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) < 7 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		unit := time.Microsecond
		if strings.Contains(file, "-ms") {
			unit = time.Millisecond
		}
		got := emailsOf(t, file)
		if len(got) != len(rows) {
			t.Fatalf("%s: %d records of %d rows", file, len(got), len(rows))
		}
		for _, r := range rows {
			i := slices.IndexFunc(got, func(e mail.Email) bool { return e.MessageID == r.MessageID })
			if i < 0 || !r.equals(&got[i], unit) {
				t.Errorf("%s: %+v of %+v", filepath.Base(file), got, r)
			}
		}
	}
}

func emailsOf(t *testing.T, file string) (list []mail.Email) {
	t.Helper()
	var out bytes.Buffer
	_, err := ingest.Run(t.Context(), ingest.Config{
		Paths: []string{file}, Stdout: &out, Clock: clock.FixedAt(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var e mail.Email
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// equals compares a record with its row; null is empty, null addresses are none.
func (r *tableRow) equals(e *mail.Email, unit time.Duration) bool {
	var to []string
	for _, address := range r.To {
		if address != nil {
			to = append(to, *address)
		}
	}
	var date time.Time
	if r.Date != nil {
		date, _ = time.Parse("2006-01-02T15:04:05.999999", *r.Date)
	}
	folder := strings.Split(r.FileName, "/")[1]
	return e.From == r.From && e.Subject == text(r.Subject) && e.Body == text(r.Body) && slices.Equal(e.To, to) &&
		e.Date.Equal(date.Truncate(unit)) && e.Source == r.FileName && e.Folder == folder
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
