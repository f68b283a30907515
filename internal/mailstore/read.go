package mailstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Read returns a mail of one mailbox. id is a row number, or a Message-ID with
// or without angle brackets; the id of a copy means the mail that it is a copy
// of. Of several mails with one id the oldest that carries it as its own is
// returned, and SameID says how many more there are. It fails with ErrNoMail or
// ErrNoMailbox where there is none.
func (s *Store) Read(ctx context.Context, owner, id string) (*Mail, error) {
	b, err := s.box(owner)
	if err != nil {
		return nil, err
	}
	row, same, err := s.locate(ctx, b, id)
	if err != nil {
		return nil, err
	}
	m, err := s.mail(ctx, row)
	if err != nil {
		return nil, err
	}
	m.SameID = same
	return m, nil
}

// mail reads one row, which exists.
func (s *Store) mail(ctx context.Context, row int64) (*Mail, error) {
	stmt, err := s.prepare(ctx, selectMails+`m.row = ?`)
	if err != nil {
		return nil, fmt.Errorf("read row %d in %s: %w", row, s.path, err)
	}
	m, err := scanMail(stmt.QueryRowContext(ctx, row).Scan)
	if err != nil {
		return nil, fmt.Errorf("read row %d in %s: %w", row, s.path, err)
	}
	return m, nil
}

// Canonical returns the Message-ID and the row of the mail that id means, as
// Read finds it.
func (s *Store) Canonical(ctx context.Context, owner, id string) (messageID string, row int64, err error) {
	b, err := s.box(owner)
	if err != nil {
		return "", 0, err
	}
	if row, _, err = s.locate(ctx, b, id); err != nil {
		return "", 0, err
	}
	stmt, err := s.prepare(ctx, `SELECT message_id FROM mails WHERE row = ?`)
	if err != nil {
		return "", 0, err
	}
	return messageID, row, stmt.QueryRowContext(ctx, row).Scan(&messageID)
}

// locate finds the row that id means in b, and how many others it could mean.
func (s *Store) locate(ctx context.Context, b *box, id string) (row int64, same int, err error) {
	id = strings.TrimSpace(id)
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		return s.locateRow(ctx, b, n)
	}
	stmt, err := s.prepare(ctx, `SELECT row, count(*) OVER () FROM ids JOIN mails m USING (row) WHERE ids.message_id = ? AND m.owner_id = ?
		ORDER BY copy, coalesce(m.date, ?), row LIMIT 1`)
	if err != nil {
		return 0, 0, fmt.Errorf("look up %s in %s: %w", id, s.path, err)
	}
	switch err := stmt.QueryRowContext(ctx, bareID(id), b.id, int64(undated)).Scan(&row, &same); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, 0, fmt.Errorf("%s in %s: %w", id, b.Owner, ErrNoMail)
	case err != nil:
		return 0, 0, fmt.Errorf("look up %s in %s: %w", id, s.path, err)
	}
	return row, same - 1, nil
}

// locateRow checks that a row is one of b.
func (s *Store) locateRow(ctx context.Context, b *box, n int64) (row int64, same int, err error) {
	if b.first <= n && n <= b.last {
		return n, 0, nil
	}
	added, err := s.late(ctx, b)
	if err != nil {
		return 0, 0, err
	}
	if _, ok := added.find(n); !ok {
		return 0, 0, fmt.Errorf("row %d of %s: %w", n, b.Owner, ErrNoMail)
	}
	return n, 0, nil
}
