package mailstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentmill/internal/atomicfile"
	"agentmill/internal/mail"
)

// A Mailbox is one searchable scope: the mails of one owner.
type Mailbox struct {
	Owner   string   // canonical address
	Name    string   // what the mail files call it (Enron: the custodian's folder)
	Aliases []string // other addresses of the same person
}

// Options are the choices that a database is built with.
type Options struct {
	// Stem indexes Porter stems, so that "trading" finds "trade".
	Stem bool
	// Mailboxes describes owners. An owner of a mail that is not named here
	// becomes a mailbox without aliases.
	Mailboxes []Mailbox
}

// Build writes the database of emails to path: whole under that name, or not
// at all. Row numbers run by mailbox (in order of the owner's address), then
// by date; mails without a date come first in their mailbox.
func Build(ctx context.Context, path string, emails []*mail.Email, opt Options) error {
	byOwner := map[string][]*mail.Email{}
	for _, e := range emails {
		owner := strings.ToLower(e.Owner)
		byOwner[owner] = append(byOwner[owner], e)
	}
	boxes := mailboxes(byOwner, opt.Mailboxes)
	b, err := Create(ctx, path, opt.Stem)
	if err != nil {
		return err
	}
	defer b.Abort()
	for _, box := range boxes {
		if err := b.Add(ctx, box, byOwner[box.Owner]); err != nil {
			return err
		}
	}
	return b.Commit(ctx)
}

func mailboxes(byOwner map[string][]*mail.Email, known []Mailbox) []Mailbox {
	var boxes []Mailbox
	named := map[string]bool{}
	for _, box := range known {
		box.Owner = strings.ToLower(box.Owner)
		named[box.Owner] = true
		boxes = append(boxes, box)
	}
	for owner := range byOwner {
		if !named[owner] {
			boxes = append(boxes, Mailbox{Owner: owner})
		}
	}
	slices.SortFunc(boxes, func(a, b Mailbox) int { return cmp.Compare(a.Owner, b.Owner) })
	return boxes
}

// A Builder writes a database mailbox by mailbox; its memory is bounded by one
// of them. Most callers want Build.
type Builder struct {
	path, tmp string
	lock      *os.File // tmp, open: so nobody takes it for left behind
	old       *os.File // what Extend adds to, locked; nil for a new database
	db        *sql.DB
	tx        *sql.Tx
	stem      bool
	owners    int64
	rows      int64
	known     map[string]int64 // owner → owner_id, of mailboxes that Extend found
	addresses map[string]int64
	aliases   map[string]string // alias → owner
	stmts     map[string]*sql.Stmt

	lastAddress int64 // highest address_id
	opened      int   // full-text tables that the connection has written
	changed     bool  // something was written
	forgot      bool  // addresses lacks some of the table
}

// Create begins a database that appears at path on Commit.
func Create(ctx context.Context, path string, stem bool) (*Builder, error) {
	b := newBuilder(path)
	b.stem = stem
	if err := b.begin(ctx); err != nil {
		b.Abort()
		return nil, fmt.Errorf("create inbox index %s: %w", path, err)
	}
	return b, nil
}

func newBuilder(path string) *Builder {
	return &Builder{path: path, known: map[string]int64{}, addresses: map[string]int64{}, aliases: map[string]string{}, stmts: map[string]*sql.Stmt{}}
}

func (b *Builder) begin(ctx context.Context) error {
	if info, err := os.Stat(b.path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it exists and is no file that could be replaced")
	}
	if err := b.open(ctx, func(*os.File) error { return nil }); err != nil {
		return err
	}
	if _, err := b.tx.ExecContext(ctx, tables); err != nil {
		return err
	}
	_, err := b.tx.ExecContext(ctx, `INSERT INTO meta VALUES ('schema', ?), ('stem', ?)`, strconv.Itoa(Schema), strconv.FormatBool(b.stem))
	return err
}

// open begins the temporary file, which fill fills, and a transaction in it.
func (b *Builder) open(ctx context.Context, fill func(f *os.File) error) error {
	f, err := atomicfile.Temp(b.path)
	if err != nil {
		return err
	}
	b.tmp, b.lock = f.Name(), f
	if err := errors.Join(f.Chmod(0o644), fill(f)); err != nil {
		return err
	}
	return b.connect(ctx)
}

// connect opens the database of the temporary file, and a transaction in it.
func (b *Builder) connect(ctx context.Context) (err error) {
	if b.db, err = sql.Open("sqlite", dataSource(b.tmp, "_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=locking_mode(exclusive)")); err != nil {
		return err
	}
	b.db.SetMaxOpenConns(1)
	b.tx, err = b.db.BeginTx(context.WithoutCancel(ctx), nil) // it outlives the call that begins it
	return err
}

// Add writes one mailbox with its mails, which it puts in order of their dates.
// To a mailbox that Extend found they are added.
func (b *Builder) Add(ctx context.Context, box Mailbox, emails []*mail.Email) error {
	if err := b.add(ctx, box, emails); err != nil {
		return fmt.Errorf("index mailbox %s: %w", box.Owner, err)
	}
	return nil
}

func (b *Builder) add(ctx context.Context, box Mailbox, emails []*mail.Email) error {
	sorted := slices.Clone(emails)
	slices.SortStableFunc(sorted, byDate)
	id, known := b.known[strings.ToLower(box.Owner)]
	if !known {
		b.owners++
		id = b.owners
	}
	first := b.rows + 1
	for _, e := range sorted {
		b.rows++
		if err := b.insert(ctx, id, known, e); err != nil {
			return fmt.Errorf("mail %s: %w", e.MessageID, err)
		}
	}
	if known {
		return b.extend(ctx, id, box, first)
	}
	if err := b.insertOwner(ctx, box, first, newest(believable(sorted))); err != nil {
		return err
	}
	if _, err := b.tx.ExecContext(ctx, createFTS(id, b.stem)); err != nil {
		return err
	}
	if err := errors.Join(b.indexText(ctx, id, first), b.optimize(ctx, id)); err != nil {
		return err
	}
	if b.opened++; b.opened < maxOpened {
		return nil
	}
	return b.reconnect(ctx)
}

// maxOpened is how many full-text tables a connection writes: it keeps some
// hundred kilobytes of statements for each.
const maxOpened = 16

// reconnect gives the memory of the connection back.
func (b *Builder) reconnect(ctx context.Context) error {
	if err := errors.Join(b.tx.Commit(), b.db.Close()); err != nil {
		return err
	}
	b.tx, b.opened = nil, 0
	clear(b.stmts)
	return b.connect(ctx)
}

func byDate(a, b *mail.Email) int {
	return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.MessageID, b.MessageID), cmp.Compare(a.Source, b.Source))
}

// stray is how far a mail may lie behind all others and still count for the
// newest date: real corpora have single mails dated years too late.
const stray = 365 * 24 * time.Hour

// believable are the dates that no warning calls out of range.
func believable(emails []*mail.Email) (dates []time.Time) {
	for _, e := range emails {
		if !e.Date.IsZero() && !slices.Contains(e.Warnings, mail.WarnDateRange) {
			dates = append(dates, e.Date)
		}
	}
	return dates
}

// newest is the latest of believable dates in order, nil without any: none of
// the last hundredth if more than a year separates that from the rest.
func newest(dates []time.Time) any {
	if len(dates) == 0 {
		return nil
	}
	last := len(dates) - 1
	for i := last; i > 0 && i >= len(dates)-max(1, len(dates)/100); i-- {
		if dates[i].Sub(dates[i-1]) > stray && len(dates) > 2 {
			last = i - 1
		}
	}
	return dates[last].Unix()
}

func (b *Builder) insertOwner(ctx context.Context, box Mailbox, first int64, newest any) error {
	if err := b.exec(ctx, `INSERT INTO owners VALUES (?,?,?,?,?,?,?)`,
		b.owners, strings.ToLower(box.Owner), box.Name, first, b.rows, b.rows-first+1, newest); err != nil {
		return err
	}
	return b.insertAliases(ctx, b.owners, box)
}

func (b *Builder) insertAliases(ctx context.Context, id int64, box Mailbox) error {
	owner := strings.ToLower(box.Owner)
	for _, alias := range append([]string{box.Owner, box.Name}, box.Aliases...) {
		alias = strings.ToLower(strings.TrimSpace(alias))
		switch other, taken := b.aliases[alias]; {
		case alias == "", taken && other == owner:
			continue
		case taken:
			return fmt.Errorf("alias %s belongs to mailbox %s already", alias, other)
		}
		b.aliases[alias] = owner
		if err := b.exec(ctx, `INSERT INTO aliases VALUES (?,?)`, alias, id); err != nil {
			return err
		}
	}
	return nil
}

// insert writes a mail as the row b.rows.
func (b *Builder) insert(ctx context.Context, owner int64, appended bool, e *mail.Email) error {
	recipients, err := json.Marshal(recipients{e.To, e.Cc, e.Bcc})
	if err != nil {
		return err
	}
	more, err := json.Marshal(rest{e.InReplyTo, e.References, e.Attachments, e.Labels, e.Quoted, e.NearOf, e.Copies, e.Warnings, e.Extra})
	if err != nil {
		return err
	}
	err = b.exec(ctx, `INSERT INTO mails VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		b.rows, owner, appended, e.MessageID, seconds(e.Date), e.Date.Nanosecond()/1000, e.DateSource, e.From, recipients,
		e.Subject, e.Folder, e.ThreadID, e.Source, more, e.Body)
	if err != nil {
		return err
	}
	return errors.Join(b.insertIDs(ctx, e), b.insertParties(ctx, e))
}

// seconds is the column of a date, NULL without one.
func seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

func (b *Builder) insertIDs(ctx context.Context, e *mail.Email) error {
	if err := b.exec(ctx, insertID, bareID(e.MessageID), b.rows, 0); err != nil {
		return err
	}
	for _, c := range e.Copies {
		if err := b.exec(ctx, insertID, bareID(c.MessageID), b.rows, 1); err != nil {
			return err
		}
	}
	return nil
}

const insertID = `INSERT OR IGNORE INTO ids VALUES (?,?,?)`

func (b *Builder) insertParties(ctx context.Context, e *mail.Email) error {
	for _, p := range []struct {
		kind      string
		addresses []string
	}{{"from", []string{e.From}}, {"to", e.To}, {"cc", e.Cc}, {"bcc", e.Bcc}} {
		for _, address := range p.addresses {
			if err := b.insertParty(ctx, p.kind, strings.ToLower(address)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Builder) insertParty(ctx context.Context, kind, address string) error {
	if address == "" {
		return nil
	}
	id, err := b.addressID(ctx, address)
	if err != nil {
		return err
	}
	return b.exec(ctx, `INSERT OR IGNORE INTO parties VALUES (?,?,?)`, b.rows, kind, id)
}

// maxAddresses is how many ids of addresses are kept in memory.
const maxAddresses = 50_000

func (b *Builder) addressID(ctx context.Context, address string) (id int64, err error) {
	if id, ok := b.addresses[address]; ok {
		return id, nil
	}
	if len(b.addresses) >= maxAddresses {
		clear(b.addresses)
		b.forgot = true
	}
	if b.old != nil || b.forgot { // it may stand there already
		err := b.tx.QueryRowContext(ctx, `SELECT address_id FROM addresses WHERE address = ?`, address).Scan(&id)
		if err == nil {
			b.addresses[address] = id
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
	}
	b.lastAddress++
	b.addresses[address] = b.lastAddress
	return b.lastAddress, b.exec(ctx, `INSERT INTO addresses VALUES (?,?)`, b.lastAddress, address)
}

// indexText adds the rows from first on to a mailbox's full-text table.
func (b *Builder) indexText(ctx context.Context, owner, first int64) error {
	_, err := b.tx.ExecContext(ctx, `INSERT INTO `+ftsTable(owner)+` (rowid, subject, body) SELECT row, subject, body FROM mails WHERE row >= ? ORDER BY row`, first) //nolint:gosec // a table's name, made of a number
	return err
}

// optimize makes one sorted list of all that a full-text table holds.
func (b *Builder) optimize(ctx context.Context, owner int64) error {
	fts := ftsTable(owner)
	_, err := b.tx.ExecContext(ctx, `INSERT INTO `+fts+` (`+fts+`) VALUES ('optimize')`) //nolint:gosec // as above
	return err
}

func (b *Builder) exec(ctx context.Context, query string, args ...any) error {
	b.changed = true
	stmt, ok := b.stmts[query]
	if !ok {
		var err error
		if stmt, err = b.tx.PrepareContext(ctx, query); err != nil {
			return err
		}
		b.stmts[query] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}

// Commit finishes the file and gives it its name. A database to which Extend
// added nothing stays as it is.
func (b *Builder) Commit(ctx context.Context) error {
	if err := b.commit(ctx); err != nil {
		return fmt.Errorf("write inbox index %s: %w", b.path, err)
	}
	return nil
}

func (b *Builder) commit(ctx context.Context) error {
	defer b.Abort()
	if b.old != nil && !b.changed {
		return nil
	}
	if err := b.tx.Commit(); err != nil {
		return err
	}
	b.tx = nil
	if b.old == nil {
		// With samples SQLite would plan a query anew for every value that is bound.
		if _, err := b.db.ExecContext(ctx, `ANALYZE; DROP TABLE IF EXISTS sqlite_stat4`); err != nil {
			return err
		}
	}
	err := b.db.Close()
	b.db = nil
	if err != nil {
		return err
	}
	if err := errors.Join(b.unchanged(), seal(b.lock), b.lock.Sync()); err != nil {
		return err
	}
	if err := os.Rename(b.tmp, b.path); err != nil {
		return err
	}
	_ = b.lock.Close() // synced above
	b.tmp, b.lock = "", nil
	return atomicfile.SyncDir(filepath.Dir(b.path))
}

// Abort drops what was not committed. It may be called after Commit.
func (b *Builder) Abort() {
	if b.tx != nil {
		_ = b.tx.Rollback() // the file is removed below: its state does not matter
		b.tx = nil
	}
	if b.db != nil {
		_ = b.db.Close()
		b.db = nil
	}
	if b.tmp != "" {
		_ = b.lock.Close()
		_ = os.Remove(b.tmp)
		b.tmp, b.lock = "", nil
	}
	if b.old != nil {
		_ = b.old.Close()
		b.old = nil
	}
}
