package speed

import (
	"runtime"
	"sync"

	"agentmill/internal/device"
	"agentmill/internal/model"
)

// needs is what one token costs at the least.
type needs struct {
	flops     float64 // of the products with weights, logits left out
	logits    float64 // flops of one row of logits
	perKey    float64 // flops of attention to one earlier token
	weights   float64 // bytes that a step reads, however many tokens it runs
	keyValues float64 // bytes of keys and values of one token
}

func needsOf(c model.Config, dtype device.DType) needs {
	size := float64(dtype.Size())
	kvSize := 4.0
	if dtype == device.BF16Dot {
		kvSize = 2
	}
	h, f := float64(c.HiddenSize), float64(c.IntermediateSize)
	q, kv := float64(c.NumAttentionHeads*c.HeadDim), float64(c.NumKeyValueHeads*c.HeadDim)
	layers, vocab := float64(c.NumHiddenLayers), float64(c.VocabSize)
	matrices := layers * (h*(q+2*kv) + q*h + 3*h*f)
	return needs{
		flops: 2 * matrices, logits: 2 * h * vocab, perKey: 4 * layers * q,
		weights: size * (matrices + h*vocab), keyValues: 2 * kvSize * layers * kv,
	}
}

// judge says what share of the machine's limit a rate is: of a step that runs
// tokens, with logits of one row a sequence, each looking at keys earlier tokens.
func (n needs) judge(r *Report, sequences int, rate float64, tokens, keys int) Rate {
	out := Rate{Sequences: sequences, TokensPerSecond: rate, Limit: "memory"}
	flops := float64(tokens)*(n.flops+n.perKey*float64(keys)) + float64(sequences)*n.logits
	bytes := n.weights + float64(sequences)*n.keyValues*float64(keys)
	var least float64 // seconds
	if r.BytesPerSecond > 0 {
		least = bytes / r.BytesPerSecond
	}
	if r.FlopsPerSecond > 0 && flops/r.FlopsPerSecond > least {
		least, out.Limit = flops/r.FlopsPerSecond, "arithmetic"
	}
	out.OfLimit = rate * least / float64(tokens)
	return out
}

// limits measures the machine once more.
func (b *bench) limits() {
	const rounds = 1 << 19
	if peak := b.peak(); peak != nil {
		peak(rounds / 8)
		var ops float64
		if seconds := b.seconds(func() { ops = peak(rounds) }); ops > 0 {
			b.flops = append(b.flops, ops/seconds)
		}
	}
	memory := make([]uint64, readBytes/8)
	for i := range memory {
		memory[i] = uint64(i)
	}
	for range 3 {
		b.bytes = append(b.bytes, readBytes/b.seconds(func() { readAll(memory) }))
	}
}

// peak is what drives the device to the limit of the products in use, or nil.
func (b *bench) peak() func(rounds int) float64 {
	backend := b.model.Weights().Backend
	if g, ok := backend.(PairGauge); ok && b.dtype == device.BF16Dot && g.PeakPairs(1) > 0 {
		return g.PeakPairs
	}
	if g, ok := backend.(Gauge); ok {
		return g.Peak
	}
	return nil
}

// readBytes is more than caches hold.
const readBytes = 256 << 20

// readAll reads memory on all processors.
func readAll(memory []uint64) uint64 {
	parts := runtime.GOMAXPROCS(0)
	sums := make([]uint64, parts)
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { sums[i] = sum(memory[i*len(memory)/parts : (i+1)*len(memory)/parts]) })
	}
	wg.Wait()
	return sum(sums)
}

// sum adds up a word of each 32 bytes: loads enough to keep the memory busy,
// without an addition for every word.
func sum(words []uint64) (total uint64) {
	var a, b, c, d uint64
	for len(words) >= 32 {
		w := words[:32:32]
		a += w[0] + w[4]
		b += w[8] + w[12]
		c += w[16] + w[20]
		d += w[24] + w[28]
		words = words[32:]
	}
	for _, w := range words {
		total += w
	}
	return total + a + b + c + d
}
