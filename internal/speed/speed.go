// Package speed measures how fast a model plays on this machine, beside what
// the machine allows.
//
// Most callers want Measure. What the machine allows is measured in the same
// process, between the rounds: multiply-adds that never leave the registers, and
// the reading of memory that no cache holds. Figures are medians of rounds.
package speed

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"agentmill/internal/clock"
	"agentmill/internal/device"
	"agentmill/internal/model"
)

// What is measured.
const (
	PrefillTokens = 256 // of one prompt
	decodeAfter   = 64  // tokens that each sequence has before
	decodeSteps   = 16
	GroupSize     = 8 // attempts that share a prompt
	GroupPrompt   = 512
	GroupNew      = 64
)

// decodeSequences are how many sequences decode at once.
var decodeSequences = []int{1, 8, 32}

// A Gauge is a device that can be driven to its limit. It is optional.
type Gauge interface {
	// Peak runs rounds of multiply-adds in registers on all threads and returns
	// the number of operations, 0 if it cannot.
	Peak(rounds int) (operations float64)
}

// A PairGauge can be driven to the limit of products of bfloat16 pairs as well. It is optional.
type PairGauge interface {
	PeakPairs(rounds int) (operations float64)
}

// A Rate is tokens a second, and the share of what the machine allows (0 if that
// is not known).
type Rate struct {
	Sequences       int     `json:"sequences"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	OfLimit         float64 `json:"of_limit"`
	Limit           string  `json:"limit"` // arithmetic or memory
}

// A Report is what was measured.
type Report struct {
	Policy         string  `json:"policy"`
	Device         string  `json:"device"`
	Path           string  `json:"path"` // of kernels
	Threads        int     `json:"threads"`
	Precision      string  `json:"precision"`
	LoadSeconds    float64 `json:"load_seconds"`
	FlopsPerSecond float64 `json:"flops_per_second"` // 0: not known
	BytesPerSecond float64 `json:"bytes_per_second"` // memory that is read
	Prefill        Rate    `json:"prefill"`
	Decode         []Rate  `json:"decode"`
	// SharedPrompt is how many times as fast a group of attempts is whose prompt
	// is run once as one whose prompts are run for each; 0 if the device cannot
	// share.
	SharedPrompt float64 `json:"shared_prompt"`
}

// A bench measures one model.
type bench struct {
	clk    clock.Clock
	model  model.Model
	dtype  device.DType
	rounds int
	need   needs
	flops  []float64
	bytes  []float64
}

// Measure fills in what r does not know yet of a model with weights of a type, by
// rounds measurements of each.
func Measure(ctx context.Context, r *Report, m model.Model, dtype device.DType, rounds int) error {
	limit := m.Config().MaxPositionEmbeddings
	if least := GroupPrompt + GroupNew; limit < least {
		return fmt.Errorf("the model has %d positions: the measurement takes %d", limit, least)
	}
	b := &bench{clk: clock.Real(), model: m, dtype: dtype, rounds: rounds, need: needsOf(m.Config(), dtype)}
	b.limits()
	prefill, err := b.rate(ctx, PrefillTokens, b.prefill)
	if err != nil {
		return err
	}
	decode := make([]float64, len(decodeSequences))
	for i, n := range decodeSequences {
		if decode[i], err = b.decode(ctx, n); err != nil {
			return err
		}
		b.limits()
	}
	if r.SharedPrompt, err = b.shared(ctx); err != nil {
		return err
	}
	r.FlopsPerSecond, r.BytesPerSecond = median(b.flops), median(b.bytes)
	r.Prefill = b.need.judge(r, 1, prefill, PrefillTokens, PrefillTokens/2)
	for i, n := range decodeSequences {
		r.Decode = append(r.Decode, b.need.judge(r, n, decode[i], n, decodeAfter+decodeSteps/2))
	}
	return nil
}

// rate is the median tokens a second of work, after a first time.
func (b *bench) rate(ctx context.Context, tokens int, work func()) (float64, error) {
	work()
	rates := make([]float64, 0, b.rounds)
	for range b.rounds {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		rates = append(rates, float64(tokens)/b.seconds(work))
	}
	return median(rates), nil
}

func (b *bench) seconds(work func()) float64 {
	start := b.clk.Now()
	work()
	return max(clock.Since(b.clk, start), 1e-9)
}

func (b *bench) prefill() {
	c := b.model.NewCache(PrefillTokens)
	defer c.Free()
	b.run([]device.Cache{c}, PrefillTokens)
}

// run appends n tokens to each sequence.
func (b *bench) run(caches []device.Cache, n int) {
	batch := &model.Batch{}
	for _, c := range caches {
		start, at := len(batch.IDs), c.Len()
		for i := range n {
			batch.IDs = append(batch.IDs, int32((at+i)*37%1000%b.model.Config().VocabSize))
			batch.Positions = append(batch.Positions, int32(at+i))
		}
		batch.Rows = append(batch.Rows, int32(len(batch.IDs)-1))
		batch.Seqs = append(batch.Seqs, device.Seq{Start: start, Len: n, Cache: c})
	}
	b.model.Logits(batch)
}

func (b *bench) caches(n, capacity int) []device.Cache {
	all := make([]device.Cache, n)
	for i := range all {
		all[i] = b.model.NewCache(capacity)
	}
	return all
}

func free(caches []device.Cache) {
	for _, c := range caches {
		c.Free()
	}
}

func (b *bench) decode(ctx context.Context, n int) (float64, error) {
	caches := b.caches(n, decodeAfter+decodeSteps)
	defer free(caches)
	b.run(caches, decodeAfter)
	return b.rate(ctx, n*decodeSteps, func() {
		for range decodeSteps {
			b.run(caches, 1)
		}
		for _, c := range caches {
			c.Truncate(decodeAfter)
		}
	})
}

// shared compares a group whose prompt is run once with one where every attempt
// runs its own, in turns.
func (b *bench) shared(ctx context.Context) (float64, error) {
	probe := b.model.NewCache(1)
	_, can := probe.(device.PrefixCache)
	probe.Free()
	if !can {
		return 0, nil
	}
	var ratios []float64
	for range b.rounds {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		own := b.seconds(func() { b.group(false) })
		ratios = append(ratios, own/b.seconds(func() { b.group(true) }))
	}
	return median(ratios), nil
}

func (b *bench) group(shared bool) {
	caches := b.caches(GroupSize, GroupPrompt+GroupNew)
	defer free(caches)
	if shared {
		b.run(caches[:1], GroupPrompt)
		for _, c := range caches[1:] {
			c.(device.PrefixCache).CopyPrefix(caches[0], GroupPrompt) //nolint:errcheck,forcetypeassert // shared looked
		}
	} else {
		for i := range caches { // one after the other: all at once need more memory than a step of play
			b.run(caches[i:i+1], GroupPrompt)
		}
	}
	for range GroupNew {
		b.run(caches, 1)
	}
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// WriteTo prints the report for a person.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s (%s, %d threads), weights %s\nthis machine: ", r.Policy, r.Device, r.Path, r.Threads, r.Precision)
	if r.FlopsPerSecond > 0 {
		fmt.Fprintf(&b, "%.0f GFLOP/s in registers, ", r.FlopsPerSecond/1e9)
	}
	fmt.Fprintf(&b, "%.1f GB/s of memory read\n\n%-34s %10.3f s\n", r.BytesPerSecond/1e9, "loaded in", r.LoadSeconds)
	b.WriteString(row(fmt.Sprintf("prompt of %d tokens", PrefillTokens), r.Prefill))
	for _, d := range r.Decode {
		b.WriteString(row(fmt.Sprintf("decoding, %d at a time", d.Sequences), d))
	}
	if r.SharedPrompt > 0 {
		fmt.Fprintf(&b, "%-34s %10.1f times as fast as %d prompts\n", fmt.Sprintf("%d attempts, one prompt of %d", GroupSize, GroupPrompt), r.SharedPrompt, GroupSize)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func row(name string, r Rate) string {
	line := fmt.Sprintf("%-34s %10.1f tokens/s", name, r.TokensPerSecond)
	if r.OfLimit > 0 {
		line += fmt.Sprintf(", %.0f %% of what %s allows", 100*r.OfLimit, r.Limit)
	}
	return line + "\n"
}
