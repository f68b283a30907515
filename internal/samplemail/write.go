package samplemail

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// stamp is the time of every entry of the archive.
var stamp = time.Date(2002, time.March, 1, 0, 0, 0, 0, time.UTC)

// Write writes the sample as a gzip-compressed tar archive of a maildir tree
// and returns the number of messages.
func Write(w io.Writer, cfg Config) (int, error) {
	messages, err := Generate(cfg)
	if err != nil {
		return 0, err
	}
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	made := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if err := makeDirs(archive, path.Dir(m.Path()), made); err != nil {
			return 0, fmt.Errorf("write archive: %w", err)
		}
		if err := addFile(archive, m.Path(), m.Bytes()); err != nil {
			return 0, fmt.Errorf("write archive: %s: %w", m.Path(), err)
		}
	}
	if err := archive.Close(); err != nil {
		return 0, fmt.Errorf("write archive: %w", err)
	}
	if err := zip.Close(); err != nil {
		return 0, fmt.Errorf("write archive: %w", err)
	}
	return len(messages), nil
}

// makeDirs adds entries for dir and the folders above it, each once.
func makeDirs(archive *tar.Writer, dir string, made map[string]bool) error {
	if dir == "." || made[dir] {
		return nil
	}
	if err := makeDirs(archive, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: stamp})
}

func addFile(archive *tar.Writer, name string, data []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: stamp}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err := archive.Write(data)
	return err
}

// Path is the file's name in the archive.
func (m *Message) Path() string {
	return fmt.Sprintf("maildir/%s/%s/%d.", m.Custodian, m.Folder, m.Number)
}

// Bytes is the file's content: headers as those of the Enron corpus, and the body.
func (m *Message) Bytes() []byte {
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, value) }
	field("Message-ID", m.ID)
	t := local(m.Date)
	zone, _ := t.Zone()
	field("Date", t.Format("Mon, 2 Jan 2006 15:04:05 -0700")+" ("+zone+")")
	field("From", m.From.Address())
	field("To", m.To.Address())
	field("Subject", m.Subject)
	if len(m.Cc) > 0 {
		field("Cc", addresses(m.Cc))
	}
	field("Mime-Version", "1.0")
	field("Content-Type", "text/plain; charset=us-ascii")
	field("Content-Transfer-Encoding", "7bit")
	if len(m.Cc) > 0 {
		field("Bcc", addresses(m.Cc))
	}
	m.exchangeFields(field)
	b.WriteString("\n" + m.Body + "\n")
	return []byte(b.String())
}

// exchangeFields writes the X- fields, which Enron's export had.
func (m *Message) exchangeFields(field func(name, value string)) {
	owner := strings.SplitN(m.Custodian, "-", 2)
	field("X-From", m.From.Name())
	field("X-To", m.To.Name())
	var names []string
	for _, p := range m.Cc {
		names = append(names, p.Name())
	}
	field("X-cc", strings.Join(names, ", "))
	field("X-bcc", "")
	title := strings.ToUpper(owner[0][:1]) + owner[0][1:]
	field("X-Folder", fmt.Sprintf(`\%s_Mar2002\Notes Folders\%s`, title, strings.ReplaceAll(m.Folder, "_", " ")))
	field("X-Origin", title+"-"+strings.ToUpper(owner[1]))
	field("X-FileName", owner[1]+owner[0]+".nsf")
}

// addresses joins addresses as headers do, folded after the third.
func addresses(people []Person) string {
	var b strings.Builder
	for i, p := range people {
		switch {
		case i > 0 && i%3 == 0:
			b.WriteString(", \n\t")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(p.Address())
	}
	return b.String()
}
