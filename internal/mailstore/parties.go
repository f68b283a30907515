package mailstore

import (
	"context"
	"fmt"
	"strings"
)

// A roster is who wrote and got the mails of one mailbox: what a search by
// address looks at. It is loaded when first asked for; tables parties and
// addresses hold it.
type roster struct {
	addresses []string // each once
	from, to  [][]int32
	first     int64 // row of from[0] and to[0]
}

// partyFilter returns a test of a row for the addresses that q names, nil if it
// names none.
func (s *Store) partyFilter(ctx context.Context, b *box, q Query) (func(row int64) bool, error) {
	from, to := fold(q.From), fold(q.To)
	if from == "" && to == "" {
		return nil, nil
	}
	r, err := s.roster(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("load addresses of %s in %s: %w", b.Owner, s.path, err)
	}
	isFrom, isTo := r.holding(from), r.holding(to)
	return func(row int64) bool {
		return anyOf(r.from[row-r.first], isFrom) && anyOf(r.to[row-r.first], isTo)
	}, nil
}

// holding marks the addresses that part is a part of; nil if there is no part.
func (r *roster) holding(part string) []bool {
	if part == "" {
		return nil
	}
	marks := make([]bool, len(r.addresses))
	for i, address := range r.addresses {
		marks[i] = strings.Contains(address, part)
	}
	return marks
}

// anyOf reports whether one of ids is marked, or nothing is asked for.
func anyOf(ids []int32, marks []bool) bool {
	if marks == nil {
		return true
	}
	for _, id := range ids {
		if marks[id] {
			return true
		}
	}
	return false
}

func (s *Store) roster(ctx context.Context, b *box) (*roster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rosters[b.id]; r != nil {
		return r, nil
	}
	n := b.last - b.first + 1
	r := &roster{from: make([][]int32, n), to: make([][]int32, n), first: b.first}
	rows, err := s.db.QueryContext(ctx, `SELECT row, kind, address_id, address FROM parties JOIN addresses USING (address_id) WHERE row BETWEEN ? AND ? ORDER BY row`, b.first, b.last)
	if err != nil {
		return nil, err
	}
	ids := map[int64]int32{}
	err = each(rows, func() error {
		var row, addressID int64
		var kind, address string
		if err := rows.Scan(&row, &kind, &addressID, &address); err != nil {
			return err
		}
		id, known := ids[addressID]
		if !known {
			id = int32(len(r.addresses))
			ids[addressID] = id
			r.addresses = append(r.addresses, address)
		}
		list := r.to
		if kind == "from" {
			list = r.from
		}
		list[row-b.first] = append(list[row-b.first], id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.rosters[b.id] = r
	return r, nil
}
