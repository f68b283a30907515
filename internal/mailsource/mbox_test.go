package mailsource

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const envelope = "From a@x Mon Mar  5 09:00:00 2001\n"

// bodies are those of the messages in data.
func bodies(t *testing.T, data string, kind Kind) (list []string) {
	t.Helper()
	for _, m := range messages(t, data, kind) {
		list = append(list, m.Body)
	}
	return list
}

func TestMboxDialects(t *testing.T) {
	sized := func(n int, body string) string {
		return envelope + fmt.Sprintf("From: a@x\nContent-Length: %d\n\n%s\n", n, body)
	}
	exact := func(body string) string { return sized(len(body), body) }
	const hostile = "one\n\n" + envelope + "Subject: looks like a message\n\nbut is text\n"
	for _, tt := range []struct {
		name string
		kind Kind
		data string
		want []string
	}{
		{"mboxrd", "", envelope + "From: a@x\n\n>From one\n>>From two\n> From three\n\n" + envelope + "From: b@x\n\nend\n", []string{"From one\n>From two\n> From three\n", "end\n"}},
		{"mboxo", MboxO, envelope + "From: a@x\n\n>From one\n>>From two\n", []string{"From one\n>>From two\n"}},
		{"mboxcl2", "", exact(hostile) + exact("two\n"), []string{hostile, "two\n"}},
		{"mboxcl2, quoted by the sender", "", exact("From me:\n>From you\n") + exact("two\n"), []string{"From me:\n>From you\n", "two\n"}},
		{"mboxcl2 by name", MboxCL2, exact(">From you\n") + exact("two\n"), []string{">From you\n", "two\n"}},
		{"mboxcl", "", exact(">From you\n") + exact("two\n"), []string{"From you\n", "two\n"}},
		{"mboxcl, no last line end", "", sized(3, "one") + sized(3, "two"), []string{"one\n", "two\n"}},
		{"mboxcl, last blank lines", "", exact("one\n\n\n") + exact("two\n"), []string{"one\n\n\n", "two\n"}},
		{"a length too short", "", sized(2, "one\nmore\n") + sized(4, "two\n"), []string{"one\nmore\n", "two\n"}},
		{"a length too long", "", sized(9000, "one\n") + sized(9000, "two\n") + sized(4, "end\n"), []string{"one\n", "two\n", "end\n"}},
		{"a length to the middle of the next", "", sized(60, "one\n") + sized(4, "two\n") + sized(4, "end\n"), []string{"one\n", "two\n", "end\n"}},
		{"lengths that lie", "", strings.Repeat(sized(30, "one\n"), 6), slices.Repeat([]string{"one\n"}, 6)},
		{"lengths do not count in mboxrd", MboxRD, sized(70, "one\n") + envelope + "From: b@x\n\ntwo\n", []string{"one\n", "two\n"}},
		{"bare separators", "", "From \nFrom: a@x\n\none\n\nFrom -\nFrom: a@x\n\ntwo\n\nFrom b@example.com\nFrom: a@x\n\nend\n", []string{"one\n", "two\n", "end\n"}},
		{"no blank line before", "", envelope + "From: a@x\n\none\n" + envelope + "From: a@x\n\ntwo\n", []string{"one\n" + envelope + "From: a@x\n\ntwo\n"}},
		{"words from the office", "", envelope + "From: a@x\n\none\n\nFrom the office at 5:00 on 5 Mar 2001\nwe left.\n", []string{"one\n\nFrom the office at 5:00 on 5 Mar 2001\nwe left.\n"}},
		{"lines of 1 MB", "", envelope + "From: a@x\n\n" + strings.Repeat("x", 1<<20) + "\n\n" + envelope + "From: a@x\n\ntwo\n", []string{strings.Repeat("x", 1<<20) + "\n", "two\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, bodies(t, tt.data, tt.kind)); diff != "" {
				t.Error(diff)
			}
			crlf := strings.ReplaceAll(tt.data, "\n", "\r\n")
			if !strings.Contains(tt.data, "Content-Length") {
				if diff := cmp.Diff(tt.want, bodies(t, crlf, tt.kind)); diff != "" {
					t.Errorf("CRLF: %s", diff)
				}
			}
		})
	}
}

// TestEnvelopeDate: the separator's date counts where the message has none.
func TestEnvelopeDate(t *testing.T) {
	for line, want := range map[string]string{
		"From a@x Mon Mar  5 09:00:00 2001":           "2001-03-05T09:00:00Z",
		"From a@x Mon Mar  5 09:00:00 PST 2001":       "2001-03-05T17:00:00Z",
		"From 159@xxx Mon Jul 06 10:00:00 +0200 2020": "2020-07-06T08:00:00Z",
		"From a@x Mon, 5 Mar 2001 09:00:00 -0800":     "2001-03-05T17:00:00Z",
	} {
		m := messages(t, line+"\nFrom: a@x\n\none\n", "")
		if got := m[0].Date.Format(time.RFC3339); got != want || m[0].DateSource != "envelope" {
			t.Errorf("%s: %s (%s), want %s", line, got, m[0].DateSource, want)
		}
	}
}

// split returns the raw messages in an mbox.
func split(tb testing.TB, opt Options) (list []string) {
	tb.Helper()
	src := New(opt)
	for e := range src.Entries() {
		raw, _, err := e.load()
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, string(raw))
	}
	if err := src.Err(); err != nil {
		tb.Fatal(err)
	}
	return list
}

// FuzzMbox splits anything: nothing is invented, nothing but separators, blank
// lines before them and quoting is lost, and the pieces in which the bytes
// arrive do not matter. What an mboxrd writer wrote is read back.
func FuzzMbox(f *testing.F) {
	f.Add([]byte(envelope+"From: a@x\n\none\n\n"+envelope+"To: b\n\n>From two\n"), uint8(0))
	f.Add([]byte(envelope+"Content-Length: 70\n\none\n\n"+envelope+"To: b\n\n>From two\n\nFrom \nA: b\n\n"), uint8(1))
	f.Add([]byte(envelope+"Content-Length: 4\r\n\r\none\r\n\r\n"+envelope+"To: b\r\n\r\nFrom -\r\nX: y\r\n"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, k uint8) {
		kind := []Kind{Mbox, MboxRD, MboxO, MboxCL, MboxCL2}[k%5]
		if len(data) == 0 || isOuter(kindOf(data[:min(len(data), headSize)])) {
			return
		}
		opt := Options{Stdin: bytes.NewReader(data), Kind: kind, MaxMessage: 1 << 20}
		got := split(t, opt)
		opt.Stdin = iotest.OneByteReader(bytes.NewReader(data))
		if diff := cmp.Diff(got, split(t, opt)); diff != "" {
			t.Fatalf("byte by byte it is read differently: %s", diff)
		}
		size, lines := 0, bytes.Count(data, []byte("From "))
		for _, m := range got {
			size += len(m)
		}
		if size > len(data) || len(got) > lines+1 {
			t.Fatalf("%d messages of %d bytes from %d bytes", len(got), size, len(data))
		}
		var mbox strings.Builder
		for _, m := range got {
			mbox.WriteString(envelope + "X-First: 1\n")
			for line := range strings.Lines(m) {
				if strings.HasPrefix(strings.TrimLeft(line, ">"), "From ") {
					mbox.WriteByte('>')
				}
				mbox.WriteString(line)
			}
			if !strings.HasSuffix(m, "\n") {
				mbox.WriteByte('\n')
			}
			mbox.WriteByte('\n')
		}
		if mbox.Len() == 0 {
			return
		}
		again := split(t, Options{Stdin: strings.NewReader(mbox.String()), Kind: MboxRD, MaxMessage: 1 << 20})
		for i := range again {
			again[i] = strings.TrimPrefix(again[i], "X-First: 1\n")
			if i < len(got) && !strings.HasSuffix(got[i], "\n") {
				again[i] = strings.TrimSuffix(again[i], "\n")
			}
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("written as mboxrd and read again: %s", diff)
		}
	})
}

// FuzzCSV reads any table: it ends, and does not depend on how bytes arrive.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("file,message\na/1,\"From: a@x\n\n\"\"yes\"\"\"\n"))
	f.Add([]byte("0,file,message\r\n1,\"a\"b,c\"d\"\r\n\r\n\"\"\"\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || isOuter(kindOf(data[:min(len(data), headSize)])) {
			return
		}
		read := func(opt Options) (list []string) {
			opt.Kind, opt.MaxMessage = CSV, 100
			src := New(opt)
			for e := range src.Entries() {
				if len(e.raw) > 100 {
					t.Fatalf("a message of %d bytes", len(e.raw))
				}
				list = append(list, e.Where+" "+e.Source+" "+string(e.raw))
			}
			return append(list, fmt.Sprint(src.Err()))
		}
		got := read(Options{Stdin: bytes.NewReader(data)})
		if diff := cmp.Diff(got, read(Options{Stdin: iotest.OneByteReader(bytes.NewReader(data))})); diff != "" {
			t.Fatal(diff)
		}
	})
}
