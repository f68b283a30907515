package ingest

import (
	"fmt"

	"agentmill/internal/seed"
)

// A Shard is one of N parts of the mailboxes, I from 1. The zero Shard is all.
type Shard struct{ I, N int }

// ParseShard reads "I/N"; "" is all.
func ParseShard(s string) (Shard, error) {
	var sh Shard
	if s == "" {
		return sh, nil
	}
	if n, err := fmt.Sscanf(s+"\n", "%d/%d\n", &sh.I, &sh.N); err != nil || n != 2 {
		return Shard{}, fmt.Errorf("--shard %q: want I/N, such as 1/4", s)
	}
	if sh.N == 0 {
		return Shard{}, fmt.Errorf("--shard %s: want N of at least 1", s)
	}
	return sh, sh.check()
}

func (s Shard) check() error {
	if s.N != 0 && (s.I < 1 || s.I > s.N) {
		return fmt.Errorf("--shard %s: want I from 1 to N", s)
	}
	return nil
}

// String is I/N.
func (s Shard) String() string {
	if s.N == 0 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

// has reports whether the mailbox of that name belongs to the shard.
func (s Shard) has(name string) bool {
	return s.N == 0 || seed.Derive(0, "shard", name)%uint64(s.N) == uint64(s.I-1)
}
