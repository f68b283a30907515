package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/nn"
)

// tellForecast writes how long the updates will take and how much memory.
func (s *stage) tellForecast(b *strings.Builder, updates [][]sample) {
	var w work
	for _, u := range updates {
		for _, micro := range pack(u, s.cfg.TokensPerBatch) {
			w.add(micro)
		}
	}
	fmt.Fprintf(b, "updates  %d in %d passes, %d tokens", len(updates), w.passes, w.tokens)
	if w.tokens < w.apart {
		fmt.Fprintf(b, " (row by row %d: what rows of a pass begin with is computed once)", w.apart)
	}
	b.WriteByte('\n')
	if len(updates) == 0 {
		return
	}
	rate, how := s.rate()
	if rate > 0 {
		took := time.Duration(float64(w.tokens) / rate * float64(time.Second)).Round(time.Second)
		fmt.Fprintf(b, "time     about %v at %.0f tokens/s, %s\n", took, rate, how)
	} else {
		fmt.Fprintf(b, "time     not known: %s\n", how)
	}
	fmt.Fprintf(b, "memory   about %.2g GB\n", overhead*float64(s.memory(w.longest, w.targets))/1e9)
}

// work is what there is to compute.
type work struct {
	passes, tokens   int
	apart            int // tokens, if every row were computed by itself
	longest, targets int // most tokens, and targets, of a pass
}

func (w *work) add(micro []sample) {
	b, err := packed(micro)
	if err != nil {
		return // the pass itself will tell
	}
	w.passes++
	w.tokens += len(b.IDs)
	w.longest, w.targets = max(w.longest, len(b.IDs)), max(w.targets, len(b.Targets))
	for _, x := range micro {
		w.apart += len(x.Input())
	}
}

// parameters of the model, and of them those of adapters.
func (s *stage) parameters() (all, matrices, adapters int) {
	for _, name := range s.parent.Names() {
		shape, err := s.parent.Shape(name)
		if err != nil {
			continue
		}
		n := 1
		for _, d := range shape {
			n *= d
		}
		all += n
		if len(shape) == 2 {
			matrices += n
			module := strings.TrimSuffix(name, ".weight")
			if slices.Contains(s.lora().Targets, module[strings.LastIndexByte(module, '.')+1:]) {
				adapters += s.cfg.LoRARank * (shape[0] + shape[1])
			}
		}
	}
	return all, matrices, adapters
}

// floats and their copies: value, gradient and two moments of what is trained;
// matrices once more, packed for the kernels.
const (
	trainedCopies = 4
	floatBytes    = 4
)

// efficiency is how fast a whole step is beside its products of matrices alone,
// and overhead what a process takes beside what is counted; both as measured
// with SmolLM2-135M, all weights and adapters.
const (
	efficiency = 0.7
	overhead   = 1.2
)

// memory is how many bytes training takes, with passes of so many tokens and
// targets.
func (s *stage) memory(tokens, targets int) int {
	all, matrices, adapters := s.parameters()
	c := s.parent.Config
	floats := matrices
	if s.cfg.LoRARank > 0 {
		floats += (trainedCopies+1)*adapters + c.VocabSize*c.HiddenSize
	} else {
		floats += trainedCopies * all
	}
	if c.TieWordEmbeddings { // the head packs the table once more
		floats += c.VocabSize * c.HiddenSize
	}
	q, kv := c.NumAttentionHeads*c.HeadDim, c.NumKeyValueHeads*c.HeadDim
	layer := 4*c.HiddenSize + (q + 2*kv) + q + 3*c.IntermediateSize
	if c.ModelType == "qwen3" {
		layer += q + 2*kv
	}
	backward := layer + 2*c.HiddenSize
	floats += tokens*(c.NumHiddenLayers*layer+backward) + targets*4*c.HiddenSize + min(targets, nn.HeadRows)*c.VocabSize
	return floats * floatBytes
}

// rate is how many tokens a second will be trained: as fast as the parent was on
// its device, else reckoned from a product of matrices that is timed here.
func (s *stage) rate() (rate float64, how string) {
	if r := s.parent.Manifest.Metrics[RateMetric]; r > 0 {
		return r, "as the parent was trained"
	}
	if s.cfg.Clock.Fixed() {
		return 0, "the clock stands still"
	}
	all, _, _ := s.parameters()
	perToken := 6 * float64(all) // forward 2, backward 4 operations a parameter
	if s.cfg.LoRARank > 0 {
		perToken = 4 * float64(all)
	}
	return efficiency * s.flops() / perToken, "reckoned from a product of matrices"
}

// flops are the operations a second of a product as large as the model's.
func (s *stage) flops() float64 {
	c, b := s.parent.Config, s.cfg.Backend
	const rows = 256
	in, out := c.HiddenSize, c.IntermediateSize
	values, x, y := b.Alloc(in*out), b.Alloc(rows*in), b.Alloc(rows*out)
	defer func() { b.Free(values); b.Free(x); b.Free(y) }()
	noise := make([]float32, max(in*out, rows*in))
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = rng.Float32() - .5
	}
	b.Upload(values, noise[:in*out])
	b.Upload(x, noise[:rows*in])
	w := b.NewWeight(out, in, device.F32)
	b.SetWeight(w, values)
	run := func() { b.Linear(device.Dense(y, rows, out), device.Dense(x, rows, in), w, false) }
	run() // the first is slower
	start, best := s.cfg.Clock.Now(), math.Inf(1)
	for clock.Since(s.cfg.Clock, start) < 0.2 { // others may be at work too: the best time counts
		began := s.cfg.Clock.Now()
		run()
		best = min(best, clock.Since(s.cfg.Clock, began))
	}
	return 2 * rows * float64(in) * float64(out) / best
}

// lora is the adapter that the flags ask for.
func (s *stage) lora() model.LoRA {
	l := model.LoRA{Rank: s.cfg.LoRARank, Alpha: s.cfg.LoRAAlpha, RSLoRA: s.cfg.RSLoRA, Dropout: s.cfg.LoRADropout}
	for _, name := range model.AllProjections() { // in the order of the architecture
		if len(s.cfg.LoRATargets) == 0 || slices.Contains(s.cfg.LoRATargets, name) {
			l.Targets = append(l.Targets, name)
		}
	}
	return l
}
