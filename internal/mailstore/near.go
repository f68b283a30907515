package mailstore

import (
	"cmp"
	"slices"
	"strings"
)

// Near returns at most n owners that have a name most like address, likeliest
// first.
func (s *Store) Near(address string, n int) []string {
	type scored struct {
		owner string
		far   int
	}
	all := make([]scored, 0, len(s.boxes))
	for _, box := range s.Owners() {
		x := scored{owner: box.Owner, far: distance(address, box.Owner)}
		for _, other := range append(box.Aliases, box.Name) {
			x.far = min(x.far, distance(address, other))
		}
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, x := range all[:min(len(all), n)] {
		names = append(names, x.owner)
	}
	return names
}

// distance is how many runes must be put in, left out or replaced to make b of a.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			replace := diagonal
			if x[i] != y[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
