package mailstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
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
	Marks    [2]string // put before and after each match in a snippet; nothing if empty
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
	keywords := wanted(q.Keywords)
	if len(keywords) == 0 {
		return Hits{}, ErrNoKeywords
	}
	if err := ctx.Err(); err != nil {
		return Hits{}, err
	}
	ctx = context.WithoutCancel(ctx) // to watch for it takes the driver longer than most of the queries last
	span, err := s.span(ctx, b, q.After, q.Before)
	if err != nil {
		return Hits{}, err
	}
	keep, err := s.partyFilter(ctx, b, q)
	if err != nil {
		return Hits{}, err
	}
	var d desk
	defer d.clear()
	hits, err := s.find(ctx, b, search{keywords, match(keywords, q.Mode), span, keep, &d, q})
	if err != nil {
		return Hits{}, fmt.Errorf("search %s in %s: %w", b.Owner, s.path, err)
	}
	return hits, nil
}

// A search is a query made ready: dates as rows (S3), and addresses as a test
// of a row, nil if none was asked for.
type search struct {
	keywords []string
	expr     string
	span
	keep func(row int64) bool
	desk *desk
	Query
}

// A span is the rows of a mailbox whose dates lie in a window: of those that it
// was built with a range, of those added later all with such a date.
type span struct {
	first, last   int64
	built         int64 // the last row that the mailbox was built with
	added         *late
	after, before int64 // seconds: not before, before
}

// has reports whether a row of the mailbox is in the span.
func (p *span) has(row int64) bool {
	if row <= p.built {
		return p.first <= row && row <= p.last
	}
	date := p.date(row)
	return p.after <= date && date < p.before
}

// date is that of a row that was added.
func (p *span) date(row int64) int64 {
	at, _ := p.added.find(row)
	return p.added.dates[at]
}

func fold(s string) string { return strings.ToLower(clean(s)) }

// span finds the rows whose dates lie in [after, before). A mail without a date
// lies in no window but the one without bounds.
func (s *Store) span(ctx context.Context, b *box, after, before time.Time) (span, error) {
	p := span{first: b.first, last: b.last, built: b.last}
	p.after, p.before = window(after, before)
	var err error
	if p.added, err = s.late(ctx, b); err != nil {
		return p, err
	}
	if after.IsZero() && before.IsZero() {
		return p, nil
	}
	stmt, err := s.prepare(ctx, `SELECT (SELECT row FROM mails WHERE owner_id = ?1 AND appended = 0 AND date >= ?2 ORDER BY date, row LIMIT 1),
		(SELECT row FROM mails WHERE owner_id = ?1 AND appended = 0 AND date < ?3 ORDER BY date DESC, row DESC LIMIT 1)`)
	if err != nil {
		return p, fmt.Errorf("search %s in %s: %w", b.Owner, s.path, err)
	}
	var from, to sql.NullInt64
	if err := stmt.QueryRowContext(ctx, b.id, p.after, p.before).Scan(&from, &to); err != nil {
		return p, fmt.Errorf("search %s in %s: %w", b.Owner, s.path, err)
	}
	if p.first, p.last = from.Int64, to.Int64; !from.Valid || !to.Valid {
		p.first, p.last = 1, 0
	}
	return p, nil
}

// window is [after, before) in seconds.
func window(after, before time.Time) (from, to int64) {
	from, to = undated, math.MaxInt64
	if !after.IsZero() || !before.IsZero() {
		from++ // some date
	}
	if !after.IsZero() {
		from = ceilSecond(after)
	}
	if !before.IsZero() {
		to = ceilSecond(before)
	}
	return from, to
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
func (s *Store) find(ctx context.Context, b *box, q search) (h Hits, err error) {
	most := DefaultMax
	if q.Max > 0 {
		most = q.Max
	}
	list, plain := s.phrases(q.keywords)
	var found []int64
	var places []*postings
	if plain {
		found, h.Total, places, err = s.answer(ctx, b, q, list, most)
	} else {
		found, h.Total, err = s.ask(ctx, b, q, most)
	}
	if err != nil {
		return Hits{}, err
	}
	if h.Total > TotalCap {
		h.Total, h.More = TotalCap, true
	}
	h.Hits, err = s.show(ctx, b, q, found, list, places)
	return h, err
}

// ask finds through SQL the rows of the hits in order, and their total.
func (s *Store) ask(ctx context.Context, b *box, q search, most int) (found []int64, total int, err error) {
	switch {
	case len(q.added.rows) == 0 && q.first > q.last:
		return nil, 0, nil
	case len(q.added.rows) == 0:
		return s.matches(ctx, b, q, q.first, q.last, q.keep, most)
	case q.Mode == All:
		return s.newestFirst(ctx, b, q, most)
	}
	in := func(row int64) bool { return q.has(row) && (q.keep == nil || q.keep(row)) }
	return s.matches(ctx, b, q, b.first, math.MaxInt64, in, most)
}

// matches returns the first most rows from first to last that match and pass
// keep (nil: all do), and how many there are, counted to just above TotalCap.
func (s *Store) matches(ctx context.Context, b *box, q search, first, last int64, keep func(int64) bool, most int) (found []int64, total int, err error) {
	order, limit := `bm25(`+ftsTable(b.id)+`, 2.0, 1.0), f.rowid`, int64(-1)
	if q.Mode == All {
		order = `f.rowid DESC`
	}
	if keep == nil {
		limit = int64(max(most, TotalCap+1))
	}
	stmt, err := s.prepare(ctx, fmt.Sprintf(`SELECT f.rowid FROM %s f WHERE %[1]s MATCH ? AND f.rowid BETWEEN ? AND ? ORDER BY %s LIMIT ?`, ftsTable(b.id), order))
	if err != nil {
		return nil, 0, err
	}
	rows, err := stmt.QueryContext(ctx, q.expr, first, last, limit) //nolint:sqlclosecheck // each closes them
	if err != nil {
		return nil, 0, err
	}
	err = each(rows, func() error {
		var row int64
		if err := rows.Scan(&row); err != nil {
			return err
		}
		if keep != nil && !keep(row) {
			return nil
		}
		if len(found) < most {
			found = append(found, row)
		}
		if total++; total > TotalCap && len(found) == most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, total, err
}

// newestFirst merges the matches among the rows that a mailbox was built with,
// which are in order, with those among the rows that were added.
func (s *Store) newestFirst(ctx context.Context, b *box, q search, most int) (found []int64, total int, err error) {
	built, total, err := s.matches(ctx, b, q, q.first, q.last, q.keep, most)
	if err != nil {
		return nil, 0, err
	}
	keep := func(row int64) bool { return q.has(row) && (q.keep == nil || q.keep(row)) }
	added, more, err := s.matches(ctx, b, q, b.last+1, math.MaxInt64, keep, math.MaxInt)
	if err != nil {
		return nil, 0, err
	}
	found, err = s.merge(ctx, q, built, added, most)
	return found, total + more, err
}

// merge puts rows that a mailbox was built with, newest first, and rows that
// were added in one order.
func (s *Store) merge(ctx context.Context, q search, built, added []int64, most int) ([]int64, error) {
	if len(added) == 0 {
		return built[:min(most, len(built))], nil
	}
	dates := map[int64]int64{}
	for _, row := range built {
		date, err := s.date(ctx, row)
		if err != nil {
			return nil, err
		}
		dates[row] = date
	}
	for _, row := range added {
		dates[row] = q.date(row)
	}
	all := append(slices.Clone(built), added...)
	slices.SortFunc(all, func(x, y int64) int { return cmp.Or(cmp.Compare(dates[y], dates[x]), cmp.Compare(y, x)) })
	return all[:min(most, len(all))], nil
}

// date is that of a row, undated without one.
func (s *Store) date(ctx context.Context, row int64) (date int64, err error) {
	list, err := s.rowsOf(ctx, `SELECT coalesce(date, ?) FROM mails WHERE row = ?`, int64(undated), row)
	if err != nil || len(list) == 0 {
		return undated, err
	}
	return list[0], nil
}

// errEnough ends the reading of rows early.
var errEnough = errors.New("enough")

// show is what is told of the hits. places are those of the phrases in list,
// none if SQL found the hits.
func (s *Store) show(ctx context.Context, b *box, q search, found []int64, list []phrase, places []*postings) ([]Hit, error) {
	hits := make([]Hit, len(found))
	bodies := make([]string, len(found))
	if err := s.heads(ctx, found, hits, bodies); err != nil {
		return nil, err
	}
	for i := range hits {
		h := &hits[i]
		if places != nil && isASCII(bodies[i]) {
			h.Snippet = snippet(bodies[i], instances(h.Row, list, places), q.Marks)
		} else if text, err := s.snippet(ctx, b, q, h.Row); err != nil {
			return nil, err
		} else {
			h.Snippet = text
		}
		h.Subject = strings.Join(strings.Fields(h.Subject), " ")
		h.Snippet = strings.Join(strings.Fields(h.Snippet), " ")
	}
	return hits, nil
}

// headsAtOnce is how many mails one query reads; a round costs as much as two
// mails.
const headsAtOnce = DefaultMax

// heads reads the columns that hits show.
func (s *Store) heads(ctx context.Context, found []int64, hits []Hit, bodies []string) error {
	stmt, err := s.prepare(ctx, `SELECT row, message_id, date, micros, sender, subject, body FROM mails WHERE row IN (?`+strings.Repeat(",?", headsAtOnce-1)+`)`)
	if err != nil {
		return err
	}
	for from := 0; from < len(found); from += headsAtOnce {
		part := found[from:min(from+headsAtOnce, len(found))]
		args := make([]any, headsAtOnce) // NULL is the row of no mail
		for i, row := range part {
			args[i] = row
		}
		rows, err := stmt.QueryContext(ctx, args...) //nolint:sqlclosecheck // each closes them
		if err != nil {
			return err
		}
		err = each(rows, func() error {
			h, body, err := scanHit(rows.Scan)
			at := slices.Index(part, h.Row)
			if err == nil && at >= 0 {
				hits[from+at], bodies[from+at] = h, body
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func scanHit(scan func(...any) error) (h Hit, body string, err error) {
	var seconds sql.NullInt64
	var micros int64
	err = scan(&h.Row, &h.MessageID, &seconds, &micros, &h.From, &h.Subject, &body)
	if seconds.Valid {
		h.Date = time.Unix(seconds.Int64, micros*1000).UTC()
	}
	return h, body, err
}

// bodyColumn is that of the full-text tables.
const bodyColumn = 1

// instances are where the body of a mail has the phrases, in order.
func instances(row int64, list []phrase, places []*postings) (all []instance) {
	var here []place
	for i, p := range places {
		at, ok := slices.BinarySearch(p.rows, row)
		if !ok {
			continue
		}
		here = unpack(here[:0], p.places(at))
		for _, x := range here {
			if x.column == bodyColumn {
				all = append(all, instance{i, x.token, len(list[i])})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b instance) int { return a.token - b.token })
	return all
}

// snippet asks FTS5 for it.
func (s *Store) snippet(ctx context.Context, b *box, q search, row int64) (text string, err error) {
	fts := ftsTable(b.id)
	stmt, err := s.prepare(ctx, fmt.Sprintf(`SELECT snippet(%s, %d, ?, ?, '%s', %d) FROM %s WHERE %[1]s MATCH ? AND rowid = ?`, fts, bodyColumn, ellipsis, snippetTokens, fts))
	if err != nil {
		return "", err
	}
	return text, stmt.QueryRowContext(ctx, q.Marks[0], q.Marks[1], q.expr, row).Scan(&text)
}
