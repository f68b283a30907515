package main

import (
	"context"
	"database/sql"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the same driver as mailstore's

	"agentmill/internal/mail"
)

// A reference is a mailbox as the ART-E recipe keeps and asks it: full text
// joined to the table of mails, the inbox an address of a party, every keyword
// wanted, newest first.
type reference struct{ db *sql.DB }

const referenceTables = `
CREATE TABLE emails (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT UNIQUE, subject TEXT, from_address TEXT, date TEXT, body TEXT, file_name TEXT);
CREATE TABLE recipients (email_id INTEGER, recipient_address TEXT, recipient_type TEXT);
CREATE INDEX idx_emails_from ON emails (from_address);
CREATE INDEX idx_emails_date ON emails (date);
CREATE INDEX idx_recipients_address ON recipients (recipient_address);
CREATE INDEX idx_recipients_email ON recipients (email_id, recipient_address);
CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content='emails', content_rowid='id');
`

func openReference(path string) (*reference, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(off)&_pragma=mmap_size(268435456)")
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(64)
	return &reference{db}, nil
}

// buildReference writes the mails in the order in which they come, which is no
// order of dates.
func buildReference(ctx context.Context, path string, emails []*mail.Email) (*reference, error) {
	ref, err := openReference(path)
	if err != nil {
		return nil, err
	}
	tx, err := ref.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, referenceTables); err != nil {
		return nil, err
	}
	mails, err := tx.PrepareContext(ctx, `INSERT OR IGNORE INTO emails (id, message_id, subject, from_address, date, body, file_name) VALUES (?,?,?,?,?,?,?)`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = mails.Close() }()
	recipients, err := tx.PrepareContext(ctx, `INSERT INTO recipients VALUES (?,?,?)`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = recipients.Close() }()
	for i, e := range emails {
		if _, err := mails.ExecContext(ctx, i, e.MessageID, e.Subject, e.From, e.Date.Format(time.DateTime), e.Body, e.Source); err != nil {
			return nil, err
		}
		for kind, list := range map[string][]string{"to": append([]string{owner}, e.To...), "cc": e.Cc, "bcc": e.Bcc} {
			for _, address := range list {
				if _, err := recipients.ExecContext(ctx, i, address, kind); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, q := range []string{`INSERT INTO emails_fts (rowid, subject, body) SELECT id, subject, body FROM emails`, `INSERT INTO emails_fts (emails_fts) VALUES ('optimize')`} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return nil, err
		}
	}
	return ref, tx.Commit()
}

// search is the reference's question: the ids of at most ten mails.
func (r *reference) search(ctx context.Context, words []string, after, before time.Time) (ids []string, err error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	rows, err := r.db.QueryContext(ctx, `SELECT e.message_id, snippet(emails_fts, -1, '<b>', '</b>', ' ... ', 15)
		FROM emails e JOIN emails_fts ON e.id = emails_fts.rowid
		WHERE emails_fts MATCH ? AND (e.from_address = ? OR EXISTS (SELECT 1 FROM recipients r WHERE r.email_id = e.id AND r.recipient_address = ?))
		AND e.date >= ? AND e.date < ? ORDER BY e.date DESC LIMIT 10`,
		strings.Join(quoted, " AND "), owner, owner, after.Format(time.DateTime), before.Format(time.DateTime))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, snippet string
		if err := rows.Scan(&id, &snippet); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
