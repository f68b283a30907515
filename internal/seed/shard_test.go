package seed

import (
	"strconv"
	"testing"
)

func TestShardsPartition(t *testing.T) {
	for i := range 50 {
		key, in := strconv.Itoa(i), 0
		for part := 1; part <= 3; part++ {
			if (Shard{part, 3}).Has(key) {
				in++
			}
		}
		if in != 1 || !(Shard{}).Has(key) {
			t.Errorf("key %s is in %d of 3 shards, want 1", key, in)
		}
	}
}

func TestParseShard(t *testing.T) {
	for s, ok := range map[string]bool{"": true, "1/1": true, "4/4": true, "0/4": false, "5/4": false, "2": false, "a/b": false} {
		if _, err := ParseShard(s); (err == nil) != ok {
			t.Errorf("ParseShard(%q): %v", s, err)
		}
	}
}
