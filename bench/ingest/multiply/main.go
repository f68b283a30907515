// Command multiply writes a tar.gz of N messages that has those of another again
// and again: each time in mailboxes of other names, under other Message-IDs and
// a week later, so that it is as hard to read as that much mail.
//
//	go run ./bench/ingest/multiply --mail MAIL.tar.gz --messages 500000 --out BIG.tar.gz
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/mail"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

func main() {
	in, out := flag.String("mail", "", "tar.gz of a tree MAILBOX/FOLDER/FILE, at any depth"), flag.String("out", "", "tar.gz to write")
	n := flag.Int("messages", 500_000, "messages to write")
	flag.Parse()
	if err := run(*in, *out, *n); err != nil {
		fmt.Fprintln(os.Stderr, "multiply: error:", err)
		os.Exit(1)
	}
}

func run(in, out string, n int) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	to := tar.NewWriter(zip)
	for round := 0; n > 0; round++ {
		wrote, err := copyRound(to, in, round, n)
		if err != nil {
			return err
		}
		if wrote == 0 {
			return fmt.Errorf("%s: no messages", in)
		}
		n -= wrote
	}
	return errors.Join(to.Close(), zip.Close(), f.Close())
}

// copyRound writes at most n messages of the archive.
func copyRound(to *tar.Writer, in string, round, n int) (wrote int, err error) {
	f, err := os.Open(in)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return 0, err
	}
	for archive := tar.NewReader(zip); wrote < n; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return wrote, nil
		}
		if err != nil {
			return wrote, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(archive)
		if err != nil {
			return wrote, err
		}
		raw = again(raw, round)
		if err := to.WriteHeader(&tar.Header{Name: renamed(h.Name, round), Mode: 0o600, Size: int64(len(raw)), Typeflag: tar.TypeReg}); err != nil {
			return wrote, err
		}
		if _, err := to.Write(raw); err != nil {
			return wrote, err
		}
		wrote++
	}
	return wrote, nil
}

// renamed gives the mailbox, two folders above a message's file at most, a name
// of the round.
func renamed(name string, round int) string {
	parts := strings.Split(path.Clean(name), "/")
	at := min(1, len(parts)-1)
	parts[at] = fmt.Sprintf("%s-%d", parts[at], round)
	return strings.Join(parts, "/")
}

// again changes the Message-ID, the date and the addresses of a message: what
// follows the @ of those gets a label before it, so that a mailbox is another
// person's.
func again(raw []byte, round int) []byte {
	if round == 0 {
		return raw
	}
	head, body, _ := bytes.Cut(raw, []byte("\n\n"))
	lines := bytes.Split(head, []byte("\n"))
	for i, line := range lines {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch strings.ToLower(string(name)) {
		case "message-id":
			lines[i] = bytes.Replace(line, []byte("<"), []byte("<"+strconv.Itoa(round)+"."), 1)
		case "date":
			if t, err := mail.ParseDate(strings.TrimSpace(string(value))); err == nil {
				lines[i] = []byte("Date: " + t.Add(time.Duration(round)*7*24*time.Hour).Format(time.RFC1123Z))
			}
		default:
			lines[i] = bytes.ReplaceAll(line, []byte("@"), []byte("@r"+strconv.Itoa(round)+"."))
		}
	}
	return bytes.Join([][]byte{bytes.Join(lines, []byte("\n")), body}, []byte("\n\n"))
}
