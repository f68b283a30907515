package mailsource

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Kind is what a file holds.
type Kind string

// The kinds that a user may name. The four of mbox differ in how a body's lines
// that begin with "From " are kept apart from separators.
const (
	Tar     Kind = "tar"
	Zip     Kind = "zip"
	CSV     Kind = "csv"     // Kaggle's emails.csv: file and message
	Parquet Kind = "parquet" // ours, or Hugging Face's corbt/enron-emails
	JSONL   Kind = "jsonl"   // the same as JSON lines
	Mbox    Kind = "mbox"    // whichever of the following
	MboxRD  Kind = "mboxrd"  // one '>' before every ">*From "
	MboxO   Kind = "mboxo"   // one '>' before "From " alone
	MboxCL  Kind = "mboxcl"  // as mboxo, with Content-Length
	MboxCL2 Kind = "mboxcl2" // nothing changed, Content-Length alone tells the end
	Maildir Kind = "maildir" // every file is a message
	EML     Kind = "eml"     // one message

	gzipped Kind = "gzip"
	zstded  Kind = "zstd"
	bzipped Kind = "bzip2"
	binary  Kind = "binary" // none of these
	empty   Kind = "empty"
)

// Kinds are those that a user may name.
var Kinds = []Kind{Tar, Zip, Maildir, EML, Mbox, MboxRD, MboxO, MboxCL, MboxCL2, CSV, Parquet, JSONL}

// ParseKind reads the name of a kind; "" and "auto" are told from the content.
func ParseKind(name string) (Kind, error) {
	if name == "" || name == "auto" {
		return "", nil
	}
	if k := Kind(name); slices.Contains(Kinds, k) {
		return k, nil
	}
	list := make([]string, len(Kinds))
	for i, k := range Kinds {
		list[i] = string(k)
	}
	return "", fmt.Errorf("%q: want auto, %s", name, strings.Join(list, ", "))
}

// headSize is how much of a file is looked at to tell what it is.
const headSize = 512

// kindOf tells what a file is from its first bytes. What is nothing else is a
// mail message, unless it has a NUL, which no header has.
func kindOf(head []byte) Kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), "\r\n")
	switch {
	case len(head) == 0:
		return empty
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzipped
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstded
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) > 10 && string(head[4:10]) == "1AY&SY":
		return bzipped
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return Zip
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet
	case isTar(head):
		return Tar
	case bytes.HasPrefix(text, []byte("From ")):
		return Mbox
	case bytes.HasPrefix(text, []byte("{")):
		return JSONL
	case isTable(text):
		return CSV
	case bytes.IndexByte(head, 0) >= 0:
		return binary
	}
	return EML
}

// isTar checks the sum that every header of a tar archive has, also of those
// from before there was a magic word.
func isTar(head []byte) bool {
	if len(head) < headSize {
		return false
	}
	field := strings.Trim(string(head[148:156]), " \x00")
	want, err := strconv.ParseInt(field, 8, 64)
	sum := int64(8 * ' ')
	for i, c := range head[:headSize] {
		if i < 148 || i >= 156 {
			sum += int64(c)
		}
	}
	return err == nil && sum == want
}

// isTable reports whether the first line heads columns file and message.
func isTable(head []byte) bool {
	line, _, found := bytes.Cut(head, []byte("\n"))
	if !found || bytes.ContainsAny(line, ":") {
		return false
	}
	file, message := headings(strings.Split(string(bytes.TrimRight(line, "\r")), ","))
	return file >= 0 && message >= 0
}

// headings finds the columns with the paths and the texts of messages.
func headings(fields []string) (file, message int) {
	column := func(names ...string) int {
		return slices.IndexFunc(fields, func(f string) bool {
			return slices.Contains(names, strings.ToLower(strings.Trim(f, "\" \ufeff")))
		})
	}
	return column("file"), column("message")
}

var errNothing = errors.New("is neither an archive, an mbox, a table of messages nor a mail message")
