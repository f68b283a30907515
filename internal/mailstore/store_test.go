package mailstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
)

const (
	ana = "ana.reed@example.com"
	bo  = "bo.kim@example.com"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err) // a typing error in a test
	}
	return t
}

// sample is two mailboxes in which the words of the tests stand.
func sample() []*mail.Email {
	m := func(owner, id, date, from, subject, body string) *mail.Email {
		e := &mail.Email{
			MessageID: id, From: from, To: []string{owner}, Owner: owner, Subject: subject, Body: body,
			Folder: "inbox", Source: "maildir/" + id, DateSource: "none",
		}
		if date != "" {
			e.Date, e.DateSource = day(date), "header"
		}
		return e
	}
	curve := m(ana, "<curve@x>", "2001-03-05", bo, "curve", "the gas curve moved to 4.10 in POL-358")
	curve.Cc = []string{"list@traders.example.org"}
	curve.Copies = []mail.Copy{{MessageID: "<copy@x>", Folder: "sent", Source: "maildir/copy"}}
	wrong := m(ana, "<late@x>", "2044-01-01", bo, "date from a broken clock", "gas")
	wrong.Warnings = []string{mail.WarnDateRange}
	return []*mail.Email{
		m(bo, "<bo1@x>", "2001-01-01", ana, "gas", "gas gas gas: only Bo may see this"),
		wrong,
		m(ana, "<undated@x>", "", bo, "undated", "gas without a date"),
		curve,
		m(ana, "<old@x>", "2000-12-14", "Eve.Lund@example.com", "RE: curve", "gas: trading starts in May\n\n> the old curve"),
		m(ana, "<same@x>", "2001-04-01", bo, "first", "one"),
		m(ana, "<same@x>", "2001-04-02", bo, "second", "two"),
		m(ana, "<17>", "2001-04-03", bo, "an id like a row number", "seventeen"),
	}
}

func build(t testing.TB, emails []*mail.Email, opt mailstore.Options) *mailstore.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inbox #1?.db")
	if err := mailstore.Build(t.Context(), path, emails, opt); err != nil {
		t.Fatal(err)
	}
	s, err := mailstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func ids(h mailstore.Hits) []string {
	out := []string{}
	for _, hit := range h.Hits {
		out = append(out, hit.MessageID)
	}
	return out
}

func TestSearch(t *testing.T) {
	s := build(t, sample(), mailstore.Options{Mailboxes: []mailstore.Mailbox{{Owner: ana, Name: "reed-a", Aliases: []string{"Areed@example.com"}}}})
	for _, tt := range []struct {
		name string
		q    mailstore.Query
		want []string
	}{
		{"all: newest first, undated last", mailstore.Query{Keywords: []string{"gas"}, Mode: mailstore.All}, []string{"<late@x>", "<curve@x>", "<old@x>", "<undated@x>"}},
		{"all: every word", mailstore.Query{Keywords: []string{"gas", "trading"}, Mode: mailstore.All}, []string{"<old@x>"}},
		{"any: best first", mailstore.Query{Keywords: []string{"curve", "4.10", "nothing"}}, []string{"<curve@x>", "<old@x>"}},
		{"alias, letter case and brackets", mailstore.Query{Owner: " <AREED@example.com>", Keywords: []string{"TRADING"}}, []string{"<old@x>"}},
		{"name of the mailbox", mailstore.Query{Owner: "reed-a", Keywords: []string{"trading"}}, []string{"<old@x>"}},
		{"no stems unless asked for", mailstore.Query{Keywords: []string{"trade"}}, []string{}},
		{"phrase in one keyword", mailstore.Query{Keywords: []string{"the old curve"}}, []string{"<old@x>"}},
		{"punctuation is a phrase", mailstore.Query{Keywords: []string{"POL-358"}}, []string{"<curve@x>"}},
		{"syntax is data", mailstore.Query{Keywords: []string{`NEAR(curve`, `subject:curve`, `"`, `curve" OR "gas`, "*", "\x00"}}, []string{}},
		{"from: part of the address, folded", mailstore.Query{Keywords: []string{"gas"}, From: "EVE.lund"}, []string{"<old@x>"}},
		{"from: no wildcard", mailstore.Query{Keywords: []string{"gas"}, From: "%"}, []string{}},
		{"to: cc counts", mailstore.Query{Keywords: []string{"gas"}, To: "traders"}, []string{"<curve@x>"}},
		{"to is not from", mailstore.Query{Keywords: []string{"gas"}, To: "bo.kim"}, []string{}},
		{"after inclusive, before exclusive", mailstore.Query{Keywords: []string{"gas"}, After: day("2000-12-14"), Before: day("2001-03-05")}, []string{"<old@x>"}},
		{"after a second within a day", mailstore.Query{Keywords: []string{"gas"}, After: day("2000-12-14").Add(1), Before: day("2002-01-01")}, []string{"<curve@x>"}},
		{"dates leave nothing", mailstore.Query{Keywords: []string{"gas"}, After: day("2050-01-01")}, []string{}},
		{"before all dates", mailstore.Query{Keywords: []string{"gas"}, Before: day("1990-01-01")}, []string{}},
		{"dates the wrong way round", mailstore.Query{Keywords: []string{"gas"}, After: day("2001-01-01"), Before: day("2000-01-01")}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.q.Owner == "" {
				tt.q.Owner = ana
			}
			h, err := s.Search(t.Context(), tt.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, ids(h)); diff != "" {
				t.Error(diff)
			}
			if h.Total != len(tt.want) {
				t.Errorf("total %d, want %d", h.Total, len(tt.want))
			}
		})
	}
}

func TestSearchHit(t *testing.T) {
	s := build(t, sample(), mailstore.Options{})
	h, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: []string{"trading"}})
	if err != nil {
		t.Fatal(err)
	}
	want := mailstore.Hits{Total: 1, Hits: []mailstore.Hit{{
		Row: 2, MessageID: "<old@x>", Date: day("2000-12-14"), From: "Eve.Lund@example.com",
		Subject: "RE: curve", Snippet: "gas: trading starts in May > the old curve",
	}}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
}

func TestSnippetMarks(t *testing.T) {
	s := build(t, sample(), mailstore.Options{})
	h, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: []string{"trading", "may"}, Marks: [2]string{"[", "]"}})
	if err != nil || len(h.Hits) != 1 || h.Hits[0].Snippet != "gas: [trading] starts in [May] > the old curve" {
		t.Errorf("got %+v, %v", h, err)
	}
}

// TestHostileKeywords is S2: what is syntax elsewhere is looked for as it stands,
// and finds what holds it.
func TestHostileKeywords(t *testing.T) {
	m := func(id, body string) *mail.Email {
		return &mail.Email{MessageID: id, Owner: ana, Body: body, Source: id}
	}
	long := strings.Repeat("word ", 2000)
	s := build(t, []*mail.Email{
		m("quote", `a 6" pipe, he said "no"`), m("and", "bread AND butter"), m("near", "NEAR(the river)"), m("star", "gas* and gasoline"),
		m("emoji", "party 🎉 tonight"), m("icon", "\uf0e0 us"), m("long", long), m("column", "subject:outage in body"), m("minus", "-not +this ^that {those}"),
		m("accent", "Zoë's café"), m("cjk", "会议 明天"), m("mail", "write to foo@bar.example.com"),
	}, mailstore.Options{})
	for _, tt := range []struct {
		keywords []string
		any, all string // ids found
	}{
		{[]string{`6"`}, "quote", "quote"},
		{[]string{`"no"`, `said "`}, "quote", "quote"},
		{[]string{`" OR "`}, "", ""},
		{[]string{"AND"}, "and star", "star and"}, // a word like others
		{[]string{"bread", "AND", "river"}, "and near star", ""},
		{[]string{"NOT", "OR"}, "minus", ""},
		{[]string{"NEAR(the river)"}, "near", "near"},
		{[]string{"NEAR(", "river"}, "near", "near"},
		{[]string{"NEAR(bread butter, 5)"}, "", ""},
		{[]string{"gas*"}, "star", "star"},
		{[]string{"gaso*"}, "", ""},
		{[]string{"*", "party"}, "emoji", "emoji"},
		{[]string{"🎉", "tonight"}, "emoji", "emoji"},
		{[]string{"\uf0e0"}, "icon", "icon"},
		{[]string{"party 🎉 tonight"}, "emoji", "emoji"},
		{[]string{"subject:outage"}, "column", "column"},
		{[]string{"body: outage"}, "", ""},
		{[]string{"-not", "+this", "^that", "{those}"}, "minus", "minus"},
		{[]string{long}, "long", "long"},
		{[]string{strings.Repeat("x", 10_000)}, "", ""},
		{[]string{strings.Repeat(`"*(`, 3_000) + "party"}, "emoji", "emoji"},
		{[]string{"zoe", "CAFÉ"}, "accent", "accent"},
		{[]string{"会议"}, "cjk", "cjk"},
		{[]string{"foo@bar.example.com"}, "mail", "mail"},
		{[]string{"par\x00ty", "tonight"}, "emoji", ""},
		{[]string{"'; DROP TABLE mails; --", "tonight"}, "emoji", ""},
		{slices.Repeat([]string{"party", "river"}, 5_000), "emoji near", ""},
	} {
		for mode, want := range map[mailstore.Mode]string{mailstore.Any: tt.any, mailstore.All: tt.all} {
			h, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: tt.keywords, Mode: mode})
			if got := strings.Join(ids(h), " "); err != nil || got != want {
				t.Errorf("%s %.40q: found %q, want %q; error %v", mode, tt.keywords, got, want, err)
			}
		}
	}
	for _, none := range [][]string{nil, {}, {""}, {"🎉"}, {"*"}, {"(", ")", `"`}, {"\x00"}} {
		if _, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: none}); !errors.Is(err, mailstore.ErrNoKeywords) {
			t.Errorf("%q: error %v, want ErrNoKeywords", none, err)
		}
	}
}

func TestSearchErrors(t *testing.T) {
	s := build(t, sample(), mailstore.Options{})
	for _, tt := range []struct {
		name string
		q    mailstore.Query
		want error
	}{
		{"no keywords", mailstore.Query{Owner: ana}, mailstore.ErrNoKeywords},
		{"only marks", mailstore.Query{Owner: ana, Keywords: []string{"--", `"`, " "}}, mailstore.ErrNoKeywords},
		{"no such mailbox", mailstore.Query{Owner: "eve@example.com", Keywords: []string{"gas"}}, mailstore.ErrNoMailbox},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.Search(t.Context(), tt.q); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	if _, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: []string{"gas"}, Mode: "some"}); err == nil {
		t.Error("an unknown rule was taken")
	}
}

func TestTotalIsCapped(t *testing.T) {
	var emails []*mail.Email
	for i := range mailstore.TotalCap + 5 {
		emails = append(emails, &mail.Email{MessageID: fmt.Sprintf("<%d@x>", i), Owner: ana, Body: "gas"})
	}
	s := build(t, emails, mailstore.Options{})
	for mode, most := range map[mailstore.Mode]int{mailstore.Any: 3, mailstore.All: mailstore.TotalCap + 2} {
		h, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: []string{"gas"}, Mode: mode, Max: most})
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Hits) != most || h.Total != mailstore.TotalCap || !h.More {
			t.Errorf("%s: %d hits, total %d, more %v", mode, len(h.Hits), h.Total, h.More)
		}
	}
}

func TestRead(t *testing.T) {
	s := build(t, sample(), mailstore.Options{})
	for _, tt := range []struct {
		name, id, want string
		same           int
	}{
		{"row", "3", "<curve@x>", 0},
		{"row with blanks", " 3\n", "<curve@x>", 0},
		{"id", "<curve@x>", "<curve@x>", 0},
		{"id without brackets", "curve@x", "<curve@x>", 0},
		{"copy", "<copy@x>", "<curve@x>", 0},
		{"undated mail is row 1", "1", "<undated@x>", 0},
		{"id of two mails", "<same@x>", "<same@x>", 1},
		{"brackets make a number an id", "<17>", "<17>", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := s.Read(t.Context(), ana, tt.id)
			if err != nil {
				t.Fatal(err)
			}
			if m.MessageID != tt.want || m.SameID != tt.same {
				t.Errorf("got %s with %d of the same id, want %s with %d", m.MessageID, m.SameID, tt.want, tt.same)
			}
			id, row, err := s.Canonical(t.Context(), ana, tt.id)
			if err != nil || id != tt.want || row != m.Row {
				t.Errorf("Canonical gives %s, %d, %v", id, row, err)
			}
		})
	}
	for _, id := range []string{"", "<none@x>", "<bo1@x>", "0", "-1", "9", "99999999999999999999"} {
		if _, err := s.Read(t.Context(), ana, id); !errors.Is(err, mailstore.ErrNoMail) {
			t.Errorf("Read %q: error %v, want ErrNoMail", id, err)
		}
	}
	if m, _ := s.Read(t.Context(), ana, "same@x"); m.Subject != "first" {
		t.Errorf("of two mails with one id %q came, want the oldest", m.Subject)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	want := mail.Email{
		MessageID: "<a@x>", Date: time.Date(2001, 5, 14, 16, 39, 0, 123456000, time.UTC), DateSource: "header",
		From: "bo@x", To: []string{"ana@x"}, Cc: []string{"c@x"}, Bcc: []string{"b@x"}, Subject: "s", Body: "b\n", Owner: "ana@x",
		Folder: "inbox", ThreadID: "t", InReplyTo: "<p@x>", References: []string{"<p@x>"}, Attachments: []mail.Attachment{{Name: "a.pdf", Type: "application/pdf", Size: 9}},
		Labels: []string{"l"}, Quoted: []mail.Span{{Start: 0, End: 1}}, NearOf: "<n@x>", Copies: []mail.Copy{{MessageID: "<c@x>", Folder: "f", Source: "s"}},
		Source: "src", Warnings: []string{mail.WarnNul}, Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"y":1}`)},
	}
	s := build(t, []*mail.Email{&want}, mailstore.Options{})
	n := 0
	for m, err := range s.Mails(t.Context(), "ana@x") {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if diff := cmp.Diff(want, m.Email); diff != "" {
			t.Error(diff)
		}
	}
	if n != 1 {
		t.Errorf("%d mails, want 1", n)
	}
}

func TestOwners(t *testing.T) {
	s := build(t, sample(), mailstore.Options{Mailboxes: []mailstore.Mailbox{{Owner: "Empty@example.com"}, {Owner: ana, Name: "reed-a", Aliases: []string{"areed@example.com", ana}}}})
	want := []mailstore.Mailbox{{Owner: ana, Name: "reed-a", Aliases: []string{"areed@example.com"}}, {Owner: bo}, {Owner: "empty@example.com"}}
	if diff := cmp.Diff(want, s.Owners()); diff != "" {
		t.Error(diff)
	}
	if got := s.NewestDate(ana); !got.Equal(day("2001-04-03")) {
		t.Errorf("newest date %v: the flagged one must not count", got)
	}
	if got := s.NewestDate("empty@example.com"); !got.IsZero() {
		t.Errorf("newest date of an empty mailbox: %v", got)
	}
	for owner, n := range map[string]int{ana: 7, "reed-a": 7, bo: 1, "empty@example.com": 0, "nobody": 0} {
		if got := s.Count(owner); got != n {
			t.Errorf("Count(%s) = %d, want %d", owner, got, n)
		}
	}
	if _, ok := s.Resolve("nobody@example.com"); ok {
		t.Error("an unknown address resolved")
	}
}

func TestNewestDateLeavesStraysOut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		dates []string
		want  string
	}{
		{"one mail years later", []string{"2001-01-01", "2001-03-01", "2004-02-04"}, "2001-03-01"},
		{"within a year", []string{"2001-01-01", "2001-03-01", "2001-12-04"}, "2001-12-04"},
		{"two mails: nobody knows which is wrong", []string{"2001-01-01", "2004-02-04"}, "2004-02-04"},
		{"two later mails of five", []string{"2001-01-01", "2001-03-01", "2001-03-02", "2004-02-04", "2004-02-05"}, "2004-02-05"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var emails []*mail.Email
			for i, d := range tt.dates {
				emails = append(emails, &mail.Email{MessageID: fmt.Sprintf("<%d@x>", i), Owner: ana, Date: day(d)})
			}
			if got := build(t, emails, mailstore.Options{}).NewestDate(ana); !got.Equal(day(tt.want)) {
				t.Errorf("newest %v, want %s", got, tt.want)
			}
		})
	}
}

func TestStem(t *testing.T) {
	s := build(t, sample(), mailstore.Options{Stem: true})
	h, err := s.Search(t.Context(), mailstore.Query{Owner: ana, Keywords: []string{"trade"}})
	if err != nil || len(h.Hits) != 1 || !s.Stem() {
		t.Errorf("hits %v, error %v, stem %v", h, err, s.Stem())
	}
}

func TestBuildRefusesSharedAlias(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	err := mailstore.Build(t.Context(), path, nil, mailstore.Options{Mailboxes: []mailstore.Mailbox{{Owner: ana, Aliases: []string{"x@x"}}, {Owner: bo, Aliases: []string{"X@x"}}}})
	if err == nil || !strings.Contains(err.Error(), "x@x belongs to mailbox "+ana) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("an aborted build left %v", left)
	}
}

// TestDamagedIndex is S6: a database with one wrong byte anywhere, or one that
// was cut short, is refused by name, whatever SQLite would make of it.
func TestDamagedIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	if err := mailstore.Build(t.Context(), path, sample(), mailstore.Options{}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(data []byte, what string) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := mailstore.Open(path)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "ingest again") {
			t.Errorf("%s: got %v, want an error that names %s", what, err, path)
		}
	}
	for at := 0; at < len(whole); at += 997 {
		data := bytes.Clone(whole)
		data[at] ^= 0x10
		refused(data, fmt.Sprintf("byte %d of %d", at, len(whole)))
	}
	refused(whole[:len(whole)-4096], "cut")
	if err := mailstore.Build(t.Context(), t.TempDir(), sample(), mailstore.Options{}); err == nil || !strings.Contains(err.Error(), "no file that could be replaced") {
		t.Errorf("an index in place of a folder: got %v", err)
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	var files [2][]byte
	for i := range files {
		path := filepath.Join(t.TempDir(), "inbox.db")
		emails := sample()
		if i == 1 {
			slices.Reverse(emails[:6]) // the order of arrival must not matter
		}
		if err := mailstore.Build(t.Context(), path, emails, mailstore.Options{}); err != nil {
			t.Fatal(err)
		}
		files[i], _ = os.ReadFile(path)
	}
	if len(files[0]) == 0 || !bytes.Equal(files[0], files[1]) {
		t.Errorf("two builds of the same mails differ (%d and %d bytes)", len(files[0]), len(files[1]))
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.db"): "none.db: no such file",
		text:                          "text.db: is not an inbox index",
		dir:                           "is a folder",
	} {
		if _, err := mailstore.Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

// TestNeverAnotherOwner is S1 as a property: whatever is asked, every hit and
// every mail read belongs to the owner who asked.
func TestNeverAnotherOwner(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"gas", "curve", "may", "deal", "gas curve", "4.10", `"`, "OR"}
	pick := func() string { return words[rnd.IntN(len(words))] }
	owners := []string{"a@x", "b@x", "c@x"}
	var emails []*mail.Email
	for i := range 120 {
		emails = append(emails, &mail.Email{
			MessageID: fmt.Sprintf("<%d@x>", i%50), Owner: owners[rnd.IntN(3)], From: owners[rnd.IntN(3)], To: []string{owners[rnd.IntN(3)]},
			Date: day("2001-01-01").AddDate(0, 0, rnd.IntN(60)), Subject: pick(), Body: pick() + " " + pick(), Source: strconv.Itoa(i),
		})
	}
	s := build(t, emails, mailstore.Options{})
	for range 600 {
		q := mailstore.Query{Owner: owners[rnd.IntN(3)], Keywords: []string{pick(), "deal"}, Mode: []mailstore.Mode{mailstore.Any, mailstore.All}[rnd.IntN(2)]}
		if rnd.IntN(2) == 0 {
			q.From = owners[rnd.IntN(3)]
		}
		if rnd.IntN(2) == 0 {
			q.After = day("2001-01-01").AddDate(0, 0, rnd.IntN(60))
		}
		h, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range h.Hits {
			m, err := s.Read(t.Context(), q.Owner, strconv.FormatInt(hit.Row, 10))
			if err != nil || m.Owner != q.Owner || m.MessageID != hit.MessageID {
				t.Fatalf("query %+v: hit %+v is read as %v, %v", q, hit, m, err)
			}
		}
		if m, err := s.Read(t.Context(), q.Owner, fmt.Sprintf("<%d@x>", rnd.IntN(50))); err == nil && m.Owner != q.Owner {
			t.Fatalf("%s reads a mail of %s", q.Owner, m.Owner)
		}
	}
}

// TestConcurrentSearch is S4: many readers see what one reader sees.
func TestConcurrentSearch(t *testing.T) {
	s := build(t, sample(), mailstore.Options{})
	q := mailstore.Query{Owner: ana, Keywords: []string{"gas", "curve", "May"}}
	want, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				got, err := s.Search(context.Background(), q)
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Error(err, diff)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestBuilderOutlivesContexts adds more mailboxes than one connection writes,
// each under a context that ends with the call.
func TestBuilderOutlivesContexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	b, err := mailstore.Create(t.Context(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	const boxes = 40
	for i := range boxes {
		ctx, cancel := context.WithCancel(t.Context())
		e := &mail.Email{MessageID: fmt.Sprintf("%d@x", i), Date: time.Date(2001, 2, 3, 4, 5, i, 0, time.UTC), From: fmt.Sprintf("writer%d@x", i%7), Subject: "harvest", Body: fmt.Sprintf("field number%d", i)}
		if err := b.Add(ctx, mailstore.Mailbox{Owner: fmt.Sprintf("owner%d@x", i)}, []*mail.Email{e}); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := mailstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range boxes {
		found, err := s.Search(t.Context(), mailstore.Query{Owner: fmt.Sprintf("owner%d@x", i), Keywords: []string{fmt.Sprintf("number%d", i)}, From: fmt.Sprintf("writer%d", i%7)})
		if err != nil || len(found.Hits) != 1 {
			t.Errorf("mailbox %d: %d hits, error %v; want its mail", i, len(found.Hits), err)
		}
	}
}
