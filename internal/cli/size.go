package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are the multiples that a size may be given in, the longer names first.
var units = []struct {
	name  string
	bytes float64
}{
	{"KIB", 1 << 10},
	{"MIB", 1 << 20},
	{"GIB", 1 << 30},
	{"TIB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"K", 1e3},
	{"M", 1e6},
	{"G", 1e9},
	{"T", 1e12},
	{"B", 1},
}

// ParseSize reads a number of bytes such as 500MB, 1.5GiB or 8G.
func ParseSize(s string) (int64, error) {
	number, times := strings.ToUpper(strings.TrimSpace(s)), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, times = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !(x > 0) || x*times > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q: want a size such as 500MB or 8GB", s)
	}
	return int64(x * times), nil
}
