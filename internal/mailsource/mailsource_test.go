package mailsource

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"agentmill/internal/mail"
)

// letter is a small message; id goes into Message-ID and body.
func letter(id string) string {
	return "Message-ID: <" + id + "@x>\nDate: Mon, 5 Mar 2001 09:00:00 +0000\nFrom: a@x\nTo: bo@x\nSubject: s\n\nbody " + id + "\n"
}

// A found is what a test looks at of an entry.
type found struct{ Mailbox, Folder, Source, ID string }

// read reads everything; a message that is none has its error as ID.
func read(t *testing.T, opt Options) (list []found, err error) {
	t.Helper()
	src := New(opt)
	for e := range src.Entries() {
		m, err := e.Message(time.Time{})
		if err != nil {
			list = append(list, found{e.Mailbox, "", e.Source, err.Error()})
			continue
		}
		list = append(list, found{e.Mailbox, m.Folder, m.Source, m.MessageID})
	}
	return list, src.Err()
}

func readStdin(t *testing.T, data []byte, kind Kind) ([]found, error) {
	t.Helper()
	return read(t, Options{Stdin: bytes.NewReader(data), Kind: kind})
}

// messages reads data as a stream of messages.
func messages(t *testing.T, data string, kind Kind) (list []*mail.Message) {
	t.Helper()
	src := New(Options{Stdin: strings.NewReader(data), Kind: kind})
	for e := range src.Entries() {
		m, err := e.Message(time.Time{})
		if err != nil {
			t.Fatalf("%s: %v", e.Where, err)
		}
		list = append(list, m)
	}
	if err := src.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// A member is a file of an archive.
type member struct{ name, text string }

func tarOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range members {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: m.name, Mode: 0o644, Size: int64(len(m.text))})
		if _, e := io.WriteString(w, m.text); err != nil || e != nil {
			t.Fatal(err, e)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zipOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, m := range members {
		f, err := w.Create(m.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zstdOf(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(data, nil)
}

// bzipped2 is letter("1") compressed by bzip2, which Go does not write.
var bzipped2 = []byte("\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x0f\x52\x2c\x07\x00\x00\x1c\x5f\x80\x40\x10\x40\x0e\x72\x35\x45\x22\x0c\x00\x3e\x93\x9e\x60\x20\x00\x54\x45\x3d\x23\xd4\x1a\x68\xc8\x1a\x34\x64\x1b\x28\x45\x3d\x35\x36\x93\x43\x4d\x0f\x50\x01\xa3\x10\x7e\xdc\x4d\x98\x19\x97\xd2\xb2\xf7\x88\x05\xb1\x83\x68\xa4\x5f\x81\x11\x88\x8a\x28\x15\x9b\x23\x29\xaf\x56\x22\xe0\x9c\xec\x10\xb1\x42\x20\x30\x8b\x52\xa2\x75\xe6\xe4\xbb\x19\xd6\x13\x50\x44\x8b\xe6\x35\x86\x46\x74\x27\xe2\xee\x48\xa7\x0a\x12\x01\xea\x45\x80\xe0")

var cmu = []member{
	{"maildir/reed-a/inbox/1.", letter("1")},
	{"maildir/reed-a/trips/rome/2.", letter("2")},
	{"maildir/kim-b/_sent_mail/1.", letter("3")},
	{"maildir/kim-b/.DS_Store", "\x00\x01"},
}

var cmuFound = []found{
	{"reed-a", "inbox", "maildir/reed-a/inbox/1.", "<1@x>"},
	{"reed-a", "trips/rome", "maildir/reed-a/trips/rome/2.", "<2@x>"},
	{"kim-b", "_sent_mail", "maildir/kim-b/_sent_mail/1.", "<3@x>"},
}

// TestArchives reads the same mail from every container, from standard input
// and, where it is more than a stream, from the disk.
func TestArchives(t *testing.T) {
	plain := tarOf(t, cmu...)
	old := bytes.Clone(plain) // of before there was a magic word
	for pos := 0; pos+512 <= len(old) && old[pos] != 0; {
		h := old[pos : pos+512]
		copy(h[257:], make([]byte, 8))
		var size int
		fmt.Sscanf(string(h[124:135]), "%o", &size)
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sumOf(h)))
		pos += 512 + (size+511)/512*512
	}
	for name, data := range map[string][]byte{
		"tar": plain, "tar of 1979": old, "tar.gz": gzipOf(t, plain), "tar.zst": zstdOf(t, plain), "zip": zipOf(t, cmu...),
		"zip in a tar": tarOf(t, member{"enron.zip", string(zipOf(t, cmu...))}), "gz twice": gzipOf(t, gzipOf(t, plain)),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readStdin(t, data, "")
			if diff := cmp.Diff(cmuFound, got); diff != "" || err != nil {
				t.Errorf("standard input: %v %s", err, diff)
			}
			path := filepath.Join(t.TempDir(), "mail.bin")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err = read(t, Options{Paths: []string{path}})
			if diff := cmp.Diff(cmuFound, got); diff != "" || err != nil {
				t.Errorf("file: %v %s", err, diff)
			}
		})
	}
	if got, err := readStdin(t, bzipped2, ""); err != nil || len(got) != 1 || got[0].ID != "<1@x>" {
		t.Errorf("bzip2: %v %v", got, err)
	}
}

// sumOf is the checksum of a tar header.
func sumOf(h []byte) (sum int) {
	for i, c := range h[:512] {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int(c)
	}
	return sum
}

// TestTakeout: one person's mail, in two archives, folders from labels.
func TestTakeout(t *testing.T) {
	labelled := func(id, labels string) string {
		return "From 159@xxx Mon Jul 06 10:00:00 +0000 2020\nX-GM-THRID: 159\nX-Gmail-Labels: " + labels + "\n" + letter(id) + "\n"
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"takeout-1.zip": zipOf(t, member{"Takeout/archive_browser.html", "<html>"},
			member{"Takeout/Mail/All mail Including Spam and Trash.mbox", labelled("1", "Inbox,=?UTF-8?Q?=C3=85pnet?=") + labelled("2", "Sent,Important")},
			member{"Takeout/Mail/User Settings/Filters.json", "{}"}),
		"takeout-2.tgz": gzipOf(t, tarOf(t, member{"Takeout/Mail/Work.mbox", labelled("3", `"a, b",Opened`)})),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := read(t, Options{Paths: []string{filepath.Join(dir, "takeout-1.zip"), filepath.Join(dir, "takeout-2.tgz")}})
	want := []found{
		{"takeout-1", "inbox", "Takeout/Mail/All mail Including Spam and Trash.mbox:1", "<1@x>"},
		{"takeout-1", "sent", "Takeout/Mail/All mail Including Spam and Trash.mbox:2", "<2@x>"},
		{"takeout-2", "Work", "Takeout/Mail/Work.mbox:1", "<3@x>"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// TestTree reads what may lie in folders beside Enron's numbers.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	files := []member{
		{"ana/Maildir/cur/1.host:2,SR", letter("1")},
		{"ana/Maildir/new/2.host", letter("2")},
		{"ana/Maildir/tmp/3.host", letter("undelivered")},
		{"ana/Maildir/.Sent/cur/4!2,F", letter("4")},
		{"ana/Maildir/dovecot.index.log", "\x00"},
		{"ana/Maildir/.hidden/5", letter("hidden")},
		{"store/bo/Inbox", "From - Mon Mar  5 09:00:00 2001\n" + letter("6")},
		{"store/bo/Inbox.msf", "index"},
		{"store/bo/old.eml", letter("7")},
		{"store/cy/more.tar.gz", string(gzipOf(t, tarOf(t, member{"lund-e/inbox/1.", letter("8")})))},
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(f.text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "store"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := read(t, Options{Paths: []string{filepath.Join(dir, "ana/Maildir"), filepath.Join(dir, "link")}})
	want := []found{
		{"ana", "Sent", "Maildir/.Sent/cur/4!2,F", "<4@x>"},
		{"ana", "inbox", "Maildir/cur/1.host:2,SR", "<1@x>"},
		{"ana", "inbox", "Maildir/new/2.host", "<2@x>"},
		{"store", "bo/Inbox", "store/bo/Inbox:1", "<6@x>"},
		{"store", "bo", "store/bo/old.eml", "<7@x>"},
		{"lund-e", "inbox", "lund-e/inbox/1.", "<8@x>"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	src := New(Options{Paths: []string{filepath.Join(dir, "ana/Maildir/cur")}})
	for e := range src.Entries() {
		if m, err := e.Message(time.Time{}); err != nil || !slices.Equal(m.Labels, []string{"Seen", "Replied"}) {
			t.Errorf("labels %v, %v", m.Labels, err)
		}
	}
}

// TestForcedKind: what the user says holds for the files in archives too.
func TestForcedKind(t *testing.T) {
	note := "From here on, a note: with a colon\n" + letter("1")
	for _, tt := range []struct {
		kind Kind
		data []byte
		want int
	}{
		{EML, []byte("From a@x Mon Mar  5 09:00:00 2001\n" + letter("1") + "\nFrom b@x Mon Mar  5 09:00:00 2001\n" + letter("2")), 1},
		{"", []byte("From a@x Mon Mar  5 09:00:00 2001\n" + letter("1") + "\nFrom b@x Mon Mar  5 09:00:00 2001\n" + letter("2")), 2},
		{Maildir, tarOf(t, member{"a/1", note}), 1},
		{Mbox, gzipOf(t, []byte(letter("1")+"\nFrom b@x Mon Mar  5 09:00:00 2001\n"+letter("2"))), 2},
	} {
		if got, err := readStdin(t, tt.data, tt.kind); err != nil || len(got) != tt.want {
			t.Errorf("%s: %v, %v, want %d messages", tt.kind, got, err, tt.want)
		}
	}
	for name, ok := range map[string]bool{"auto": true, "": true, "mboxcl2": true, "gzip": false, "floppy": false} {
		if _, err := ParseKind(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestCSV reads Kaggle's file, with an index before its columns and without,
// whole messages in quotes.
func TestCSV(t *testing.T) {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	text := strings.Replace(letter("1"), "body", "He said \"yes\", and\r\n,\"no\"", 1)
	for name, data := range map[string]string{
		"Kaggle":        `"file","message"` + "\n" + `"kim-b/sent/1.",` + quote(text) + "\n",
		"with an index": "\ufeff,file,message\r\n0,kim-b/sent/1.," + quote(text) + "\r\n\r\n",
		"no last line":  "file,message\nkim-b/sent/1.," + quote(text),
		"other order":   "message,file\n" + quote(text) + ",kim-b/sent/1.",
	} {
		src := New(Options{Stdin: strings.NewReader(data)})
		n := 0
		for e := range src.Entries() {
			n++
			m, err := e.Message(time.Time{})
			if err != nil || m.Body != "He said \"yes\", and\n,\"no\" 1\n" || e.Mailbox != "kim-b" || m.Folder != "sent" || m.Source != "kim-b/sent/1." {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
		}
		if n != 1 || src.Err() != nil {
			t.Errorf("%s: %d messages, %v", name, n, src.Err())
		}
	}
	got, err := readStdin(t, []byte("file,message\nonly one\nkim-b/sent/1.,"+quote(letter("2"))+"\n"), "")
	want := []found{{"stdin", "", "", errFields.Error()}, {"kim-b", "sent", "kim-b/sent/1.", "<2@x>"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// TestDamage is M3: a broken container is an error that names it.
func TestDamage(t *testing.T) {
	whole := tarOf(t, cmu...)
	packed := zipOf(t, cmu...)
	flipped := bytes.Clone(packed)
	flipped[60] ^= 0xff // in the first file
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"cut tar":        {whole[:1500], "damaged archive"},
		"cut gz":         {gzipOf(t, whole)[:150], "cut off"},
		"cut zip":        {packed[:len(packed)-30], "damaged archive"},
		"flipped bits":   {flipped, "maildir/reed-a/inbox/1.: "},
		"nothing":        {nil, "is empty"},
		"no mail at all": {[]byte("\x7fELF\x00\x00\x00"), "is neither an archive"},
	} {
		if _, err := readStdin(t, tt.data, ""); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tt.want)
		}
	}
	got, err := readStdin(t, tarOf(t, member{"a/x.jpg", "\xff\xd8\x00"}, member{"a/empty", ""}, member{"a/1", letter("1")}), "")
	if err != nil || len(got) != 3 || got[2].ID != "<1@x>" {
		t.Errorf("files that are no mail: %v %v", got, err)
	}
}

// TestBombs is M2: what a small file becomes is bounded.
func TestBombs(t *testing.T) {
	const free = 1 << 20
	zeros := "From a@x Mon Mar  5 09:00:00 2001\nFrom: a@x\n\n" + strings.Repeat("\x00", 4*free)
	for name, data := range map[string][]byte{
		"gzip": gzipOf(t, []byte(zeros)), "zstd": zstdOf(t, []byte(zeros)), "zip": zipOf(t, member{"a.mbox", zeros}),
		"gzip in zip": zipOf(t, member{"a.gz", string(gzipOf(t, []byte(zeros)))}), "tar.gz": gzipOf(t, tarOf(t, member{"a/1", zeros})),
	} {
		src := New(Options{Stdin: bytes.NewReader(data)})
		src.free = free
		for range src.Entries() {
		}
		if !errors.Is(src.Err(), errBomb) {
			t.Errorf("%s of %d bytes: %v", name, len(data), src.Err())
		}
	}
	nested := []byte(letter("1"))
	for range maxLayers + 2 {
		nested = gzipOf(t, nested)
	}
	if _, err := readStdin(t, nested, ""); err == nil || !strings.Contains(err.Error(), "archives") {
		t.Errorf("gzip in gzip in gzip: %v", err)
	}
}

// TestLongMessages cuts messages at the limit, whatever holds them, and goes on
// behind them.
func TestLongMessages(t *testing.T) {
	long := strings.Replace(letter("1"), "body 1", strings.Repeat("long ", 1000), 1)
	const separator = "From a@x Mon Mar  5 09:00:00 2001\n"
	for name, data := range map[string][]byte{
		"tar":      tarOf(t, member{"a/1", long}, member{"a/2", letter("2")}),
		"zip":      zipOf(t, member{"a/1", long}, member{"a/2", letter("2")}),
		"mbox":     []byte(separator + long + "\n" + separator + letter("2")),
		"one line": []byte(separator + strings.ReplaceAll(long, "long ", "long-") + "\n" + separator + letter("2")),
		"csv":      []byte("file,message\na/1,\"" + long + "\"\na/2,\"" + letter("2") + "\"\n"),
		"jsonl":    []byte(`{"file":"a/1","message":"` + strings.ReplaceAll(long, "\n", `\n`) + "\"}\n{\"file\":\"a/2\",\"message\":\"" + strings.ReplaceAll(letter("2"), "\n", `\n`) + "\"}\n"),
	} {
		src := New(Options{Stdin: bytes.NewReader(data), MaxMessage: 1000})
		var bodies []int
		for e := range src.Entries() {
			m, err := e.Message(time.Time{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			bodies = append(bodies, len(m.Body))
			if cut := slices.Contains(m.Warnings, mail.WarnTruncated); cut != (m.MessageID == "<1@x>") {
				t.Errorf("%s: warnings of %s: %v", name, m.MessageID, m.Warnings)
			}
		}
		if want := []int{1000 - strings.Index(long, "\n\n") - 2, 7}; !slices.Equal(bodies, want) || src.Err() != nil {
			t.Errorf("%s: bodies of %v bytes, want %v; %v", name, bodies, want, src.Err())
		}
	}
}

// TestHostileNames is M1: a name in an archive is no place on the disk, and
// cannot write to a terminal.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	names := []string{"../../etc/1.", "/etc/cron.d/2.", "maildir/reed-a/\x1b[31m/3.", `..\..\4.`, "a/\xff/5."}
	for _, archive := range []func(*testing.T, ...member) []byte{tarOf, zipOf} {
		var members []member
		for i, name := range names {
			members = append(members, member{name, letter(strconv.Itoa(i))}, member{name + "bad", "no mail"})
		}
		src := New(Options{Stdin: bytes.NewReader(archive(t, members...))})
		n := 0
		for e := range src.Entries() {
			if _, err := e.Message(time.Time{}); err == nil {
				n++
			}
			if strings.Contains(e.Where, "\x1b") || !utf8.ValidString(e.Where+e.Source+e.Mailbox) || strings.Contains(e.Mailbox, "..") {
				t.Errorf("mailbox %q, place %q", e.Mailbox, e.Where)
			}
		}
		if n != len(names) || src.Err() != nil {
			t.Errorf("%d messages, %v", n, src.Err())
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("on the disk: %v %v", left, err)
	}
}

// TestMailboxNames: files of one name are not one mailbox.
func TestMailboxNames(t *testing.T) {
	got := mailboxNames([]string{"/m/ana/inbox.mbox", "/m/bo/inbox.mbox", "/m/cy/Maildir", "/m/dee/Maildir", "/m/sent.mbox", "/m/sent.mbox"})
	want := map[string]string{
		"/m/ana/inbox.mbox": "ana.inbox", "/m/bo/inbox.mbox": "bo.inbox", "/m/cy/Maildir": "cy", "/m/dee/Maildir": "dee", "/m/sent.mbox": "sent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWantedAndStop(t *testing.T) {
	opt := Options{Stdin: bytes.NewReader(tarOf(t, cmu...)), Wanted: func(name string) bool { return name == "kim-b" }}
	if got, err := read(t, opt); err != nil || !slices.Equal(got, cmuFound[2:]) {
		t.Errorf("%v %v", got, err)
	}
	src := New(Options{Stdin: bytes.NewReader(tarOf(t, cmu...))})
	for range src.Entries() {
		break
	}
	if err := src.Err(); err != nil {
		t.Errorf("stopped by the reader: %v", err)
	}
	broken := iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(tarOf(t, cmu...))))
	if _, err := read(t, Options{Stdin: broken}); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("error %v", err)
	}
}
