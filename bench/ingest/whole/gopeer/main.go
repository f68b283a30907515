// Command gopeer turns a tar.gz of mail into a SQLite database with full text,
// with the mail library that Go programs most often take (enmime, as it comes)
// and one transaction. It merges nothing and finds no threads.
//
//	gopeer MAIL.tar.gz OUT.db
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jhillyerd/enmime/v2"
	_ "modernc.org/sqlite"
)

const tables = `PRAGMA journal_mode=off; PRAGMA synchronous=off;
CREATE TABLE emails (id INTEGER PRIMARY KEY, message_id TEXT, date TEXT, sender TEXT, subject TEXT, body TEXT, source TEXT);
CREATE TABLE recipients (email_id INTEGER, kind TEXT, address TEXT);
CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content='emails', content_rowid='id');`

const indexes = `CREATE INDEX emails_id ON emails (message_id); CREATE INDEX emails_date ON emails (date); CREATE INDEX recipients_address ON recipients (address);
INSERT INTO emails_fts (rowid, subject, body) SELECT id, subject, body FROM emails;
INSERT INTO emails_fts (emails_fts) VALUES ('optimize');`

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gopeer: error:", err)
		os.Exit(1)
	}
}

func run(path, database string) error {
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
	if err := insertAll(tx, path); err != nil {
		return err
	}
	if _, err := tx.Exec(indexes); err != nil {
		return err
	}
	return tx.Commit()
}

func insertAll(tx *sql.Tx, path string) error {
	mails, err := tx.Prepare(`INSERT INTO emails VALUES (?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}
	recipients, err := tx.Prepare(`INSERT INTO recipients VALUES (?,?,?)`)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	archive := tar.NewReader(zip)
	for id := 1; ; id++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		e, err := enmime.ReadEnvelope(bytes.NewReader(raw))
		if err != nil {
			continue
		}
		date, _ := e.Date()
		if _, err := mails.Exec(id, strings.Trim(e.GetHeader("Message-ID"), "<> "), date.UTC().String(), e.GetHeader("From"), e.GetHeader("Subject"), e.Text, h.Name); err != nil {
			return err
		}
		for _, kind := range []string{"To", "Cc", "Bcc"} {
			list, _ := e.AddressList(kind)
			for _, a := range list {
				if _, err := recipients.Exec(id, kind, strings.ToLower(a.Address)); err != nil {
					return err
				}
			}
		}
	}
}
