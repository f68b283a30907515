// Package seed derives named random streams from a run's seed, so that every
// random choice is reproducible and independent of the order of work.
package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Derive returns a seed for the thing that parts name (a purpose, an id, a
// counter) under the run's seed.
func Derive(run uint64, parts ...any) uint64 {
	h := sha256.New()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], run)
	h.Write(b[:])
	for _, p := range parts {
		fmt.Fprintf(h, "\x00%v", p)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

// Stream returns a random stream for the thing that parts name.
func Stream(run uint64, parts ...any) *rand.Rand {
	s := Derive(run, parts...)
	return rand.New(rand.NewPCG(s, s^0x9e3779b97f4a7c15))
}
