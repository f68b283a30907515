package llm

import (
	"context"
	"sync"
)

// A Cost is what requests came to. Those that a cache answered count as what
// they came to when they were paid.
type Cost struct {
	PromptTokens     int     `json:"prompt_tokens"`
	CompletionTokens int     `json:"completion_tokens"`
	CachedTokens     int     `json:"cached_tokens"`
	USD              float64 `json:"usd"`
}

// Add counts another cost.
func (c *Cost) Add(d Cost) {
	c.PromptTokens += d.PromptTokens
	c.CompletionTokens += d.CompletionTokens
	c.CachedTokens += d.CachedTokens
	c.USD += d.USD
}

// A Bill adds up the requests of one item of a run, such as a row that is
// judged. It is safe for concurrent use.
type Bill struct {
	mu  sync.Mutex
	sum Cost
}

type billKey struct{}

// Billed returns a context whose requests stand on the bill, as long as a Meter
// counts them.
func Billed(ctx context.Context) (context.Context, *Bill) {
	b := new(Bill)
	return context.WithValue(ctx, billKey{}, b), b
}

// Cost is what stands on the bill.
func (b *Bill) Cost() Cost {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sum
}

// charge puts a reply on the bill of ctx, if there is one.
func charge(ctx context.Context, r *Reply) {
	b, ok := ctx.Value(billKey{}).(*Bill)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum.Add(Cost{r.Usage.PromptTokens, r.Usage.CompletionTokens, r.Usage.CachedTokens, r.USD})
}

// A Tally is how far a run is: of Total items Done are done, and they cost USD.
// Items that an earlier run did do not count.
type Tally struct {
	Done, Total int
	USD         float64
}
