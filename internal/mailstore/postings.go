package mailstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
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
	if len(v.b) > 0 && v.b[0] < 0x80 {
		x := v.b[0]
		v.b = v.b[1:]
		return int64(x)
	}
	return v.long()
}

// long reads a number of more than one byte.
func (v *varints) long() int64 {
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
	rows  []int64
	spans []extent // of each mail's places in raw
	raw   []byte   // doclists as the index has them
}

type extent struct{ start, end int32 }

// places are where mail i has the token, as FTS5 packs them.
func (p *postings) places(i int) []byte { return p.raw[p.spans[i].start:p.spans[i].end] }

// add notes a mail whose places end raw.
func (p *postings) add(row int64, start int) {
	p.rows = append(p.rows, row)
	p.spans = append(p.spans, extent{int32(start), int32(len(p.raw))})
}

// A desk is the postings that one search reads. Their memory serves the next
// search: a common word's would keep the collector busy.
type desk struct{ lent []*postings }

var idlePostings = sync.Pool{New: func() any { return &postings{} }}

func (d *desk) take() *postings {
	p := idlePostings.Get().(*postings) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	p.rows, p.spans, p.raw = p.rows[:0], p.spans[:0], p.raw[:0]
	d.lent = append(d.lent, p)
	return p
}

func (d *desk) clear() {
	for _, p := range d.lent {
		idlePostings.Put(p)
	}
	d.lent = nil
}

// postings reads what the index has of a token.
func (s *Store) postings(ctx context.Context, x *ftsIndex, token string, d *desk) (*postings, error) {
	p := d.take()
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
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.rows[a], p.rows[b]) })
	rows, spans := slices.Clone(p.rows), slices.Clone(p.spans)
	for to, from := range order {
		p.rows[to], p.spans[to] = rows[from], spans[from]
	}
}

func (s *Store) readSegment(ctx context.Context, x *ftsIndex, seg segment, token string, to *postings) error {
	stmt, err := s.prepare(ctx, `SELECT block FROM `+x.table+`_data
		WHERE id BETWEEN ?1 + coalesce((SELECT pgno >> 1 FROM `+x.table+`_idx WHERE segid = ?2 AND term <= ?3 ORDER BY term DESC LIMIT 1), 0) AND ?4 ORDER BY id`)
	if err != nil {
		return err
	}
	key := append([]byte{'0'}, token...) // '0' is the index of whole tokens
	base := seg.id << pageBits
	rows, err := stmt.QueryContext(ctx, base, seg.id, key, base+seg.last) //nolint:sqlclosecheck // each closes them
	if err != nil {
		return err
	}
	r := reader{key: key, doc: to.raw, start: len(to.raw)}
	var block sql.RawBytes
	err = each(rows, func() error {
		if err := rows.Scan(&block); err != nil {
			return err
		}
		return r.page(block)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return r.decode(to)
}

// A reader finds the doclist of one term in the pages of a segment.
type reader struct {
	key   []byte
	found bool
	doc   []byte // the doclist, from start on, as it stands on its pages
	start int
	whole []int // where in doc a row number stands that counts from 0
}

// page reads a page: two bytes that tell where its first row number stands, two
// that tell where its footer begins, data, and the footer, which tells where its
// terms begin. It returns errEnough where the doclist ends.
func (r *reader) page(block []byte) error {
	if len(block) < pageHead {
		return errLayout
	}
	firstRow, end := int(binary.BigEndian.Uint16(block)), int(binary.BigEndian.Uint16(block[2:]))
	if end < pageHead || end > len(block) {
		return errLayout
	}
	if !r.found {
		starts, err := termStarts(block[end:], end)
		if err != nil {
			return err
		}
		return r.seek(block[:end], starts)
	}
	first, err := firstTerm(block[end:], end)
	if err != nil {
		return err
	}
	if firstRow > 0 && firstRow < first { // it goes on from the page before
		r.mark(len(r.doc) + firstRow - pageHead)
	}
	return r.take(block[pageHead:first], first < end)
}

// mark notes a row number that counts from 0. The first of a term that ends a
// page is the first of the next page as well.
func (r *reader) mark(at int) {
	if n := len(r.whole); n == 0 || r.whole[n-1] != at {
		r.whole = append(r.whole, at)
	}
}

// pageHead is the bytes before a page's data.
const pageHead = 4

// take keeps a part of the doclist, which ends there if another term follows.
func (r *reader) take(part []byte, ended bool) error {
	r.doc = append(r.doc, part...)
	if ended {
		return errEnough
	}
	return nil
}

// firstTerm is where the first term of a page begins, its end without any.
func firstTerm(footer []byte, end int) (int, error) {
	if len(footer) == 0 {
		return end, nil
	}
	v := varints{b: footer}
	at := v.next()
	if v.bad || at < pageHead || at > int64(end) {
		return 0, errLayout
	}
	return int(at), nil
}

// termStarts reads the footer.
func termStarts(footer []byte, end int) (starts []int, err error) {
	v := varints{b: footer}
	at := 0
	for len(v.b) > 0 {
		step := v.next()
		if at += int(step); v.bad || step < 1 || at < pageHead || at > end {
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
			r.mark(len(r.doc))
			return r.take(v.b[size:], next < len(data))
		}
	}
	return nil // it may begin on the next page
}

// decode reads the rows and places of the doclist: a row number, which counts
// from the one before where it is not whole, the size of its places, doubled,
// and these.
func (r *reader) decode(to *postings) error {
	to.raw = r.doc
	if len(r.doc) > math.MaxInt32 {
		return errLayout
	}
	var row int64
	for at := r.start; at < len(r.doc); {
		if len(r.whole) > 0 && at >= r.whole[0] {
			if at > r.whole[0] {
				return errLayout
			}
			row, r.whole = 0, r.whole[1:]
		}
		var delta, size int64
		if at+1 < len(r.doc) && r.doc[at]|r.doc[at+1] < 0x80 {
			delta, size = int64(r.doc[at]), int64(r.doc[at+1])
			at += 2
		} else {
			v := varints{b: r.doc[at:]}
			if delta, size = v.next(), v.next(); v.bad {
				return errLayout
			}
			at = len(r.doc) - len(v.b)
		}
		if size < 0 || size&1 != 0 || size>>1 > int64(len(r.doc)-at) { // an odd size marks a row that was deleted
			return errLayout
		}
		row += delta
		end := at + int(size>>1)
		to.rows = append(to.rows, row)
		to.spans = append(to.spans, extent{int32(at), int32(end)})
		at = end
	}
	return nil
}
