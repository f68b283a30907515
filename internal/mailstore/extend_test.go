package mailstore_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
)

// extend adds mails, mailbox by mailbox.
func extend(ctx context.Context, path string, emails []*mail.Email) error {
	b, err := mailstore.Extend(ctx, path)
	if err != nil {
		return err
	}
	defer b.Abort()
	byOwner := map[string][]*mail.Email{}
	for _, e := range emails {
		byOwner[e.Owner] = append(byOwner[e.Owner], e)
	}
	for _, owner := range []string{"a@x", "b@x", "c@x"} {
		if len(byOwner[owner]) > 0 {
			if err := b.Add(ctx, mailstore.Mailbox{Owner: owner}, byOwner[owner]); err != nil {
				return err
			}
		}
	}
	return b.Commit(ctx)
}

func open(t *testing.T, path string) *mailstore.Store {
	t.Helper()
	s, err := mailstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// random makes n mails of three mailboxes; one has no date, and every date is
// another one.
func random(rnd *rand.Rand, n int) (emails []*mail.Email) {
	words := []string{"gas", "curve", "may", "deal", "lunch", "budget", "4.10"}
	owners := []string{"a@x", "b@x", "c@x"}
	dates := rnd.Perm(n)
	for i := range n {
		e := &mail.Email{
			MessageID: fmt.Sprintf("<%d@x>", i), Owner: owners[rnd.IntN(3)], From: owners[rnd.IntN(3)], To: []string{owners[rnd.IntN(3)]},
			Subject: words[rnd.IntN(len(words))], Body: words[rnd.IntN(len(words))] + " " + words[rnd.IntN(len(words))], Source: strconv.Itoa(i),
		}
		if dates[i] > 0 {
			e.Date = day("2001-01-01").Add(time.Duration(dates[i]) * time.Hour)
		}
		emails = append(emails, e)
	}
	return emails
}

// TestExtended: a database to which mails were added in parts, in any order,
// answers as one that was built of all of them; and no row changes its mail (S5).
func TestExtended(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	emails := random(rnd, 200)
	whole := build(t, emails, mailstore.Options{})
	path := filepath.Join(t.TempDir(), "inbox.db")
	if err := mailstore.Build(t.Context(), path, emails[:80], mailstore.Options{Mailboxes: []mailstore.Mailbox{{Owner: "a@x"}}}); err != nil {
		t.Fatal(err)
	}
	rowOf := map[string]int64{}
	for from := 80; from < 200; from += 40 {
		if err := extend(t.Context(), path, emails[from:from+40]); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		for _, owner := range []string{"a@x", "b@x", "c@x"} {
			for m, err := range s.Mails(t.Context(), owner) {
				if err != nil {
					t.Fatal(err)
				}
				if old, known := rowOf[m.MessageID]; known && old != m.Row {
					t.Fatalf("mail %s was row %d, is row %d now", m.MessageID, old, m.Row)
				}
				rowOf[m.MessageID] = m.Row
			}
		}
	}
	parts := open(t, path)
	for _, owner := range []string{"a@x", "b@x", "c@x"} {
		sameMails(t, whole, parts, owner)
		if a, b := whole.Count(owner), parts.Count(owner); a != b {
			t.Errorf("%s has %d mails, want %d", owner, b, a)
		}
		if a, b := whole.NewestDate(owner), parts.NewestDate(owner); !a.Equal(b) {
			t.Errorf("newest of %s is %v, want %v", owner, b, a)
		}
	}
	for range 400 {
		sameHits(t, whole, parts, randomQuery(rnd))
	}
}

func randomQuery(rnd *rand.Rand) mailstore.Query {
	words := []string{"gas", "curve", "may", "deal", "lunch", "budget", "4.10"}
	q := mailstore.Query{Owner: []string{"a@x", "b@x", "c@x"}[rnd.IntN(3)], Mode: mailstore.All, Max: 1 + rnd.IntN(12)}
	for range 1 + rnd.IntN(2) {
		q.Keywords = append(q.Keywords, words[rnd.IntN(len(words))])
	}
	if rnd.IntN(2) == 0 {
		q.Mode = mailstore.Any
		q.Max = 100 // the order of equal scores is by row, which differs
	}
	if rnd.IntN(2) == 0 {
		q.From = []string{"a@", "b@"}[rnd.IntN(2)]
	}
	if rnd.IntN(2) == 0 {
		q.After = day("2001-01-01").Add(time.Duration(rnd.IntN(200)) * time.Hour)
	}
	if rnd.IntN(2) == 0 {
		q.Before = day("2001-01-01").Add(time.Duration(rnd.IntN(200)) * time.Hour)
	}
	return q
}

func sameHits(t *testing.T, whole, parts *mailstore.Store, q mailstore.Query) {
	t.Helper()
	want, err := whole.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parts.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	a, b := ids(want), ids(got)
	if q.Mode == mailstore.Any {
		slices.Sort(a)
		slices.Sort(b)
	}
	if d := cmp.Diff(a, b); d != "" || want.Total != got.Total || want.More != got.More {
		t.Errorf("%+v: total %d, want %d (-built +extended):\n%s", q, got.Total, want.Total, d)
	}
}

func sameMails(t *testing.T, whole, parts *mailstore.Store, owner string) {
	t.Helper()
	for _, since := range []time.Time{{}, day("2001-01-03")} {
		list := func(s *mailstore.Store) (out []mail.Email) {
			for m, err := range s.MailsSince(t.Context(), owner, since) {
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, m.Email)
			}
			return out
		}
		if d := cmp.Diff(list(whole), list(parts)); d != "" {
			t.Errorf("%s since %v (-built +extended):\n%s", owner, since, d)
		}
	}
}

func TestExtendedRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	if err := mailstore.Build(t.Context(), path, sample(), mailstore.Options{}); err != nil {
		t.Fatal(err)
	}
	b, err := mailstore.Extend(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	if _, err := mailstore.Extend(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another process is adding to it") {
		t.Errorf("a second one at once: got %v", err)
	}
	old := &mail.Email{MessageID: "<same@x>", Owner: ana, Date: day("1999-01-01"), Subject: "added", To: []string{"zed@example.com"}, Body: "zero"}
	if err := b.Add(t.Context(), mailstore.Mailbox{Owner: ana, Aliases: []string{"new@example.com"}}, []*mail.Email{old}); err != nil {
		t.Fatal(err)
	}
	again := mail.Copy{MessageID: "<again@x>", Folder: "all", Source: "y"}
	for _, want := range []int{1, 0} {
		if n, err := b.AddCopies(t.Context(), 3, []mail.Copy{again, {MessageID: "<curve@x>", Folder: "inbox", Source: "maildir/<curve@x>"}}); err != nil || n != want {
			t.Fatalf("%d copies added, %v, want %d", n, err, want)
		}
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	for id, want := range map[string]string{"9": "added", "<same@x>": "added", "again@x": "curve", "3": "curve"} {
		if m, err := s.Read(t.Context(), "new@example.com", id); err != nil || m.Subject != want {
			t.Errorf("Read %s: %v, %v, want %s", id, m, err, want)
		}
	}
	if _, err := s.Read(t.Context(), bo, "9"); err == nil {
		t.Error("a row that was added is read from another mailbox")
	}
	h, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: []string{"zero"}, To: "ZED"})
	if err != nil || len(h.Hits) != 1 || h.Hits[0].Row != 9 {
		t.Errorf("search by the recipient of an added mail: %v, %v", h, err)
	}
	at, err := s.At(t.Context(), ana, day("1999-01-01"))
	if err != nil || len(at) != 1 || at[0].Subject != "added" {
		t.Errorf("mails of a second: %v, %v", at, err)
	}
}

func TestExtendRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.db"): "none.db: no such file", text: "text.db: is not an inbox index", dir: "is a directory",
	} {
		if _, err := mailstore.Extend(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to say %q", path, err, want)
		}
	}
}

// TestExtendOfReplaced: a database that was built anew meanwhile is not overwritten.
func TestExtendOfReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	if err := mailstore.Build(t.Context(), path, sample(), mailstore.Options{}); err != nil {
		t.Fatal(err)
	}
	b, err := mailstore.Extend(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	if err := b.Add(t.Context(), mailstore.Mailbox{Owner: ana}, batch(1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := mailstore.Build(t.Context(), path, sample()[:2], mailstore.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), "has replaced it meanwhile") {
		t.Errorf("got %v", err)
	}
	if n := open(t, path).Count(ana); n != 1 {
		t.Errorf("%d mails, want those of the new build", n)
	}
}

// TestKilled kills processes that add mails, each after its first addition, at
// moments that differ by a millisecond. What is left opens, has the mails of some
// number of whole additions, and can be added to.
func TestKilled(t *testing.T) {
	if path := os.Getenv("MAILSTORE_EXTEND"); path != "" {
		for i := 0; ; i++ {
			if err := extend(context.Background(), path, batch(time.Now().UnixNano(), i)); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("added")
		}
	}
	path := filepath.Join(t.TempDir(), "inbox.db")
	if err := mailstore.Build(t.Context(), path, batch(0, 0), mailstore.Options{}); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for delay := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "MAILSTORE_EXTEND="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("added"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(2*delay) * time.Millisecond)
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil && err.Error() == "signal: killed" {
			killed++
		}
		checkBatches(t, path)
	}
	if killed != 12 {
		t.Errorf("%d of 12 processes were killed: the others failed", killed)
	}
	if err := extend(t.Context(), path, batch(-1, 1)); err != nil {
		t.Fatal(err)
	}
	if n := checkBatches(t, path); n < 14 {
		t.Errorf("%d batches, want at least one of each process and those before and after", n)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

const batchSize = 20

// batch is mails of one addition.
func batch(number int64, i int) (emails []*mail.Email) {
	for k := range batchSize {
		id := fmt.Sprintf("<%d.%d.%d@x>", number, i, k)
		emails = append(emails, &mail.Email{MessageID: id, Owner: "a@x", Source: id, Body: "gas " + strings.Repeat("x", 2000), Date: day("2001-01-01").AddDate(0, 0, i*k%7)})
	}
	return emails
}

// checkBatches checks that there are whole batches, and how many.
func checkBatches(t *testing.T, path string) int {
	t.Helper()
	s, err := mailstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for _, err := range s.Mails(t.Context(), "a@x") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	h, err := s.Search(t.Context(), mailstore.Query{Owner: "a@x", Keywords: []string{"gas"}})
	if err != nil || h.Total != min(n, mailstore.TotalCap) || n%batchSize != 0 || n != s.Count("a@x") {
		t.Fatalf("%d mails, count %d, %d found, error %v", n, s.Count("a@x"), h.Total, err)
	}
	return n / batchSize
}
