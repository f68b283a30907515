// Package mailstore owns inbox.db, the SQLite database that an agent searches:
// its schema, its building, and the questions that are asked of it.
//
// Most callers want Build, Extend, Open, Search and Read. Every question names an
// owner, and nothing of another owner's mailbox is ever returned: S1. Keywords
// are data, never query syntax: S2. Row numbers run by owner, then date, so a
// range of dates is a range of rows: S3 (what was added later is looked at by
// itself). The same database gives the same results in the same order, at any
// concurrency: S4. A row number is never given to another mail: S5. A damaged
// file is refused, so that no search finds nothing by mistake: S6.
//
// The package does not decide what an agent may see of a mail, nor how it is
// shown; that is the environment's.
package mailstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"agentmill/internal/mail"
)

// What a question can fail with; test with errors.Is.
var (
	// ErrNoKeywords: a search without any keyword that has a letter or a digit.
	ErrNoKeywords = errors.New("no keyword with a letter or a digit")
	// ErrNoMailbox: no mailbox has this owner or alias.
	ErrNoMailbox = errors.New("no such mailbox")
	// ErrNoMail: the mailbox has no mail of this id.
	ErrNoMail = errors.New("no such mail")
)

// A Mail is an email with its row number, which is its short id.
type Mail struct {
	Row int64
	mail.Email
	// SameID counts other mails of the mailbox that carry the id that was asked
	// for: ids are no keys.
	SameID int
}

// A Store is an open database. It is read-only and safe for concurrent use.
type Store struct {
	path    string
	stem    bool
	db      *sql.DB
	boxes   []box
	aliases map[string]int // alias → index into boxes

	mu      sync.Mutex
	stmts   map[string]*sql.Stmt
	rosters map[int64]*roster // by owner_id
	added   map[int64]*late   // by owner_id
	indexes map[int64]*ftsIndex
}

// A box is a row of table owners.
type box struct {
	Mailbox
	id          int64
	first, last int64 // rows that it was built with
	mails       int64
	newest      time.Time
}

// idleConns is how many connections wait for work. With the library's two, many
// concurrent attempts would open and close one for nearly every question. Their
// number is not limited: whoever iterates over Mails holds one while asking.
const idleConns = 64

// Open opens the database at path for reading.
func Open(path string) (*Store, error) {
	s := &Store{path: path, aliases: map[string]int{}, stmts: map[string]*sql.Stmt{}, rosters: map[int64]*roster{}, added: map[int64]*late{}, indexes: map[int64]*ftsIndex{}}
	if err := s.open(context.Background()); err != nil {
		return nil, errors.Join(fmt.Errorf("open inbox index %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if info, err := os.Stat(s.path); err != nil {
		return errors.Unwrap(err)
	} else if info.IsDir() {
		return errors.New("is a folder, want the file that ingest --index wrote")
	}
	err := s.verify()
	if err != nil {
		return err
	}
	s.db, err = sql.Open("sqlite", dataSource(s.path, "mode=ro&immutable=1&_pragma=query_only(1)&_pragma=mmap_size(268435456)"))
	if err != nil {
		return err
	}
	s.db.SetMaxIdleConns(idleConns)
	if err := s.checkSchema(ctx); err != nil {
		return err
	}
	return s.loadOwners(ctx)
}

// verify reads the whole file once: its checksum must be right.
func (s *Store) verify() error {
	f, err := os.Open(s.path)
	if err != nil {
		return cause(err)
	}
	defer func() { _ = f.Close() }()
	return verify(f)
}

// dataSource is a SQLite URI of a path in which any character may occur.
func dataSource(path, query string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query
}

func (s *Store) checkSchema(ctx context.Context) error {
	meta := map[string]string{}
	rows, err := s.db.QueryContext(ctx, `SELECT key, value FROM meta`) //nolint:sqlclosecheck // each closes them
	if err != nil {
		return fmt.Errorf("is not an inbox index: %w", err)
	}
	err = each(rows, func() error {
		var key, value string
		err := rows.Scan(&key, &value)
		meta[key] = value
		return err
	})
	if err != nil {
		return err
	}
	if err := checkVersion(meta["schema"]); err != nil {
		return err
	}
	s.stem = meta["stem"] == "true"
	return nil
}

func checkVersion(schema string) error {
	if schema != strconv.Itoa(Schema) {
		return fmt.Errorf("was written with schema %q, this program reads %d: run ingest again", schema, Schema)
	}
	return nil
}

func (s *Store) loadOwners(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, `SELECT owner_id, owner, name, first_row, last_row, mails, newest FROM owners ORDER BY owner_id`)
	if err != nil {
		return err
	}
	err = each(rows, func() error {
		var b box
		var newest sql.NullInt64
		if err := rows.Scan(&b.id, &b.Owner, &b.Name, &b.first, &b.last, &b.mails, &newest); err != nil {
			return err
		}
		if newest.Valid {
			b.newest = time.Unix(newest.Int64, 0).UTC()
		}
		s.boxes = append(s.boxes, b)
		return nil
	})
	if err != nil {
		return err
	}
	return s.loadAliases(ctx)
}

func (s *Store) loadAliases(ctx context.Context) error {
	byID := map[int64]int{}
	for i := range s.boxes {
		byID[s.boxes[i].id] = i
	}
	rows, err := s.db.QueryContext(ctx, `SELECT alias, owner_id FROM aliases ORDER BY alias`)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var alias string
		var id int64
		if err := rows.Scan(&alias, &id); err != nil {
			return err
		}
		i := byID[id]
		s.aliases[alias] = i
		if b := &s.boxes[i]; alias != b.Owner && alias != b.Name {
			b.Aliases = append(b.Aliases, alias)
		}
		return nil
	})
}

// each calls fn for every row and closes rows.
func each(rows *sql.Rows, fn func() error) error {
	for rows.Next() {
		if err := fn(); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Close releases the database.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// Stem reports whether the database was built over Porter stems.
func (s *Store) Stem() bool { return s.stem }

// Owners returns every mailbox, in order of its rows.
func (s *Store) Owners() []Mailbox {
	boxes := make([]Mailbox, len(s.boxes))
	for i := range s.boxes {
		boxes[i] = s.boxes[i].Mailbox
		boxes[i].Aliases = slices.Clone(boxes[i].Aliases)
	}
	return boxes
}

// Resolve returns the owner that an address, an alias or a mailbox name means.
// Letter case, blanks around it and angle brackets do not matter.
func (s *Store) Resolve(address string) (owner string, ok bool) {
	b, err := s.box(address)
	if err != nil {
		return "", false
	}
	return b.Owner, true
}

func (s *Store) box(address string) (*box, error) {
	i, ok := s.aliases[strings.ToLower(bareID(address))]
	if !ok {
		return nil, fmt.Errorf("%q in %s: %w", address, s.path, ErrNoMailbox)
	}
	return &s.boxes[i], nil
}

// Count returns how many mails a mailbox holds, 0 if there is no such mailbox.
func (s *Store) Count(owner string) int {
	b, err := s.box(owner)
	if err != nil {
		return 0
	}
	return int(b.mails)
}

// NewestDate returns the date of a mailbox's newest mail, wrong dates (a
// warning of the mail says so) left out; zero without any.
func (s *Store) NewestDate(owner string) time.Time {
	b, err := s.box(owner)
	if err != nil {
		return time.Time{}
	}
	return b.newest
}

// Mails iterates over a mailbox in order of dates, mails without a date first.
func (s *Store) Mails(ctx context.Context, owner string) iter.Seq2[*Mail, error] {
	return s.MailsSince(ctx, owner, time.Time{})
}

// MailsSince is Mails without those before a moment; with a zero one it is Mails.
func (s *Store) MailsSince(ctx context.Context, owner string, since time.Time) iter.Seq2[*Mail, error] {
	return func(yield func(*Mail, error) bool) {
		b, err := s.box(owner)
		if err != nil {
			yield(nil, err)
			return
		}
		if err := s.mailsSince(ctx, b, since, func(m *Mail) bool { return yield(m, nil) }); err != nil {
			yield(nil, fmt.Errorf("read mails of %s in %s: %w", owner, s.path, err))
		}
	}
}

const selectMails = `SELECT ` + mailColumns + ` FROM mails m JOIN owners o USING (owner_id) WHERE `

// mailsSince reads the rows of a mailbox as they were built; where mails were
// added, one by one in the order of all dates.
func (s *Store) mailsSince(ctx context.Context, b *box, since time.Time, yield func(*Mail) bool) error {
	if b.mails > b.last-b.first+1 {
		return s.byDates(ctx, b, since, yield)
	}
	span, err := s.span(ctx, b, since, time.Time{})
	if err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, selectMails+`m.row BETWEEN ? AND ? ORDER BY m.row`, span.first, span.last)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		m, err := scanMail(rows.Scan)
		if err != nil {
			return err
		}
		if !yield(m) {
			return nil
		}
	}
	return rows.Err()
}

func (s *Store) byDates(ctx context.Context, b *box, since time.Time, yield func(*Mail) bool) error {
	after, _ := window(since, time.Time{})
	all, err := s.rowsOf(ctx, `SELECT row FROM mails WHERE owner_id = ?1 AND coalesce(date, ?3) >= ?2 ORDER BY coalesce(date, ?3), row`, b.id, after, int64(undated))
	if err != nil {
		return err
	}
	for _, row := range all {
		m, err := s.mail(ctx, row)
		if err != nil {
			return err
		}
		if !yield(m) {
			return nil
		}
	}
	return nil
}

// At returns the mails of a mailbox of one second, or those without a date.
func (s *Store) At(ctx context.Context, owner string, date time.Time) ([]*Mail, error) {
	b, err := s.box(owner)
	if err != nil {
		return nil, err
	}
	all, err := s.rowsOf(ctx, `SELECT row FROM mails WHERE owner_id = ? AND appended IN (0, 1) AND date IS ? ORDER BY row`, b.id, seconds(date))
	if err != nil {
		return nil, fmt.Errorf("read mails of %s in %s: %w", owner, s.path, err)
	}
	mails := make([]*Mail, 0, len(all))
	for _, row := range all {
		m, err := s.mail(ctx, row)
		if err != nil {
			return nil, err
		}
		mails = append(mails, m)
	}
	return mails, nil
}

// rowsOf reads one number a row.
func (s *Store) rowsOf(ctx context.Context, query string, args ...any) (list []int64, err error) {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...) //nolint:sqlclosecheck // each closes them
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var row int64
		err := rows.Scan(&row)
		list = append(list, row)
		return err
	})
	return list, err
}

// prepare keeps one statement a query text.
func (s *Store) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt, ok := s.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := s.db.PrepareContext(ctx, query) //nolint:gosec // all queries are written here
	if err == nil {
		s.stmts[query] = stmt
	}
	return stmt, err
}
