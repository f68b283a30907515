package mailstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// Weights and parameters of BM25, as in the SQL form bm25(fts, 2.0, 1.0).
const (
	subjectWeight = 2.0
	k1, lengthB   = 1.2, 0.75
	leastIDF      = 1e-6 // of a phrase that half of the mails have, or more
)

// A phrase is the tokens of one keyword.
type phrase []string

// phrases cuts keywords into tokens as FTS5 does; ok is false where that takes
// its own tables: beyond ASCII, and for stems.
func (s *Store) phrases(keywords []string) (list []phrase, ok bool) {
	for _, k := range keywords {
		if s.stem || !isASCII(k) {
			return nil, false
		}
		var p phrase
		for _, t := range tokens(k) {
			p = append(p, strings.ToLower(k[t:t.end(k)]))
		}
		list = append(list, p)
	}
	return list, true
}

// answer finds the rows of the hits in order, their total, and the postings of
// each phrase.
func (s *Store) answer(ctx context.Context, b *box, q search, list []phrase, most int) (found []int64, total int, places []*postings, err error) {
	x, err := s.index(ctx, b)
	if err != nil {
		return nil, 0, nil, err
	}
	for _, p := range list {
		has, err := s.phrasePostings(ctx, x, p, q.desk)
		if err != nil {
			return nil, 0, nil, err
		}
		places = append(places, has)
	}
	if q.Mode == All {
		found, total, err = s.newest(ctx, q, common(places), most)
		return found, total, places, err
	}
	if err := s.loadNorms(ctx, b, x, q.added); err != nil {
		return nil, 0, nil, err
	}
	found, total = best(b, x, q, places, most)
	return found, total, places, nil
}

// phrasePostings is where a phrase begins.
func (s *Store) phrasePostings(ctx context.Context, x *ftsIndex, p phrase, d *desk) (*postings, error) {
	lists := make([]*postings, 0, len(p))
	for _, token := range p {
		has, err := s.postings(ctx, x, token, d)
		if err != nil {
			return nil, err
		}
		lists = append(lists, has)
	}
	if len(lists) == 1 {
		return lists[0], nil
	}
	return inSequence(lists, d.take()), nil
}

// inSequence keeps in out the places where tokens stand one behind the other.
func inSequence(lists []*postings, out *postings) *postings {
	at := make([]int, len(lists))
	var starts, next []place
	for _, row := range common(lists) {
		for i, l := range lists {
			n, _ := gallop(l.rows[at[i]:], row)
			at[i] += n
		}
		starts = unpack(starts[:0], lists[0].places(at[0]))
		for i := 1; i < len(lists) && len(starts) > 0; i++ {
			next = unpack(next[:0], lists[i].places(at[i]))
			starts = followed(starts, next, i)
		}
		if len(starts) > 0 {
			begin := len(out.raw)
			out.raw = pack(out.raw, starts)
			out.add(row, begin)
		}
	}
	return out
}

// followed keeps of starts those that have one of next so many tokens later.
func followed(starts, next []place, later int) []place {
	kept, j := starts[:0], 0
	for _, p := range starts {
		want := place{p.column, p.token + later}
		for j < len(next) && next[j].before(want) {
			j++
		}
		if j < len(next) && next[j] == want {
			kept = append(kept, p)
		}
	}
	return kept
}

// common are the rows that stand in all lists, ascending.
func common(lists []*postings) []int64 {
	shortest := slices.MinFunc(lists, func(a, b *postings) int { return len(a.rows) - len(b.rows) })
	out := slices.Clone(shortest.rows)
	for _, l := range lists {
		if l == shortest {
			continue
		}
		kept, at := out[:0], 0
		for _, row := range out {
			n, ok := gallop(l.rows[at:], row)
			if at += n; ok {
				kept = append(kept, row)
			}
		}
		out = kept
	}
	return out
}

// gallop is slices.BinarySearch for a row that stands near the front.
func gallop(rows []int64, row int64) (int, bool) {
	n := 0
	for step := 1; n < len(rows) && rows[n] < row; step *= 2 {
		n += step
	}
	from := max(0, n/2-1)
	i, ok := slices.BinarySearch(rows[from:min(n+1, len(rows))], row)
	return from + i, ok
}

// newest are the first most of rows in the span, newest first, and their total.
func (s *Store) newest(ctx context.Context, q search, rows []int64, most int) (found []int64, total int, err error) {
	var built, added []int64
	for _, row := range slices.Backward(rows) {
		if !q.has(row) || q.keep != nil && !q.keep(row) {
			continue
		}
		total++
		if row > q.built {
			added = append(added, row)
		} else if len(built) < most {
			built = append(built, row)
		}
	}
	found, err = s.merge(ctx, q, built, added, most)
	return found, total, err
}

// A scratch is the memory of one ranking: a score a place, and the places that
// have one.
type scratch struct {
	scores  []float64
	touched []int32
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// best are the most rows of the span with the highest BM25, the oldest first
// among equals, and how many rows match. It adds up in FTS5's order, so that the
// scores are equal to the last bit.
func best(b *box, x *ftsIndex, q search, places []*postings, most int) (found []int64, total int) {
	work := scratches.Get().(*scratch) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer scratches.Put(work)
	if len(work.scores) < int(b.mails) {
		work.scores = make([]float64, b.mails)
	}
	built := int(b.last - b.first + 1)
	for _, p := range places {
		idf := math.Log((float64(x.rows) - float64(len(p.rows)) + 0.5) / (float64(len(p.rows)) + 0.5))
		if idf <= 0 {
			idf = leastIDF
		}
		for i, row := range p.rows {
			at := int(row - b.first)
			if at >= built {
				n, _ := q.added.find(row)
				at = built + n
			}
			f := frequency(p.places(i))
			if work.scores[at] == 0 {
				work.touched = append(work.touched, int32(at))
			}
			work.scores[at] += float64(idf * (float64(f*(k1+1.0)) / (f + x.norms[at])))
		}
	}
	top := ranking{most: most}
	for _, at := range work.touched {
		row := b.first + int64(at)
		if int(at) >= built {
			row = q.added.rows[int(at)-built]
		}
		if q.has(row) && (q.keep == nil || q.keep(row)) {
			total++
			top.add(scored{row, work.scores[at]})
		}
		work.scores[at] = 0
	}
	work.touched = work.touched[:0]
	return top.rows(), total
}

// frequency counts places, those in the subject twice.
func frequency(places []byte) float64 {
	n, subject, column := 0, 0, int64(0)
	v := varints{b: places}
	for len(v.b) > 0 {
		if v.next() == nextColumn {
			column = v.next()
			continue
		}
		if n++; column == 0 {
			subject++
		}
	}
	return float64(n) + (subjectWeight-1)*float64(subject)
}

type scored struct {
	row   int64
	score float64
}

func byScore(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
}

// A ranking keeps the best.
type ranking struct {
	most int
	list []scored
}

func (r *ranking) add(s scored) {
	r.list = append(r.list, s)
	if len(r.list) >= 2*r.most+64 {
		r.cut()
	}
}

func (r *ranking) cut() {
	slices.SortFunc(r.list, byScore)
	r.list = r.list[:min(r.most, len(r.list))]
}

func (r *ranking) rows() []int64 {
	r.cut()
	var rows []int64
	for _, s := range r.list {
		rows = append(rows, s.row)
	}
	return rows
}

// loadNorms computes what the length of each mail contributes to its scores.
func (s *Store) loadNorms(ctx context.Context, b *box, x *ftsIndex, added *late) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.norms != nil {
		return nil
	}
	rows, err := s.db.QueryContext(ctx, `SELECT id, sz FROM `+x.table+`_docsize`) //nolint:gosec // a table's name, made of a number
	if err != nil {
		return err
	}
	norms := make([]float64, b.mails)
	average := float64(x.tokens) / float64(x.rows)
	built := b.last - b.first + 1
	err = each(rows, func() error {
		var row int64
		var sizes []byte
		if err := rows.Scan(&row, &sizes); err != nil {
			return err
		}
		at := row - b.first
		if at >= built {
			n, _ := added.find(row)
			at = built + int64(n)
		}
		if at < 0 || at >= b.mails {
			return errLayout
		}
		v := varints{b: sizes}
		length := float64(v.next() + v.next())
		norms[at] = k1 * (1 - lengthB + float64(float64(lengthB*length)/average))
		return nil
	})
	if err != nil {
		return fmt.Errorf("read lengths of mails in %s: %w", s.path, err)
	}
	x.norms = norms
	return nil
}

// A place is where a token stands.
type place struct{ column, token int }

func (p place) before(q place) bool {
	return p.column < q.column || p.column == q.column && p.token < q.token
}

// How FTS5 packs places: the distance from the one before plus two, and before
// those of another column a one and its number.
const (
	nextColumn = 1
	distance2  = 2
)

func unpack(to []place, packed []byte) []place {
	v := varints{b: packed}
	var p place
	for len(v.b) > 0 {
		n := v.next()
		if n == nextColumn {
			p = place{column: int(v.next())}
			continue
		}
		p.token += int(n) - distance2
		to = append(to, p)
	}
	return to
}

func pack(to []byte, places []place) []byte {
	var last place
	for _, p := range places {
		if p.column != last.column {
			to = append(to, nextColumn, byte(p.column))
			last = place{column: p.column}
		}
		to = appendVarint(to, uint64(p.token-last.token+distance2))
		last = p
	}
	return to
}

// appendVarint writes a number below 1<<56 so that varints.next reads it.
func appendVarint(to []byte, x uint64) []byte {
	var buf [binary.MaxVarintLen64]byte
	i := len(buf) - 1
	buf[i] = byte(x & 0x7f)
	for x >>= 7; x > 0; x >>= 7 {
		i--
		buf[i] = byte(x&0x7f) | 0x80
	}
	return append(to, buf[i:]...)
}
