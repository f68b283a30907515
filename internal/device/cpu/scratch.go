package cpu

// The slots of a worker's scratch memory.
const (
	slotPanel   = iota // a panel packed on the fly
	slotWide           // a bfloat16 block widened
	slotRows           // rows or columns moved together
	slotEdge           // a tile at the right edge
	slotQuery          // attention: query rows
	slotScores         // … scores of a tile
	slotOut            // … output rows
	slotDout           // attention gradient: rows of dout
	slotDscores        // … gradients of scores
	slotKeys           // … keys and values, packed
	scratchSlots
)
