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
	stmt, err := s.prepare(ctx, `SELECT `+mailColumns+` FROM mails m JOIN owners o USING (owner_id) WHERE m.row = ?`)
	if err != nil {
		return nil, fmt.Errorf("read mail %s in %s: %w", id, s.path, err)
	}
	m, err := scanMail(stmt.QueryRowContext(ctx, row).Scan)
	if err != nil {
		return nil, fmt.Errorf("read mail %s in %s: %w", id, s.path, err)
	}
	m.SameID = same
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
		if n < b.first || n > b.last {
			return 0, 0, fmt.Errorf("row %d of %s: %w", n, b.Owner, ErrNoMail)
		}
		return n, 0, nil
	}
	stmt, err := s.prepare(ctx, `SELECT row, count(*) OVER () FROM ids WHERE message_id = ? AND row BETWEEN ? AND ? ORDER BY copy, row LIMIT 1`)
	if err != nil {
		return 0, 0, err
	}
	switch err := stmt.QueryRowContext(ctx, bareID(id), b.first, b.last).Scan(&row, &same); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, 0, fmt.Errorf("%s in %s: %w", id, b.Owner, ErrNoMail)
	case err != nil:
		return 0, 0, fmt.Errorf("look up %s in %s: %w", id, s.path, err)
	}
	return row, same - 1, nil
}
