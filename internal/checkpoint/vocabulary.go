package checkpoint

import (
	"bytes"
	"fmt"
)

// SameVocabulary refuses another policy whose tokens mean something else than those
// of p.
func SameVocabulary(p, other *Policy) error {
	a, b := p.Tokenizer, other.Tokenizer
	if a.Size() != b.Size() || p.Config.VocabSize > other.Config.VocabSize {
		return fmt.Errorf("has a vocabulary of %d tokens, the policy one of %d; want the same", b.Size(), a.Size())
	}
	for id := range int32(a.Size()) {
		if x, y := a.DecodeBytes([]int32{id}), b.DecodeBytes([]int32{id}); !bytes.Equal(x, y) {
			return fmt.Errorf("token %d is %q to it and %q to the policy; want the same vocabulary", id, y, x)
		}
	}
	return nil
}
