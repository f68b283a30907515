package synthq

import (
	"math/rand/v2"
	"strings"
)

// A way is a whole question, directly and inside a sentence.
type way struct{ direct, inside string }

// about puts a name or a matter in the place of %s.
func (w way) about(matter string) way {
	return way{strings.ReplaceAll(w.direct, "%s", matter) + "?", strings.ReplaceAll(w.inside, "%s", matter)}
}

// wordWhole asks in one of the candidate's own ways.
func (c *candidate) wordWhole(rnd *rand.Rand) bool {
	w := c.ways[rnd.IntN(len(c.ways))]
	c.text = politely(rnd, w.direct, w.inside)
	return !says(c.text, c.answer)
}
