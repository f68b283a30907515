package infer

import (
	"testing"

	"agentmill/internal/device"
)

// A lender holds n positions, and notes what is copied to it.
type lender struct {
	device.Cache
	n      int
	from   device.Cache
	copied int
}

func (l *lender) Len() int { return l.n }

func (l *lender) CopyPrefix(from device.Cache, n int) { l.from, l.copied = from, n }

func numbers(n int, last ...int32) []int32 {
	ids := make([]int32, 0, n+len(last))
	for i := range n {
		ids = append(ids, int32(i))
	}
	return append(ids, last...)
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		name   string
		older  *session
		held   int // positions that the older one's cache holds
		prompt []int32
		copied int
		wait   bool
	}{
		{"the same question again: all but one token", &session{prompt: numbers(30), cached: 30}, 30, numbers(30), 29, false},
		{"another question in the same mailbox", &session{prompt: numbers(20, 7, 7), cached: 40}, 40, numbers(20, 8, 8, 8), 20, false},
		{"too little in common", &session{prompt: numbers(minShared-1, 7), cached: 40}, 40, numbers(minShared-1, 8), 0, false},
		{"the older one is on its way, in this very step", &session{prompt: numbers(30), cached: 30, playing: true}, 10, numbers(30), 0, true},
		{"the older one stopped on its way", &session{prompt: numbers(30), cached: 10}, 10, numbers(30), 0, false},
	} {
		cache := &lender{}
		tt.older.cache = &lender{n: tt.held}
		own := &session{prompt: tt.prompt, cache: cache}
		s := &scheduler{live: []*session{tt.older, own, {prompt: numbers(99), cached: 99}}}
		if wait := s.share(own); wait != tt.wait || cache.copied != tt.copied || own.cached != tt.copied {
			t.Errorf("%s: copied %d, cached %d, wait %v: want %d, %v", tt.name, cache.copied, own.cached, wait, tt.copied, tt.wait)
		}
		if tt.copied > 0 && cache.from != tt.older.cache {
			t.Errorf("%s: copied from another session", tt.name)
		}
	}
}
