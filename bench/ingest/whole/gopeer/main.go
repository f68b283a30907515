// Command gopeer turns a tar.gz of mail into a SQLite database with full text,
// and into a Parquet file, with the mail library that Go programs most often take
// (enmime, as it comes) and one transaction. It merges exact copies within a
// mailbox; it finds no threads, no near copies and no quoted text.
//
//	gopeer MAIL.tar.gz OUT.db OUT.parquet
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jhillyerd/enmime/v2"
	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite"
)

const tables = `PRAGMA journal_mode=off; PRAGMA synchronous=off;
CREATE TABLE emails (id INTEGER PRIMARY KEY, message_id TEXT, owner TEXT, date TEXT, sender TEXT, subject TEXT, body TEXT, source TEXT);
CREATE TABLE recipients (email_id INTEGER, kind TEXT, address TEXT);
CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content='emails', content_rowid='id');`

const indexes = `CREATE INDEX emails_id ON emails (message_id); CREATE INDEX emails_date ON emails (owner, date); CREATE INDEX recipients_address ON recipients (address);
INSERT INTO emails_fts (rowid, subject, body) SELECT id, subject, body FROM emails;
INSERT INTO emails_fts (emails_fts) VALUES ('optimize');`

// An email is a row of the file.
type email struct {
	MessageID string    `parquet:"message_id"`
	Owner     string    `parquet:"owner,dict"`
	Date      time.Time `parquet:"date,timestamp(microsecond)"`
	From      string    `parquet:"from"`
	To        []string  `parquet:"to,list"`
	Cc        []string  `parquet:"cc,list"`
	Bcc       []string  `parquet:"bcc,list"`
	Subject   string    `parquet:"subject"`
	Body      string    `parquet:"body"`
	Source    string    `parquet:"source"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "gopeer: error:", err)
		os.Exit(1)
	}
}

func run(path, database, table string) error {
	emails, err := read(path)
	if err != nil {
		return err
	}
	if err := parquet.WriteFile(table, emails, parquet.Compression(&parquet.Zstd)); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(tables); err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := insert(tx, emails); err != nil {
		return err
	}
	if _, err := tx.Exec(indexes); err != nil {
		return err
	}
	return tx.Commit()
}

func read(path string) (emails []email, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	seen := map[[32]byte]bool{}
	for archive := tar.NewReader(zip); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return emails, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		e, ok := parse(h.Name, raw)
		if !ok || seen[e.key()] {
			continue
		}
		seen[e.key()] = true
		emails = append(emails, e)
	}
}

func parse(name string, raw []byte) (e email, ok bool) {
	m, err := enmime.ReadEnvelope(bytes.NewReader(raw))
	if err != nil {
		return e, false
	}
	e = email{MessageID: strings.Trim(m.GetHeader("Message-ID"), "<> "), From: m.GetHeader("From"), Subject: m.GetHeader("Subject"), Body: m.Text, Source: name}
	if folders := strings.Split(name, "/"); len(folders) > 1 {
		e.Owner = folders[1]
	}
	e.Date, _ = m.Date()
	for kind, list := range map[string]*[]string{"To": &e.To, "Cc": &e.Cc, "Bcc": &e.Bcc} {
		found, _ := m.AddressList(kind)
		for _, a := range found {
			*list = append(*list, strings.ToLower(a.Address))
		}
	}
	return e, true
}

// key is equal for copies within a mailbox.
func (e *email) key() [32]byte {
	fold := func(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }
	return sha256.Sum256([]byte(strings.Join([]string{e.Owner, e.Date.UTC().String(), e.From, fold(e.Subject), fold(e.Body)}, "\x00")))
}

func insert(tx *sql.Tx, emails []email) error {
	mails, err := tx.Prepare(`INSERT INTO emails VALUES (?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}
	recipients, err := tx.Prepare(`INSERT INTO recipients VALUES (?,?,?)`)
	if err != nil {
		return err
	}
	for id, e := range emails {
		if _, err := mails.Exec(id, e.MessageID, e.Owner, e.Date.UTC().String(), e.From, e.Subject, e.Body, e.Source); err != nil {
			return err
		}
		for kind, list := range map[string][]string{"to": e.To, "cc": e.Cc, "bcc": e.Bcc} {
			for _, address := range list {
				if _, err := recipients.Exec(id, kind, address); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
