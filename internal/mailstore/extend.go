package mailstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"agentmill/internal/atomicfile"
	"agentmill/internal/mail"
)

// Extend begins the adding of mails to the database at path. It works on a copy
// that takes the old one's place on Commit: readers go on undisturbed, and
// whatever ends the process, the file under the name is one of the two. Rows
// that exist keep their numbers, new ones get higher ones: S5. One process at a
// time may extend a database.
func Extend(ctx context.Context, path string) (*Builder, error) {
	b := newBuilder(path)
	if err := b.beginOn(ctx); err != nil {
		b.Abort()
		return nil, fmt.Errorf("add to inbox index %s: %w", path, cause(err))
	}
	return b, nil
}

func (b *Builder) beginOn(ctx context.Context) (err error) {
	if b.old, err = os.Open(b.path); err != nil {
		return err
	}
	if atomicfile.TryLock(b.old) == atomicfile.Taken {
		return errors.New("another process is adding to it")
	}
	if err := errors.Join(verify(b.old), b.unchanged()); err != nil {
		return err
	}
	if err := b.open(ctx, func(f *os.File) error { return copyFile(f, b.old) }); err != nil {
		return err
	}
	return b.readState(ctx)
}

func copyFile(to, from *os.File) error {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(to, from) // the kernel shares blocks where the file system can
	return err
}

// unchanged reports whether the file that Extend copied still has its name.
func (b *Builder) unchanged() error {
	if b.old == nil {
		return nil
	}
	mine, err := b.old.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(b.path); err != nil || !os.SameFile(mine, now) {
		return errors.New("another process has replaced it meanwhile: run the same command again")
	}
	return nil
}

// readState learns what the database holds.
func (b *Builder) readState(ctx context.Context) error {
	var schema string
	err := b.tx.QueryRowContext(ctx, `SELECT (SELECT value FROM meta WHERE key = 'schema'), (SELECT value = 'true' FROM meta WHERE key = 'stem'),
		(SELECT coalesce(max(row), 0) FROM mails), (SELECT coalesce(max(owner_id), 0) FROM owners), (SELECT coalesce(max(address_id), 0) FROM addresses)`).
		Scan(&schema, &b.stem, &b.rows, &b.owners, &b.lastAddress)
	if err != nil {
		return fmt.Errorf("read its state: %w", err)
	}
	if err := checkVersion(schema); err != nil {
		return err
	}
	rows, err := b.tx.QueryContext(ctx, `SELECT alias, owner, owner_id FROM aliases JOIN owners USING (owner_id)`) //nolint:sqlclosecheck // each closes them
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var alias, owner string
		var id int64
		err := rows.Scan(&alias, &owner, &id)
		b.aliases[alias], b.known[owner] = owner, id
		return err
	})
}

// extend finishes the adding of the rows from first on to a mailbox.
func (b *Builder) extend(ctx context.Context, owner int64, box Mailbox, first int64) error {
	if err := b.insertAliases(ctx, owner, box); err != nil || b.rows < first {
		return err
	}
	if err := b.indexText(ctx, owner, first); err != nil {
		return err
	}
	dates, err := b.believable(ctx, owner)
	if err != nil {
		return err
	}
	return b.exec(ctx, `UPDATE owners SET mails = mails + ?, newest = ? WHERE owner_id = ?`, b.rows-first+1, newest(dates), owner)
}

// believable is the function of that name for all mails of a mailbox.
func (b *Builder) believable(ctx context.Context, owner int64) (dates []time.Time, err error) {
	rows, err := b.tx.QueryContext(ctx, `SELECT date, more FROM mails WHERE owner_id = ? AND date IS NOT NULL`, owner) //nolint:sqlclosecheck // each closes them
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var second int64
		var more []byte
		if err := rows.Scan(&second, &more); err != nil {
			return err
		}
		var x rest
		if err := json.Unmarshal(more, &x); err != nil {
			return err
		}
		if !slices.Contains(x.Warnings, mail.WarnDateRange) {
			dates = append(dates, time.Unix(second, 0))
		}
		return nil
	})
	slices.SortFunc(dates, time.Time.Compare)
	return dates, err
}

// AddCopies adds to a mail what other files hold the same message. Copies that
// it has already are left out. It returns how many were new.
func (b *Builder) AddCopies(ctx context.Context, row int64, copies []mail.Copy) (added int, err error) {
	var more []byte
	var own mail.Copy
	err = b.tx.QueryRowContext(ctx, `SELECT message_id, folder, source, more FROM mails WHERE row = ?`, row).Scan(&own.MessageID, &own.Folder, &own.Source, &more)
	if err != nil {
		return 0, fmt.Errorf("add copies to row %d: %w", row, err)
	}
	var x rest
	if err := json.Unmarshal(more, &x); err != nil {
		return 0, fmt.Errorf("row %d: column more: %w", row, err)
	}
	for _, c := range copies {
		if c == own || slices.Contains(x.Copies, c) {
			continue
		}
		added++
		x.Copies = append(x.Copies, c)
		if err := b.exec(ctx, insertID, bareID(c.MessageID), row, 1); err != nil {
			return 0, err
		}
	}
	if added == 0 {
		return 0, nil
	}
	if more, err = json.Marshal(x); err != nil {
		return 0, err
	}
	return added, b.exec(ctx, `UPDATE mails SET more = ? WHERE row = ?`, more, row)
}

// undated stands for the date of a mail that has none: before all others.
const undated = math.MinInt64

// late are the rows of a mailbox that were added after it was built, with their
// dates: ascending rows.
type late struct{ rows, dates []int64 }

// find returns the place of a row.
func (l *late) find(row int64) (int, bool) { return slices.BinarySearch(l.rows, row) }

// late loads what was added to a mailbox, once.
func (s *Store) late(ctx context.Context, b *box) (*late, error) {
	if b.mails == b.last-b.first+1 {
		return &late{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.added[b.id]; l != nil {
		return l, nil
	}
	l := &late{}
	rows, err := s.db.QueryContext(ctx, `SELECT row, coalesce(date, ?) FROM mails WHERE owner_id = ? AND appended = 1 ORDER BY row`, int64(undated), b.id)
	if err != nil {
		return nil, fmt.Errorf("load rows of %s in %s: %w", b.Owner, s.path, err)
	}
	err = each(rows, func() error {
		var row, date int64
		err := rows.Scan(&row, &date)
		l.rows, l.dates = append(l.rows, row), append(l.dates, date)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load rows of %s in %s: %w", b.Owner, s.path, err)
	}
	s.added[b.id] = l
	return l, nil
}

// cause strips what an error of the file system says about names: the caller
// names the file.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) && !strings.Contains(p.Path, ".tmp") {
		return p.Err
	}
	return err
}
