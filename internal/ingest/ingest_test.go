package ingest_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/clock"
	"agentmill/internal/ingest"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
	"agentmill/internal/seed"
)

func config(paths ...string) ingest.Config {
	return ingest.Config{
		Paths: paths, Stdin: strings.NewReader(""), Stdout: io.Discard,
		Clock: clock.FixedAt(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler),
	}
}

// A file is a path with a mail.
type file struct{ path, text string }

// office is two mailboxes with copies, an assistant and addresses in many forms.
func office() []file {
	n := 0
	m := func(path, from, to, subject, body string, more ...string) file {
		n++
		return file{path, fmt.Sprintf("Message-ID: <%d@example.com>\nDate: Mon, %d Mar 2001 09:00:00 -0800 (PST)\nFrom: %s\nTo: %s\nSubject: %s\n%s\n%s", n, 1+n%20, from, to, subject, strings.Join(append(more, ""), "\n"), body)}
	}
	files := []file{
		m("maildir/reed-a/inbox/1.", "bo.kim@example.com", "ana.reed@example.com", "curve", "Four ten."),
		m("maildir/reed-a/inbox/2.", "bo.kim@example.com", "reeda@example.com", "gas", "Up.", "X-From: Kim, Bo </O=X/CN=BKIM>", "X-To: Reed, Ana M. </O=X/CN=AREED>"),
		m("maildir/reed-a/inbox/10.", "eve.lund@example.org", "areed@example.com", "lunch", "One?"),
		m("maildir/reed-a/inbox/11.", "eve.lund@example.org", "areed@example.com", "lunch again", "Two?"),
		m("maildir/reed-a/_sent_mail/1.", "joan.aide@example.com", "bo.kim@example.com", "RE: curve", "Ana says fine.", "X-From: Joan Aide"),
		m("maildir/reed-a/_sent_mail/2.", "joan.aide@example.com", "bo.kim@example.com", "Hello", "For Ana.", "X-From: Joan Aide"),
		m("maildir/reed-a/sent/3.", "a..reed@example.com", "bo.kim@example.com", "Fwd: curve", "See below.", "X-From: Reed, Ana M. </O=X/CN=AREED>"),
		m("maildir/reed-a/trips/rome/1.", "eve.lund@example.org", "rome@example.net", "rome", "Tickets.", "X-To: Ana Reed"),
		m("maildir/kim-b/inbox/1.", "ana.reed@example.com", "bo.kim@example.com", "curve", "Four ten?"),
		m("maildir/kim-b/sent/1.", "bo.kim@example.com", "ana.reed@example.com", "curve", "Four ten."),
	}
	copied := files[0]
	copied.path = "maildir/reed-a/all_documents/5."
	copied.text = strings.Replace(copied.text, "<1@", "<copy@", 1)
	return append(files, copied)
}

func writeTar(t *testing.T, files []file) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mail.tar.gz")
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: 0o644, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(path, buf.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeTree(t *testing.T, files []file) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(f.text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run returns what ingest writes to standard output.
func run(t *testing.T, cfg ingest.Config) string {
	t.Helper()
	var out bytes.Buffer
	cfg.Stdout = &out
	if _, err := ingest.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func parseRecords(t *testing.T, lines string) (list []mail.Email) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var e mail.Email
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func records(t *testing.T, paths ...string) []mail.Email {
	t.Helper()
	return parseRecords(t, run(t, config(paths...)))
}

// TestSameBytes is I1: container, order, shards and number of processors do not
// matter.
func TestSameBytes(t *testing.T) {
	files := office()
	want := run(t, config(writeTar(t, files)))
	if n := strings.Count(want, "\n"); n != 10 {
		t.Fatalf("%d records, want 10:\n%s", n, want)
	}
	check := func(name, got string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	check("again", run(t, config(writeTar(t, files))))
	check("a tree", run(t, config(filepath.Join(writeTree(t, files), "maildir"))))
	slices.Reverse(files)
	check("the other way round", run(t, config(writeTar(t, files))))
	old := runtime.GOMAXPROCS(1)
	check("one processor", run(t, config(writeTar(t, files))))
	runtime.GOMAXPROCS(old)

	var parts []string
	for i := 1; i <= 3; i++ {
		cfg := config(writeTar(t, files))
		cfg.Shard = seed.Shard{Part: i, Of: 3}
		var out bytes.Buffer
		cfg.Stdout = &out
		if _, err := ingest.Run(t.Context(), cfg); err != nil && !strings.Contains(err.Error(), "no mailbox") {
			t.Fatal(err)
		}
		parts = append(parts, slices.Collect(strings.Lines(out.String()))...)
	}
	whole := slices.Sorted(strings.Lines(want))
	slices.Sort(parts)
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Errorf("shards: %s", diff)
	}
}

func TestCopiesAndThreads(t *testing.T) {
	got := map[string]mail.Email{}
	for _, e := range records(t, writeTar(t, office())) {
		got[e.MessageID] = e
	}
	if diff := cmp.Diff([]mail.Copy{{MessageID: "<copy@example.com>", Folder: "all_documents", Source: "maildir/reed-a/all_documents/5."}}, got["<1@example.com>"].Copies); diff != "" {
		t.Error(diff)
	}
	threads := map[string]string{}
	for id, e := range got {
		threads[id] = e.ThreadID
	}
	want := map[string]string{
		"<1@example.com>": "<1@example.com>", "<2@example.com>": "<2@example.com>", "<3@example.com>": "<3@example.com>", "<4@example.com>": "<4@example.com>",
		"<5@example.com>": "<1@example.com>", "<6@example.com>": "<6@example.com>", "<7@example.com>": "<1@example.com>", "<8@example.com>": "<8@example.com>",
		"<9@example.com>": "<9@example.com>", "<10@example.com>": "<10@example.com>",
	}
	if diff := cmp.Diff(want, threads); diff != "" {
		t.Error(diff)
	}
	if e := got["<8@example.com>"]; e.Folder != "trips/rome" || e.Owner != "ana.reed@example.com" {
		t.Errorf("folder %s of %s", e.Folder, e.Owner)
	}
}

// TestThreadsAndNearDuplicates relates mails without References by what they
// quote, whatever their subjects say.
func TestThreadsAndNearDuplicates(t *testing.T) {
	const text = "The compressor at the north station stopped at four in the morning, and the crew will look at the valve before noon.\nPlease keep the line at half pressure until then and call me."
	day := 0
	m := func(id, from, to, subject, body string, more ...string) file {
		day++
		return file{"maildir/reed-a/inbox/" + id + ".", fmt.Sprintf("Message-ID: <%s@x>\nDate: %d Mar 2001 09:00:00 +0000\nFrom: %s\nTo: %s\nSubject: %s\n%s\n%s\n", id, day, from, to, subject, strings.Join(append(more, ""), "\n"), body)}
	}
	files := []file{
		m("1", "bo@x.com", "ana@x.com", "north station", text),
		m("2", "cy@x.com", "ana@x.com", "question", "Will it take all day?\n\nOn Thu, 1 Mar 2001, Bo wrote:\n> "+strings.ReplaceAll(text, "\n", "\n> ")),
		m("3", "dee@x.com", "ana@x.com", "RE: north station", "Nothing in common with the others but this subject."),
		m("4", "bo@x.com", "ana@x.com", "north station again", text+"\n\nBo"),
		m("5", "eve@x.com", "ana@x.com", "other", "In reply by header alone.", "In-Reply-To: <2@x>"),
		m("6", "cy@x.com", "ana@x.com", "RE: question", "Same subject, and somebody whom the thread knows."),
		m("7", "bo@x.com", "ana@x.com", "RE: north station", "An answer to another matter, by its header.", "References: <gone@x>"),
		m("8", "fay@x.com", "ana@x.com", "gone", "Another answer to the mail that is not here.", "References: <gone@x>"),
	}
	thread, near := map[string]string{}, map[string]string{}
	for _, e := range records(t, writeTar(t, files)) {
		thread[e.MessageID[:2]], near[e.MessageID[:2]] = e.ThreadID, e.NearOf
	}
	if diff := cmp.Diff(map[string]string{"<1": "<1@x>", "<2": "<1@x>", "<3": "<3@x>", "<4": "<4@x>", "<5": "<1@x>", "<6": "<1@x>", "<7": "<7@x>", "<8": "<7@x>"}, thread); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"<1": "", "<2": "", "<3": "", "<4": "<1@x>", "<5": "", "<6": "", "<7": "", "<8": ""}, near); diff != "" {
		t.Error(diff)
	}
}

func TestIndexAndOwners(t *testing.T) {
	dir := t.TempDir()
	cfg := config(writeTar(t, office()))
	cfg.Index, cfg.Out = filepath.Join(dir, "inbox.db"), filepath.Join(dir, "emails.parquet")
	stats, err := ingest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Messages != 11 || stats.Records != 10 || stats.Copies != 1 {
		t.Errorf("stats %+v", stats)
	}
	s, err := mailstore.Open(cfg.Index)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := []mailstore.Mailbox{
		{Owner: "ana.reed@example.com", Name: "reed-a", Aliases: []string{"a..reed@example.com", "areed@example.com", "reeda@example.com", "rome@example.net"}},
		{Owner: "bo.kim@example.com", Name: "kim-b"},
	}
	if diff := cmp.Diff(want, s.Owners()); diff != "" {
		t.Error(diff)
	}
	if id, row, err := s.Canonical(t.Context(), "reed-a", "<copy@example.com>"); err != nil || id != "<1@example.com>" || row != 1 {
		t.Errorf("the copy is row %d, %s, %v", row, id, err)
	}
}

func TestContainers(t *testing.T) {
	mbox := "From a@x Mon Mar  5 09:00:00 2001\nMessage-ID: <1@x>\nFrom: a@x\nTo: bo@x\n\none\n\nFrom memory: four.\n\nFrom b@x Mon Mar  5 10:00:00 2001\n\nno header here: the line above is text\n\nFrom b@x Mon Mar  5 10:00:00 2001\nMessage-ID: <2@x>\nFrom: b@x\nTo: bo@x\n\n>From two\n>>From three\n\n"
	eml := "Message-ID: <1@x>\nFrom: a@x\nTo: bo@x\nDate: 5 Mar 2001 09:00:00 +0000\n\none\n"
	for _, tt := range []struct {
		name  string
		files []file
		arg   string
		want  []string // owner, folder, body
	}{
		{"mbox", []file{{"box.mbox", mbox}}, "box.mbox", []string{
			"bo@x inbox one\n\nFrom memory: four.\n\nFrom b@x Mon Mar  5 10:00:00 2001\n\nno header here: the line above is text\n", "bo@x inbox From two\n>From three\n",
		}},
		{"mbox with CRLF", []file{{"box", strings.ReplaceAll(mbox, "\n", "\r\n")}}, "box", []string{
			"bo@x inbox one\n\nFrom memory: four.\n\nFrom b@x Mon Mar  5 10:00:00 2001\n\nno header here: the line above is text\n", "bo@x inbox From two\n>From three\n",
		}},
		{"one message", []file{{"a.eml", eml}}, "a.eml", []string{"bo@x inbox one\n"}},
		{"a Maildir", []file{{"bo/cur/1:2,S", eml}, {"bo/.Sent/cur/2", strings.ReplaceAll(strings.Replace(eml, "one", "two", 1), "<1@", "<2@")}, {"bo/cur/.dot", "no mail"}}, "bo", []string{"a@x inbox one\n", "a@x Sent two\n"}},
		{"a tree with an mbox", []file{{"mail/kim-b/old.mbox", mbox[:strings.Index(mbox, "From memory")]}}, "mail", []string{"bo@x old one\n"}},
		{"Kaggle's CSV", []file{{"emails.csv", "\"file\",\"message\"\n\"kim-b/sent/1.\",\"" + strings.ReplaceAll(eml, "one", `""one""`) + "\"\n"}}, "emails.csv", []string{"a@x sent \"one\"\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range records(t, filepath.Join(writeTree(t, tt.files), tt.arg)) {
				got = append(got, e.Owner+" "+e.Folder+" "+e.Body)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg := config(writeTar(t, office()))
	cfg.Out = filepath.Join(t.TempDir(), "emails.jsonl")
	if _, err := ingest.Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(cfg.Out); err == nil {
		t.Error("a cancelled run left its output")
	}
}

func TestDamagedArchive(t *testing.T) {
	path := writeTar(t, office())
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.Run(t.Context(), config(path)); err == nil || !strings.Contains(err.Error(), "mail.tar.gz: the compressed data ends too early") {
		t.Errorf("error %v", err)
	}
}
