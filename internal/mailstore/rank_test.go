package mailstore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
)

// scribble makes a text of common and rare words, with sentences, marks and now
// and then something beyond ASCII.
func scribble(rnd *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		n := rnd.IntN(40)
		if rnd.IntN(3) > 0 {
			n = rnd.IntN(4)
		}
		b.WriteString(fmt.Sprintf("W%d", n))
		b.WriteString([]string{" ", " ", " ", ". ", ": ", ".", "\n\n", "-", ", ", "/"}[rnd.IntN(10)])
	}
	if rnd.IntN(10) == 0 {
		b.WriteString(" naïve 会议")
	}
	return b.String()
}

// TestRankIsFTS5s: what is read from the index's pages by ourselves is what FTS5
// finds in it: the same rows in the same order, the same total, the same
// snippets; whether the words are common or rare, or phrases; whether the index
// is one segment or several.
func TestRankIsFTS5s(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var emails []*mail.Email
	for i := range 2500 {
		emails = append(emails, &mail.Email{
			MessageID: fmt.Sprintf("<%d@x>", i), Owner: "a@x", From: []string{"b@x", "c@x"}[rnd.IntN(2)], Source: strconv.Itoa(i),
			Date: time.Unix(1e9+int64(i)*3600, 0), Subject: scribble(rnd, rnd.IntN(4)), Body: scribble(rnd, rnd.IntN(60)) + " mail" + strconv.Itoa(i),
		})
	}
	rnd.Shuffle(len(emails), func(i, j int) { emails[i], emails[j] = emails[j], emails[i] })
	path := filepath.Join(t.TempDir(), "inbox.db")
	if err := Build(t.Context(), path, emails[:2000], Options{}); err != nil {
		t.Fatal(err)
	}
	for part := range 3 {
		compareWithFTS5(t, path, func() []string { return []string{keywords(rnd), keywords(rnd), keywords(rnd)}[:1+rnd.IntN(3)] }, rnd, 150)
		if part == 2 {
			return
		}
		b, err := Extend(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(t.Context(), Mailbox{Owner: "a@x"}, emails[2000+250*part:][:250]); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func keywords(rnd *rand.Rand) string {
	switch w := func() string { return fmt.Sprintf("w%d", rnd.IntN(45)) }; rnd.IntN(6) {
	case 0:
		return w() + "-" + w()
	case 1:
		return "w1 W1"
	case 2:
		return fmt.Sprintf("mail%d", rnd.IntN(2500))
	default:
		return w()
	}
}

// compareWithFTS5 asks n queries both ways.
func compareWithFTS5(t *testing.T, path string, words func() []string, rnd *rand.Rand, n int) {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hits := 0
	for range n {
		b := &s.boxes[rnd.IntN(len(s.boxes))]
		q := search{keywords: wanted(words()), desk: &desk{}, Query: Query{Mode: []Mode{Any, All}[rnd.IntN(2)], Marks: [2]string{"[", "]"}}}
		list, plain := s.phrases(q.keywords)
		if !plain || len(list) == 0 {
			continue
		}
		q.expr = match(q.keywords, q.Mode)
		var after, before time.Time
		if newest := b.newest; rnd.IntN(2) == 0 {
			after, before = newest.AddDate(0, -rnd.IntN(12), 0), newest.AddDate(0, rnd.IntN(3)-2, 0)
		}
		if q.span, err = s.span(t.Context(), b, after, before); err != nil {
			t.Fatal(err)
		}
		most := 1 + rnd.IntN(12)
		rows, total, places, err := s.answer(t.Context(), b, q, list, most)
		if err != nil {
			t.Fatal(err)
		}
		wantRows, wantTotal, err := s.ask(t.Context(), b, q, most)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(wantRows, rows); d != "" || min(total, TotalCap+1) != min(wantTotal, TotalCap+1) {
			t.Fatalf("%s %q: total %d, want %d; rows (-FTS5 +ours):\n%s", q.Mode, q.keywords, total, wantTotal, d)
		}
		for _, row := range rows {
			hits++
			compareSnippets(t, s, b, q, row, list, places)
		}
		q.desk.clear()
	}
	if hits < n {
		t.Errorf("%d hits of %d queries: the test has lost its purpose", hits, n)
	}
}

func compareSnippets(t *testing.T, s *Store, b *box, q search, row int64, list []phrase, places []*postings) {
	t.Helper()
	m, err := s.mail(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	if !isASCII(m.Body) {
		return
	}
	want, err := s.snippet(t.Context(), b, q, row)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, snippet(m.Body, instances(row, list, places), q.Marks)); d != "" {
		t.Fatalf("row %d, %q in %q (-FTS5 +ours):\n%s", row, q.keywords, m.Body, d)
	}
}

// TestRankOnRealIndex does the same on an index of real mail, where one is at
// hand: words of its own mails.
func TestRankOnRealIndex(t *testing.T) {
	path := os.Getenv("AGENTMILL_INDEX")
	if path == "" {
		t.Skip("AGENTMILL_INDEX is not set: not compared on real mail")
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, b := range s.boxes {
		for range 20 {
			m, err := s.mail(t.Context(), b.first+rnd.Int64N(max(1, b.mails)))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, m.Body)
		}
	}
	_ = s.Close()
	words := func() (list []string) {
		f := strings.Fields(texts[rnd.IntN(len(texts))])
		for range min(len(f), 1+rnd.IntN(7)) {
			list = append(list, f[rnd.IntN(len(f))])
		}
		return list
	}
	compareWithFTS5(t, path, words, rnd, 400)
}

// TestVarints reads what FTS5 can write.
func TestVarints(t *testing.T) {
	for _, x := range []uint64{0, 1, 127, 128, 16383, 16384, 1 << 40, 1<<56 - 1} {
		v := varints{b: appendVarint(nil, x)}
		if got := v.next(); got != int64(x) || v.bad || len(v.b) > 0 {
			t.Errorf("%d is read as %d, %v, %d bytes left", x, got, v.bad, len(v.b))
		}
	}
	if v := (varints{b: []byte{0x81}}); v.next() != 0 || !v.bad {
		t.Error("a number that is cut short is not noticed")
	}
	if v := (varints{b: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}); v.next() != -1 || v.bad {
		t.Error("nine bytes are not read as 64 bits")
	}
}

// FuzzPages: no page makes the reader panic.
func FuzzPages(f *testing.F) {
	f.Add([]byte{0, 8, 0, 10, 2, '0', 'a', 5, 4, 2, 4, 0}, "a")
	f.Add([]byte{0, 0, 0, 4}, "")
	f.Fuzz(func(_ *testing.T, block []byte, token string) {
		r, to := reader{key: append([]byte{'0'}, token...)}, &postings{}
		for range 2 {
			if r.page(block) != nil {
				break
			}
		}
		if r.decode(to) != nil {
			return
		}
		for i := range to.rows {
			frequency(to.places(i))
			unpack(nil, to.places(i))
		}
	})
}

// TestTokens holds the tokens, found by blocks of bytes, against a look at each
// byte.
func TestTokens(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		text := make([]byte, rnd.IntN(200))
		for i := range text {
			if text[i] = byte(1 + rnd.IntN(127)); rnd.IntN(3) > 0 {
				text[i] = "az09AZ@[`{/: "[rnd.IntN(13)]
			}
		}
		var want []token
		for i, c := range text {
			if alnum[c] && (i == 0 || !alnum[text[i-1]]) {
				want = append(want, token(i))
			}
		}
		if d := cmp.Diff(want, tokens(string(text))); d != "" {
			t.Fatalf("%q (-each byte +ours):\n%s", text, d)
		}
		if !isASCII(string(text)) {
			t.Fatalf("%q is not taken for ASCII", text)
		}
		if len(text) > 0 {
			text[rnd.IntN(len(text))] = []byte{0, 0x80, 0xff}[rnd.IntN(3)]
			if isASCII(string(text)) {
				t.Fatalf("%q is taken for ASCII", text)
			}
		}
	}
}
