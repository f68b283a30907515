package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"agentmill/internal/device"
	"agentmill/internal/half"
	"agentmill/internal/nn"
	"agentmill/internal/seed"
)

// A Trainable says which parameters get gradients.
type Trainable string

// What can be trained: nothing, all tensors, or low-rank adapters beside them.
const (
	TrainNone Trainable = "none"
	TrainFull Trainable = "full"
	TrainLoRA Trainable = "lora"
)

// A LoRA describes low-rank adapters as PEFT's adapter_config.json does.
type LoRA struct {
	Rank    int      `json:"r"`
	Alpha   float64  `json:"lora_alpha"`
	Targets []string `json:"target_modules"` // last parts of names, as q_proj
	// RSLoRA divides by the root of the rank, so that a larger rank does not
	// shrink what its adapters can do.
	RSLoRA bool `json:"use_rslora,omitempty"`
	// Dropout is the share of an adapter's inputs that training drops.
	Dropout float64 `json:"lora_dropout,omitempty"`
}

// Scale is what the product B·A is multiplied with: alpha/rank, or with RSLoRA
// alpha/√rank.
func (l LoRA) Scale() float32 {
	if l.RSLoRA {
		return float32(l.Alpha / math.Sqrt(float64(l.Rank)))
	}
	return float32(l.Alpha / float64(l.Rank))
}

// AllProjections are the seven matrices of a block.
func AllProjections() []string {
	return []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
}

// Options say how a model's weights are held.
type Options struct {
	DType device.DType // F32, BF16 for w16, BF16Dot for bf16, Int8 for w8
	Train Trainable
	LoRA  LoRA
	// Adapter holds the adapters to go on with; nil starts new ones from Seed.
	Adapter Source
	Seed    uint64
}

// A Param is one trained tensor. Its values are the float32 master copy.
type Param struct {
	Name   string
	Shape  []int
	Values device.Buffer
	Grad   device.Buffer
}

// Weights are the parameters of one model: its family asks for them by name
// while it is built, the optimiser updates them. Errors while building are
// kept and returned by Finish.
type Weights struct {
	Backend device.Backend

	source  Source
	options Options
	params  []*Param
	linears []*nn.Linear
	grads   []device.Buffer
	buffers []device.Buffer
	scratch device.Buffer // values of a matrix on their way into its packed form
	wanted  map[string]bool
	drop    *nn.Dropout // nil: none
	dropped uint64      // adapters that have it
	err     error
}

// NewWeights starts the parameters of one model.
func NewWeights(b device.Backend, src Source, o Options) *Weights {
	w := &Weights{Backend: b, source: src, options: o, wanted: map[string]bool{}}
	if o.Train == TrainLoRA && (o.LoRA.Rank < 1 || !(o.LoRA.Alpha > 0) || len(o.LoRA.Targets) == 0) {
		w.err = fmt.Errorf("lora: rank is %d, alpha %v, targets %v: want all of them", o.LoRA.Rank, o.LoRA.Alpha, o.LoRA.Targets)
	}
	if o.Train == TrainLoRA && o.LoRA.Dropout > 0 {
		w.drop = &nn.Dropout{Rate: o.LoRA.Dropout}
	}
	return w
}

// Drop makes adapters drop values until it is called with active false. Equal
// seeds drop the same. Without dropout it does nothing.
func (w *Weights) Drop(run uint64, active bool) {
	if w.drop != nil {
		w.drop.Seed, w.drop.Active = run, active
	}
}

// A Part is one published matrix of a fused Linear: rows of it.
type Part struct {
	Name string // without ".weight"
	Out  int
	Bias bool // it has a ".bias" too
}

// Linear loads a matrix of inputs columns whose rows are those of all parts.
func (w *Weights) Linear(inputs int, parts ...Part) *nn.Linear {
	out := 0
	for _, p := range parts {
		out += p.Out
	}
	l := &nn.Linear{Backend: w.Backend, Weight: w.Backend.NewWeight(out, inputs, w.options.DType)}
	w.linears = append(w.linears, l)
	var values device.Buffer
	if w.options.Train == TrainFull {
		values = w.alloc(out * inputs)
		l.Values, l.Grad = values, w.grad(out*inputs)
	} else {
		values = w.scratchFor(out * inputs)
	}
	row := 0
	for _, p := range parts {
		from, to := row*inputs, (row+p.Out)*inputs
		w.load(p.Name+".weight", []int{p.Out, inputs}, values.Slice(from, to), slice(l.Grad, from, to))
		row += p.Out
	}
	w.Backend.SetWeight(l.Weight, values)
	if parts[0].Bias {
		w.bias(l, out, parts)
	}
	if w.options.Train == TrainLoRA {
		l.Adapter = w.adapter(inputs, parts)
	}
	return l
}

// scratchFor is memory for n values, with any content.
func (w *Weights) scratchFor(n int) device.Buffer {
	if w.scratch == nil || w.scratch.Len() < n {
		w.dropScratch()
		w.scratch = w.Backend.Alloc(n)
	}
	return w.scratch.Slice(0, n)
}

func (w *Weights) dropScratch() {
	if w.scratch != nil {
		w.Backend.Free(w.scratch)
		w.scratch = nil
	}
}

// bias loads the biases of l's parts.
func (w *Weights) bias(l *nn.Linear, out int, parts []Part) {
	l.Bias = w.alloc(out)
	if w.options.Train == TrainFull {
		l.BiasGrad = w.grad(out)
	}
	row := 0
	for _, p := range parts {
		w.load(p.Name+".bias", []int{p.Out}, l.Bias.Slice(row, row+p.Out), slice(l.BiasGrad, row, row+p.Out))
		row += p.Out
	}
}

// Norm loads the weight of a normalisation over n channels.
func (w *Weights) Norm(name string, n int, eps float64) *nn.Norm {
	norm := &nn.Norm{Backend: w.Backend, Weight: w.alloc(n), Eps: float32(eps)}
	if w.options.Train == TrainFull {
		norm.Grad = w.grad(n)
	}
	w.load(name+".weight", []int{n}, norm.Weight, norm.Grad)
	return norm
}

// Embedding loads a table of vocab vectors of n channels.
func (w *Weights) Embedding(name string, vocab, n int) *nn.Embedding {
	e := &nn.Embedding{Backend: w.Backend, Table: device.Dense(w.alloc(vocab*n), vocab, n)}
	if w.options.Train == TrainFull {
		e.Grad = w.grad(vocab * n)
	}
	w.load(name+".weight", []int{vocab, n}, e.Table.Buf, e.Grad)
	return e
}

// TiedHead is the matrix of an output head that shares the embedding's values.
// Files that hold a copy of it, called name, are accepted.
func (w *Weights) TiedHead(name string, e *nn.Embedding) *nn.Linear {
	w.wanted[name+".weight"] = true
	l := &nn.Linear{
		Backend: w.Backend,
		Weight:  w.Backend.NewWeight(e.Table.Rows, e.Table.Cols, w.options.DType),
		Grad:    e.Grad,
	}
	w.linears = append(w.linears, l)
	l.Values = e.Table.Buf
	w.Backend.SetWeight(l.Weight, l.Values)
	return l
}

// Ignore accepts tensors that are derived from the configuration.
func (w *Weights) Ignore(names ...string) {
	for _, n := range names {
		w.wanted[n] = true
	}
}

// Finish returns the first error met, or one naming what was left over.
func (w *Weights) Finish() error {
	w.dropScratch()
	if w.err != nil {
		return w.err
	}
	sources := []Source{w.source}
	if w.options.Adapter != nil {
		sources = append(sources, w.options.Adapter)
	}
	w.source, w.options.Adapter = nil, nil
	for _, src := range sources {
		for _, name := range src.Names() {
			if !w.wanted[name] {
				return fmt.Errorf("tensor %q: this model has no such tensor", name)
			}
		}
	}
	if w.options.Train == TrainLoRA && len(w.params) == 0 {
		return fmt.Errorf("lora: targets %v: no matrix has such a name", w.options.LoRA.Targets)
	}
	return nil
}

// Params returns the trained parameters, in the order of the architecture.
func (w *Weights) Params() []*Param { return w.params }

// ZeroGrads sets all gradients to zero.
func (w *Weights) ZeroGrads() {
	for _, g := range w.grads {
		w.Backend.Zero(g)
	}
}

// Repack makes changed values take effect.
func (w *Weights) Repack() {
	for _, l := range w.linears {
		l.Repack()
	}
}

// Close frees the parameters.
func (w *Weights) Close() {
	for _, b := range w.buffers {
		w.Backend.Free(b)
	}
	w.buffers, w.params, w.linears, w.grads = nil, nil, nil, nil
}

// adapter makes or loads the adapters of those parts that are targets.
func (w *Weights) adapter(inputs int, parts []Part) *nn.Adapter {
	rank := w.options.LoRA.Rank
	if w.err != nil {
		return nil
	}
	ad := &nn.Adapter{Rank: rank, Scale: w.options.LoRA.Scale(), Drop: w.drop, Index: w.dropped}
	w.dropped++
	var names []string
	col := 0
	for _, p := range parts {
		if slices.Contains(w.options.LoRA.Targets, lastPart(p.Name)) {
			names = append(names, p.Name+".weight")
			ad.Parts = append(ad.Parts, nn.AdapterPart{From: col, To: col + p.Out})
		}
		col += p.Out
	}
	if len(names) == 0 {
		return nil
	}
	ad.A = w.Backend.NewWeight(len(names)*rank, inputs, device.F32)
	ad.AVals, ad.AGrad = w.alloc(len(names)*rank*inputs), w.grad(len(names)*rank*inputs)
	for i, name := range names {
		w.adapterPart(ad, i, name, inputs)
	}
	ad.Repack(w.Backend)
	return ad
}

// adapterPart fills part i of ad, the adapter of the tensor called name.
func (w *Weights) adapterPart(ad *nn.Adapter, i int, name string, inputs int) {
	p, rank := &ad.Parts[i], ad.Rank
	out := p.To - p.From
	p.B = w.Backend.NewWeight(out, rank, device.F32)
	p.BVals, p.BGrad = w.alloc(out*rank), w.grad(out*rank)
	from, to := i*rank*inputs, (i+1)*rank*inputs
	w.loadAdapter(adapterName(name, "A"), []int{rank, inputs}, ad.AVals.Slice(from, to), ad.AGrad.Slice(from, to))
	w.loadAdapter(adapterName(name, "B"), []int{out, rank}, p.BVals, p.BGrad)
}

// loadAdapter reads an adapter's tensor, or starts it as PEFT does: A uniform
// within ±1/√inputs, B zero.
func (w *Weights) loadAdapter(name string, shape []int, values, grad device.Buffer) {
	w.wanted[name] = true
	w.params = append(w.params, &Param{Name: name, Shape: shape, Values: values, Grad: grad})
	if w.options.Adapter != nil {
		w.read(w.options.Adapter, name, shape, values)
		return
	}
	if !strings.Contains(name, ".lora_A.") {
		return
	}
	rng := seed.Stream(w.options.Seed, "lora", name)
	start := make([]float32, values.Len())
	bound := 1 / math.Sqrt(float64(shape[1]))
	for i := range start {
		start[i] = float32(bound * (2*rng.Float64() - 1))
	}
	w.Backend.Upload(values, start)
}

// load reads a published tensor into values and registers it when trained.
func (w *Weights) load(name string, shape []int, values, grad device.Buffer) {
	w.wanted[name] = true
	if grad != nil {
		w.params = append(w.params, &Param{Name: name, Shape: shape, Values: values, Grad: grad})
	}
	w.read(w.source, name, shape, values)
}

// read checks one tensor and copies it to the device.
func (w *Weights) read(src Source, name string, shape []int, values device.Buffer) {
	if w.err != nil {
		return
	}
	filler, ok := src.(Filler)
	host, direct := values.(device.HostBuffer)
	if ok && direct {
		w.err = fill(filler, name, shape, host.Host())
		return
	}
	got, gotShape, err := src.Tensor(name)
	if err == nil {
		err = checkTensor(name, got, gotShape, shape)
	}
	if err != nil {
		w.err = err
		return
	}
	w.Backend.Upload(values, got)
}

// fill checks a tensor's shape and writes its values to dst.
func fill(src Filler, name string, shape []int, dst []float32) error {
	got, err := src.Shape(name)
	if err != nil {
		return err
	}
	if !slices.Equal(got, shape) {
		return misshaped(name, got, shape)
	}
	return src.Fill(name, dst)
}

func misshaped(name string, got, want []int) error {
	return fmt.Errorf("tensor %q has shape %v: want %v", name, got, want)
}

// checkTensor checks values of shape got.
func checkTensor(name string, values []float32, got, want []int) error {
	if !slices.Equal(got, want) {
		return misshaped(name, got, want)
	}
	n := 1
	for _, d := range want {
		n *= d
	}
	if len(values) != n {
		return fmt.Errorf("tensor %q has %d values: want %d", name, len(values), n)
	}
	if i := half.NotFinite(values); i >= 0 {
		return fmt.Errorf("tensor %q: value %d is %v: want a finite number", name, i, values[i])
	}
	return nil
}

func (w *Weights) alloc(n int) device.Buffer {
	b := w.Backend.Alloc(n)
	w.buffers = append(w.buffers, b)
	return b
}

func (w *Weights) grad(n int) device.Buffer {
	g := w.alloc(n)
	w.grads = append(w.grads, g)
	return g
}

// slice is b[from:to], or nil of nil.
func slice(b device.Buffer, from, to int) device.Buffer {
	if b == nil {
		return nil
	}
	return b.Slice(from, to)
}

// adapterName is PEFT's name of an adapter's matrix (A or B) for a tensor.
func adapterName(tensor, matrix string) string {
	return "base_model.model." + strings.TrimSuffix(tensor, ".weight") + ".lora_" + matrix + ".weight"
}

// lastPart is what follows the last dot of name.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
