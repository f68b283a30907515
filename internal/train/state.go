package train

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/optim"
	"agentmill/internal/safetensors"
)

// A state is what stands beside the tensors of a trainer folder: of a finished
// policy, for its child to go on with, or of an unfinished run. Random numbers
// need no state: their streams are named by seed and epoch.
type state struct {
	Method    string      `json:"method"`
	LoRA      *model.LoRA `json:"lora,omitempty"`
	OptSteps  int         `json:"optimizer_steps"`
	Ancestors []string    `json:"ancestors"` // hashes, newest first

	// Of an unfinished run.
	Fingerprint string    `json:"fingerprint,omitempty"`
	Done        int       `json:"done,omitempty"` // updates
	Metrics     []Metrics `json:"metrics,omitempty"`
	Resumed     int       `json:"-"` // updates that an earlier process made
}

// Prefixes of a trainer's tensors.
const (
	masterPrefix = "master."
	firstPrefix  = "adam_m."
	secondPrefix = "adam_v."
)

const keptAncestors = 64

// partial is the folder of an unfinished run.
func (c Config) partial() string { return strings.TrimRight(c.Out, "/") + ".partial" }

// start builds the model from where training goes on: an unfinished run of the
// same command, else the parent's float32 values, else the parent's weights.
func (s *stage) start(ctx context.Context, updates [][]sample) (*trainer, error) {
	t := &trainer{stage: s, updates: updates, schedule: s.cfg.schedule(len(updates))}
	lora, err := s.adapter()
	if err != nil {
		return nil, err
	}
	t.lora = lora
	if err := t.openReference(); err != nil {
		return nil, err
	}
	defer func() { _ = t.closeReference() }()
	fingerprint := s.fingerprint(updates)
	unfinished, err := s.unfinished(fingerprint)
	if err != nil {
		return nil, err
	}
	from := unfinished
	if from == nil {
		from = s.inherited(lora)
	}
	if err := errors.Join(t.ready(ctx, from), from.close()); err != nil {
		t.close()
		return nil, err
	}
	t.state.Ancestors = s.lineage()
	t.state.Fingerprint, t.state.Method, t.state.LoRA = fingerprint, s.cfg.Method, lora
	t.state.Resumed = t.state.Done
	t.saved = s.cfg.Clock.Now()
	if t.state.Done > 0 {
		s.cfg.Log.Info("going on with an unfinished run", "folder", s.cfg.partial(), "step", fmt.Sprintf("%d/%d", t.state.Done, len(updates)))
	}
	return t, nil
}

// adapter is the LoRA to train, nil for all weights. An adapter is trained on
// with its own shape.
func (s *stage) adapter() (*model.LoRA, error) {
	if s.cfg.LoRARank == 0 {
		return nil, nil
	}
	want := s.lora()
	if s.parent.Adapter == nil {
		return &want, nil
	}
	have := s.parent.Adapter.LoRA
	if have.Rank != want.Rank || have.Alpha != want.Alpha || have.RSLoRA != want.RSLoRA {
		return nil, fmt.Errorf("--lora-rank %d --lora-alpha %v --rslora=%v: the parent %s is an adapter of rank %d and alpha %v, rslora %v, and goes on as such (or with --lora-rank 0, merged)",
			want.Rank, want.Alpha, want.RSLoRA, s.cfg.Policy, have.Rank, have.Alpha, have.RSLoRA)
	}
	if len(s.cfg.LoRATargets) > 0 && !sameNames(have.Targets, want.Targets) {
		return nil, fmt.Errorf("--lora-target %v: the parent %s is an adapter on %v, and goes on as such", want.Targets, s.cfg.Policy, have.Targets)
	}
	have.Dropout = want.Dropout
	return &have, nil
}

// sameNames says whether two lists hold the same names.
func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// A saved is an open trainer folder; a nil one holds nothing.
type saved struct {
	state
	file    *safetensors.File
	moments bool // they fit this run
}

func (v *saved) close() error {
	if v == nil {
		return nil
	}
	return v.file.Close()
}

// unfinished opens the state of a killed run of the same command, nil if none.
func (s *stage) unfinished(fingerprint string) (*saved, error) {
	v := &saved{moments: true}
	var err error
	v.file, err = checkpoint.OpenTrainer(s.cfg.partial(), &v.state)
	switch {
	case errors.Is(err, checkpoint.ErrNoTrainer):
		return nil, nil
	case err != nil:
		return nil, err
	case v.Fingerprint != fingerprint:
		return nil, errors.Join(fmt.Errorf("%s holds an unfinished run with other rows or flags; finish that one, or delete the folder to start anew", s.cfg.partial()), v.close())
	}
	return v, nil
}

// inherited opens what the parent left for its child, nil where that does not
// fit: all weights of a parent trained as an adapter, or the reverse. Moments
// are gone on with within one method.
func (s *stage) inherited(lora *model.LoRA) *saved {
	v := &saved{}
	var err error
	if v.file, err = checkpoint.OpenTrainer(s.cfg.Policy, &v.state); err != nil {
		return nil
	}
	v.Done, v.Metrics = 0, nil
	v.moments = v.Method == s.cfg.Method
	if (v.LoRA == nil) != (lora == nil) {
		_ = v.file.Close()
		return nil
	}
	return v
}

// ready makes model and optimiser, and what is known before training.
func (t *trainer) ready(ctx context.Context, from *saved) error {
	if err := t.build(from); err != nil {
		return err
	}
	return t.know(ctx, from)
}

// build makes model and optimiser.
func (t *trainer) build(from *saved) (err error) {
	var src model.Source = t.parent
	o := model.Options{DType: device.F32, Train: model.TrainFull}
	if t.lora != nil {
		o.Train, o.LoRA, o.Seed = model.TrainLoRA, *t.lora, t.cfg.Seed
		if t.parent.Adapter != nil {
			o.Adapter = t.parent.Adapter.Source()
		}
		if from != nil {
			o.Adapter = masters{from.file}
		}
	} else if src = t.parent.Merged(); from != nil {
		src = masters{from.file}
	}
	if t.model, err = t.cfg.NewModel(t.parent.Config, t.cfg.Backend, src, o); err != nil {
		return fmt.Errorf("load policy %s: %w", t.cfg.Policy, err)
	}
	t.opt = optim.New(t.cfg.Backend, t.model.Weights().Params(), t.cfg.Optimizer)
	if from == nil {
		return nil
	}
	t.state = from.state
	if !from.moments {
		t.state.OptSteps = 0
		return nil
	}
	return t.loadMoments(from.file)
}

// masters are the float32 values of a trainer folder, by their tensors' names.
type masters struct{ file *safetensors.File }

func (m masters) Names() (names []string) {
	for _, n := range m.file.Names() {
		if name, ok := strings.CutPrefix(n, masterPrefix); ok {
			names = append(names, name)
		}
	}
	return names
}

func (m masters) Tensor(name string) ([]float32, []int, error) {
	return m.file.Tensor(masterPrefix + name)
}

func (t *trainer) loadMoments(file *safetensors.File) error {
	t.opt.Steps = t.state.OptSteps
	for i, p := range t.model.Weights().Params() {
		m, v := t.opt.Moments(i)
		for _, x := range []struct {
			name string
			to   device.Buffer
		}{{firstPrefix + p.Name, m}, {secondPrefix + p.Name, v}} {
			values, _, err := file.Tensor(x.name)
			if err != nil {
				return err
			}
			if len(values) != x.to.Len() {
				return fmt.Errorf("read %s: tensor %q has %d values, want %d", file.Path(), x.name, len(values), x.to.Len())
			}
			t.cfg.Backend.Upload(x.to, values)
		}
	}
	return nil
}

// tensors are the values of the trained parameters under a prefix.
func (t *trainer) tensors(prefix string, dtype safetensors.DType, buffer func(i int) device.Buffer) (entries []safetensors.Entry) {
	for i, p := range t.model.Weights().Params() {
		entries = append(entries, safetensors.Entry{
			Name: prefix + p.Name, DType: dtype, Shape: p.Shape,
			Values: func() ([]float32, error) {
				b := buffer(i)
				values := make([]float32, b.Len())
				t.cfg.Backend.Download(values, b)
				return values, nil
			},
		})
	}
	return entries
}

// snapshot is the trainer's state with all its tensors.
func (t *trainer) snapshot(st state) *checkpoint.Trainer {
	st.OptSteps = t.opt.Steps
	params := t.model.Weights().Params()
	entries := t.tensors(masterPrefix, safetensors.F32, func(i int) device.Buffer { return params[i].Values })
	entries = append(entries, t.tensors(firstPrefix, safetensors.F32, func(i int) device.Buffer { m, _ := t.opt.Moments(i); return m })...)
	entries = append(entries, t.tensors(secondPrefix, safetensors.F32, func(i int) device.Buffer { _, v := t.opt.Moments(i); return v })...)
	return &checkpoint.Trainer{State: st, Tensors: entries}
}

// maybeSave keeps the state of an unfinished run, from time to time.
func (t *trainer) maybeSave() error {
	if t.state.Done == len(t.updates) {
		return nil // the finished policy follows at once
	}
	bySteps := t.cfg.SaveSteps > 0 && t.state.Done%t.cfg.SaveSteps == 0
	byTime := t.cfg.SaveEvery > 0 && t.cfg.Clock.Now().Sub(t.saved) >= t.cfg.SaveEvery
	if !bySteps && !byTime {
		return nil
	}
	return t.save()
}

// save keeps the state of an unfinished run.
func (t *trainer) save() error {
	unfinished := t.snapshot(t.state)
	unfinished.Tensors = append(unfinished.Tensors, t.knownEntries()...)
	if err := unfinished.Save(t.cfg.partial()); err != nil {
		return err
	}
	t.saved = t.cfg.Clock.Now()
	return nil
}

// lineage are the hashes of the child's ancestors.
func (s *stage) lineage() []string {
	line := append([]string{s.parent.Hash}, s.ancestors()...)
	return line[:min(len(line), keptAncestors)]
}

// fingerprint names all that decides the result of a run.
func (s *stage) fingerprint(updates [][]sample) string {
	h := sha256.New()
	c := s.cfg
	fmt.Fprintln(h, "train 2", s.parent.Hash, c.Method, c.Cut, c.LR, c.Schedule, c.Warmup, c.TokensPerBatch,
		c.LoRARank, c.LoRAAlpha, c.LoRATargets, c.RSLoRA, c.LoRADropout, c.Seed, c.Optimizer, len(updates), c.Backend.Name(), c.Backend.Path())
	fmt.Fprintf(h, "%+v %s\n", c.RL, s.referenceHash)
	for _, u := range updates {
		for _, x := range u {
			fmt.Fprintln(h, x.id, math.Float64bits(x.credit.Advantage), x.credit.Turns, math.Float32bits(x.invTemp))
			_ = binary.Write(h, binary.LittleEndian, x.sampled)
			_ = binary.Write(h, binary.LittleEndian, x.IDs)
			_ = binary.Write(h, binary.LittleEndian, x.Trained)
		}
		fmt.Fprintln(h, "update")
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (t *trainer) close() {
	if t.opt != nil {
		t.opt.Close()
	}
	if t.model != nil {
		t.model.Close()
	}
}

// removePartial forgets the unfinished run, once the policy is whole.
func (c Config) removePartial() error {
	if err := os.RemoveAll(c.partial()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the state of the unfinished run: %w", err)
	}
	return nil
}
