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
	addresses []string  // each once
	from, to  [][]int32 // by place: indexes into addresses
	first     int64
	built     int // rows from first on; those added have the places after them
	added     *late
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
		at := r.place(row)
		return anyOf(r.from[at], isFrom) && anyOf(r.to[at], isTo)
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

// place is where a row of the mailbox stands in from and to.
func (r *roster) place(row int64) int {
	if at := int(row - r.first); at < r.built {
		return at
	}
	at, _ := r.added.find(row)
	return r.built + at
}

func (s *Store) roster(ctx context.Context, b *box) (*roster, error) {
	added, err := s.late(ctx, b)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rosters[b.id]; r != nil {
		return r, nil
	}
	r := &roster{first: b.first, built: int(b.last - b.first + 1), added: added, from: make([][]int32, b.mails), to: make([][]int32, b.mails)}
	rows, err := s.db.QueryContext(ctx, `SELECT row, kind, address_id, address FROM parties JOIN addresses USING (address_id)
		WHERE row BETWEEN ?1 AND ?2 OR row IN (SELECT row FROM mails WHERE owner_id = ?3 AND appended = 1) ORDER BY row`, b.first, b.last, b.id)
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
		at := r.place(row)
		list[at] = append(list[at], id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.rosters[b.id] = r
	return r, nil
}
