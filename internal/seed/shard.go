package seed

import (
	"fmt"
	"strconv"
	"strings"
)

// A Shard is part Part (from 1) of Of parts of a job, split by key. The zero
// Shard is the whole job.
type Shard struct{ Part, Of int }

// ParseShard reads "I/N"; "" is the whole job.
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{}, nil
	}
	left, right, _ := strings.Cut(s, "/")
	part, err1 := strconv.Atoi(left)
	of, err2 := strconv.Atoi(right)
	if err1 != nil || err2 != nil || part < 1 || part > of {
		return Shard{}, fmt.Errorf("shard %q: want I/N with I from 1 to N, such as 1/4", s)
	}
	return Shard{part, of}, nil
}

// Has says whether the thing that key names belongs to this shard.
func (s Shard) Has(key string) bool {
	return s.Of < 2 || Derive(0, "shard", key)%uint64(s.Of) == uint64(s.Part-1)
}
