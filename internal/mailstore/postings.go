package mailstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The search reads the full-text index as FTS5 has written it, page by page,
// rather than through SQL: FTS5 would look up the length of every mail that has
// any of the words, and the words again for every snippet. The format is that of
// FTS5's version 4 (the head of fts5_index.c describes it); what is found is
// what FTS5 finds, and tests hold one against the other.

// Rows of the table fts_N_data that are no pages of terms.
const (
	averagesID  = 1
	structureID = 10
	pageBits    = 37 // a page's id is its segment's id, shifted by so many bits, plus its number
)

// errLayout is told of an index that is not as this program writes it.
var errLayout = errors.New("the full-text index has a layout that this program does not know: run ingest again")

// An ftsIndex is what is the same for all searches of a mailbox.
type ftsIndex struct {
	table    string
	segments []segment
	rows     int64     // mails
	tokens   int64     // in all of them
	norms    []float64 // what the length of each mail adds to scores, by place; loaded for the first ranking
}

type segment struct{ id, first, last int64 }

// index returns the state of b's full-text index.
func (s *Store) index(ctx context.Context, b *box) (*ftsIndex, error) {
	s.mu.Lock()
	x := s.indexes[b.id]
	s.mu.Unlock()
	if x != nil {
		return x, nil
	}
	x = &ftsIndex{table: ftsTable(b.id)}
	if err := s.loadIndex(ctx, x); err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", x.table, s.path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes[b.id] = x
	return x, nil
}

func (s *Store) loadIndex(ctx context.Context, x *ftsIndex) error {
	averages, err := s.block(ctx, x, averagesID)
	if err != nil {
		return err
	}
	v := varints{b: averages}
	x.rows = v.next()
	for len(v.b) > 0 && !v.bad {
		x.tokens += v.next()
	}
	structure, err := s.block(ctx, x, structureID)
	if err != nil {
		return err
	}
	if len(structure) < 4 {
		return errLayout
	}
	w := varints{b: structure[4:]} // behind a counter of changes
	levels, _, _ := w.next(), w.next(), w.next()
	for range levels {
		w.next() // segments that are being merged
		for n := w.next(); n > 0 && !w.bad; n-- {
			x.segments = append(x.segments, segment{w.next(), w.next(), w.next()})
		}
	}
	if v.bad || w.bad || len(w.b) > 0 {
		return errLayout
	}
	return nil
}

// block reads one row of the index's data; nothing if there is none.
func (s *Store) block(ctx context.Context, x *ftsIndex, id int64) ([]byte, error) {
	stmt, err := s.prepare(ctx, `SELECT coalesce((SELECT block FROM `+x.table+`_data WHERE id = ?), x'')`)
	if err != nil {
		return nil, err
	}
	var data []byte
	return data, stmt.QueryRowContext(ctx, id).Scan(&data)
}

// A varints reads SQLite's numbers of variable length: seven bits a byte, the
// highest first.
type varints struct {
	b   []byte
	bad bool // there were too few bytes
}

func (v *varints) next() int64 {
	var x uint64
	for i, c := range v.b {
		if i == 8 { // the ninth byte counts whole
			v.b = v.b[9:]
			return int64(x<<8 | uint64(c))
		}
		x = x<<7 | uint64(c&0x7f)
		if c < 0x80 {
			v.b = v.b[i+1:]
			return int64(x)
		}
	}
	v.b, v.bad = nil, true
	return 0
}

// A postings is the mails that have a token, ascending, and where in them.
type postings struct {
	rows []int64
	ends []int // of each mail's places in raw
	raw  []byte
}

// places are where mail i has the token, as FTS5 packs them.
func (p *postings) places(i int) []byte {
	if i == 0 {
		return p.raw[:p.ends[0]]
	}
	return p.raw[p.ends[i-1]:p.ends[i]]
}

// postings reads what the index has of a token.
func (s *Store) postings(ctx context.Context, x *ftsIndex, token string) (*postings, error) {
	p := &postings{}
	for _, seg := range x.segments {
		if err := s.readSegment(ctx, x, seg, token, p); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", x.table, s.path, err)
		}
	}
	if len(x.segments) > 1 {
		p.sort()
	}
	return p, nil
}

// sort puts the mails of several segments in order; each mail is in one.
func (p *postings) sort() {
	order := make([]int, len(p.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(p.rows[a] - p.rows[b]) })
	sorted := &postings{}
	for _, i := range order {
		sorted.rows = append(sorted.rows, p.rows[i])
		sorted.raw = append(sorted.raw, p.places(i)...)
		sorted.ends = append(sorted.ends, len(sorted.raw))
	}
	*p = *sorted
}

func (s *Store) readSegment(ctx context.Context, x *ftsIndex, seg segment, token string, to *postings) error {
	key := append([]byte{'0'}, token...) // '0' is the index of whole tokens
	start, err := s.rowsOf(ctx, `SELECT pgno >> 1 FROM `+x.table+`_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1`, seg.id, key)
	if err != nil {
		return err
	}
	page := seg.first
	if len(start) > 0 {
		page = max(page, start[0])
	}
	stmt, err := s.prepare(ctx, `SELECT block FROM `+x.table+`_data WHERE id BETWEEN ? AND ? ORDER BY id`)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, seg.id<<pageBits+page, seg.id<<pageBits+seg.last) //nolint:sqlclosecheck // each closes them
	if err != nil {
		return err
	}
	r := reader{key: key, to: to}
	err = each(rows, func() error {
		var block []byte
		if err := rows.Scan(&block); err != nil {
			return err
		}
		return r.page(block)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// A reader finds the doclist of one term in the pages of a segment.
type reader struct {
	key   []byte
	to    *postings
	found bool
	left  int // bytes of the last mail's places that are on the next page
	row   int64
}

// page reads a page: two bytes that tell where its first row number stands, two
// that tell where its footer begins, data, and the footer, which tells where its
// terms begin. It returns errEnough where the doclist ends.
func (r *reader) page(block []byte) error {
	if len(block) < 4 {
		return errLayout
	}
	firstRow, end := int(binary.BigEndian.Uint16(block)), int(binary.BigEndian.Uint16(block[2:]))
	if end < 4 || end > len(block) {
		return errLayout
	}
	starts, err := termStarts(block[end:], end)
	if err != nil {
		return err
	}
	first := end
	if len(starts) > 0 {
		first = starts[0]
	}
	if r.found { // it goes on from the page before
		return r.until(r.doclist(block[:first], 4, firstRow), first < end)
	}
	return r.seek(block[:end], starts)
}

// until ends the reading if another term follows.
func (r *reader) until(err error, ended bool) error {
	if err == nil && ended {
		return errEnough
	}
	return err
}

// termStarts reads the footer.
func termStarts(footer []byte, end int) (starts []int, err error) {
	v := varints{b: footer}
	at := 0
	for len(v.b) > 0 {
		step := v.next()
		if at += int(step); v.bad || step < 1 || at < 4 || at > end {
			return nil, errLayout
		}
		starts = append(starts, at)
	}
	return starts, nil
}

// seek looks for the term among those of a page, and reads what it has there.
func (r *reader) seek(data []byte, starts []int) error {
	var term []byte
	for i, at := range starts {
		next := len(data)
		if i+1 < len(starts) {
			next = starts[i+1]
		}
		v := varints{b: data[at:next]}
		kept := int64(0)
		if i > 0 {
			kept = v.next()
		}
		size := v.next()
		if v.bad || kept < 0 || size < 0 || kept > int64(len(term)) || size > int64(len(v.b)) {
			return errLayout
		}
		term = append(term[:kept], v.b[:size]...)
		switch c := slices.Compare(term, r.key); {
		case c > 0:
			return errEnough
		case c == 0:
			r.found = true
			begin := next - len(v.b) + int(size)
			return r.until(r.doclist(data[:next], begin, begin), next < len(data))
		}
	}
	return nil // it may begin on the next page
}

// doclist reads rows and places from data[at:]. The row number at firstRow is
// written whole, others as the distance from the one before.
func (r *reader) doclist(data []byte, at, firstRow int) error {
	if r.left > 0 {
		n := min(r.left, len(data)-at)
		r.to.raw = append(r.to.raw, data[at:at+n]...)
		r.left -= n
		at += n
		if r.left > 0 {
			return nil
		}
		r.to.ends[len(r.to.ends)-1] = len(r.to.raw)
	}
	for at < len(data) {
		v := varints{b: data[at:]}
		if delta := v.next(); at == firstRow {
			r.row = delta
		} else {
			r.row += delta
		}
		size := v.next()
		if v.bad || size < 0 || size&1 != 0 { // an odd size marks a row that was deleted
			return errLayout
		}
		n := min(int(size>>1), len(v.b))
		r.to.rows = append(r.to.rows, r.row)
		r.to.raw = append(r.to.raw, v.b[:n]...)
		r.to.ends = append(r.to.ends, len(r.to.raw))
		r.left = int(size>>1) - n
		at = len(data) - len(v.b) + n
	}
	return nil
}
