package mailstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Mode is a rule of search.
type Mode string

// The rules.
const (
	// Any wants at least one keyword and puts the best BM25 score first. The
	// subject counts twice.
	Any Mode = "any"
	// All wants every keyword and puts the newest mail first.
	All Mode = "all"
)

const (
	// DefaultMax is the number of hits of a Query that names none.
	DefaultMax = 10
	// TotalCap is where the counting of hits ends.
	TotalCap = 200
)

// snippetTokens is the length of a snippet in words.
const snippetTokens = 12

// A Query is a search in one mailbox.
type Query struct {
	Owner    string // owner, alias or name of the mailbox
	Keywords []string
	Mode     Mode      // Any if empty
	From     string    // part of the sender's address, in any letter case
	To       string    // part of an address in To, Cc or Bcc
	After    time.Time // not before this
	Before   time.Time // before this
	Max      int       // most hits; DefaultMax if 0 or less
}

// Hits is the answer to a Query.
type Hits struct {
	Hits  []Hit
	Total int  // all mails that match, counted up to TotalCap
	More  bool // there are more than TotalCap
}

// A Hit is one mail found.
type Hit struct {
	Row       int64 // short id
	MessageID string
	Date      time.Time // zero where the mail has none
	From      string
	Subject   string
	Snippet   string // words of the body around the matches, blanks folded
}

// Search answers q. It fails with ErrNoKeywords or ErrNoMailbox where the
// caller is to blame.
func (s *Store) Search(ctx context.Context, q Query) (Hits, error) {
	b, err := s.box(q.Owner)
	if err != nil {
		return Hits{}, err
	}
	if q.Mode != Any && q.Mode != All && q.Mode != "" {
		return Hits{}, fmt.Errorf("search rule %q: want any or all", q.Mode)
	}
	expr, ok := match(q.Keywords, q.Mode)
	if !ok {
		return Hits{}, ErrNoKeywords
	}
	first, last, err := s.rowRange(ctx, b, q.After, q.Before)
	if err != nil || first > last {
		return Hits{}, err
	}
	keep, err := s.partyFilter(ctx, b, q)
	if err != nil {
		return Hits{}, err
	}
	hits, err := s.find(ctx, b, search{expr, first, last, keep, q})
	if err != nil {
		return Hits{}, fmt.Errorf("search %s in %s: %w", b.Owner, s.path, err)
	}
	return hits, nil
}

// A search is a query made ready: dates as a range of rows (S3), which also
// keeps it inside the mailbox (S1), and addresses as a test of a row, nil if
// none was asked for.
type search struct {
	expr        string
	first, last int64
	keep        func(row int64) bool
	Query
}

func fold(s string) string { return strings.ToLower(clean(s)) }

// rowRange returns the rows whose dates lie in [after, before).
func (s *Store) rowRange(ctx context.Context, b *box, after, before time.Time) (first, last int64, err error) {
	first, last = b.first, b.last
	if after.IsZero() && before.IsZero() {
		return first, last, nil
	}
	lo, hi := int64(-1<<62), int64(1<<62)
	if !after.IsZero() {
		lo = ceilSecond(after)
	}
	if !before.IsZero() {
		hi = ceilSecond(before)
	}
	stmt, err := s.prepare(ctx, `SELECT (SELECT row FROM mails WHERE owner_id = ?1 AND date >= ?2 ORDER BY date, row LIMIT 1),
		(SELECT row FROM mails WHERE owner_id = ?1 AND date < ?3 ORDER BY date DESC, row DESC LIMIT 1)`)
	if err != nil {
		return 0, 0, fmt.Errorf("search %s in %s: %w", b.Owner, s.path, err)
	}
	var from, to sql.NullInt64
	if err := stmt.QueryRowContext(ctx, b.id, lo, hi).Scan(&from, &to); err != nil {
		return 0, 0, fmt.Errorf("search %s in %s: %w", b.Owner, s.path, err)
	}
	if !from.Valid || !to.Valid {
		return 1, 0, nil
	}
	return from.Int64, to.Int64, nil
}

// ceilSecond rounds up, so that comparing whole seconds equals comparing t.
func ceilSecond(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// find runs a search in two steps: rows first, then what is shown of the few
// that remain. A snippet of every match would cost more than the search.
func (s *Store) find(ctx context.Context, b *box, q search) (Hits, error) {
	found, h, err := s.findRows(ctx, b, q)
	if err != nil {
		return Hits{}, err
	}
	for _, row := range found {
		hit, err := s.show(ctx, b, q.expr, row)
		if err != nil {
			return Hits{}, err
		}
		h.Hits = append(h.Hits, hit)
	}
	return h, nil
}

// findRows returns the rows of the hits in order, and their total.
func (s *Store) findRows(ctx context.Context, b *box, q search) (found []int64, h Hits, err error) {
	most, limit := DefaultMax, int64(-1)
	if q.Max > 0 {
		most = q.Max
	}
	if q.keep == nil {
		limit = int64(max(most, TotalCap+1))
	}
	order := `bm25(` + ftsTable(b.id) + `, 2.0, 1.0), f.rowid`
	if q.Mode == All {
		order = `f.rowid DESC`
	}
	stmt, err := s.prepare(ctx, fmt.Sprintf(`SELECT f.rowid FROM %s f WHERE %[1]s MATCH ? AND f.rowid BETWEEN ? AND ? ORDER BY %s LIMIT ?`, ftsTable(b.id), order))
	if err != nil {
		return nil, h, err
	}
	rows, err := stmt.QueryContext(ctx, q.expr, q.first, q.last, limit)
	if err != nil {
		return nil, h, err
	}
	err = each(rows, func() error {
		var row int64
		if err := rows.Scan(&row); err != nil {
			return err
		}
		if q.keep != nil && !q.keep(row) {
			return nil
		}
		if len(found) < most {
			found = append(found, row)
		}
		if h.Total++; h.Total > TotalCap && len(found) == most {
			return errEnough
		}
		return nil
	})
	if h.Total > TotalCap {
		h.Total, h.More = TotalCap, true
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, h, err
}

// errEnough ends the reading of rows early.
var errEnough = errors.New("enough")

func (s *Store) show(ctx context.Context, b *box, expr string, row int64) (Hit, error) {
	fts := ftsTable(b.id)
	stmt, err := s.prepare(ctx, fmt.Sprintf(`SELECT m.row, m.message_id, m.date, m.micros, m.sender, m.subject, snippet(%s, 1, '', '', '…', %d)
		FROM %s f JOIN mails m ON m.row = f.rowid WHERE %s MATCH ? AND f.rowid = ?`, fts, snippetTokens, fts, fts))
	if err != nil {
		return Hit{}, err
	}
	var (
		h       Hit
		seconds sql.NullInt64
		micros  int64
	)
	if err := stmt.QueryRowContext(ctx, expr, row).Scan(&h.Row, &h.MessageID, &seconds, &micros, &h.From, &h.Subject, &h.Snippet); err != nil {
		return Hit{}, err
	}
	if seconds.Valid {
		h.Date = time.Unix(seconds.Int64, micros*1000).UTC()
	}
	h.Subject = strings.Join(strings.Fields(h.Subject), " ")
	h.Snippet = strings.Join(strings.Fields(h.Snippet), " ")
	return h, nil
}
