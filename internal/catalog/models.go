// Package catalog maps names to constructors: the one place that knows all
// implementations.
package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentmill/internal/chattemplate"
	"agentmill/internal/checkpoint"
	"agentmill/internal/clock"
	"agentmill/internal/device"
	"agentmill/internal/infer"
	"agentmill/internal/model"
	"agentmill/internal/model/llama"
	"agentmill/internal/model/qwen2"
	"agentmill/internal/model/qwen3"
	"agentmill/internal/traj"
)

// An UnknownError says that nothing has a name.
type UnknownError struct{ What, Name, Want string }

func (e *UnknownError) Error() string { return fmt.Sprintf("%s %q: want %s", e.What, e.Name, e.Want) }

// families maps config.json's model_type to what builds it.
var families = map[string]func(model.Config, device.Backend, model.Source, model.Options) (model.Model, error){
	"llama": llama.New,
	"qwen2": qwen2.New,
	"qwen3": qwen3.New,
}

// NewModel builds the model that cfg describes from the tensors of src.
func NewModel(cfg model.Config, b device.Backend, src model.Source, o model.Options) (model.Model, error) {
	build, ok := families[cfg.ModelType]
	if !ok {
		return nil, fmt.Errorf("config.json: model_type is %q: want %s", cfg.ModelType, oneOf(families))
	}
	return build(cfg, b, src, o)
}

// precisions maps --precision to how weights are stored.
var precisions = map[string]device.DType{"f32": device.F32, "w16": device.BF16, "bf16": device.BF16Dot, "w8": device.Int8}

// Precision returns the weight format called name.
func Precision(name string) (device.DType, error) {
	d, ok := precisions[name]
	if !ok {
		return 0, &UnknownError{"precision", name, oneOf(precisions)}
	}
	return d, nil
}

// A LocalConfig says how a policy folder is played.
type LocalConfig struct {
	Dir       string
	Base      string // replaces the base that an adapter names
	Name      string // of the policy in records; Dir if empty
	Device    string // as of Device
	Threads   int    // 0: one a processor
	Precision string // f32, w16, bf16 or w8
	Context   int    // most tokens of an attempt; 0: the model's positions
	Sessions  int    // most attempts at once; 0: a default
	MaxMemory int64  // most bytes that playing may take; 0: as many as it needs
	Speculate string // "", ngram, or the folder of a smaller policy of the same vocabulary
	Clock     clock.Clock
}

// A Local is a policy folder being played in this process.
type Local struct {
	*infer.Engine
	Manifest checkpoint.Manifest
	Backend  device.Backend
}

// OpenLocal opens a policy folder for playing.
func OpenLocal(c LocalConfig) (*Local, error) {
	p, err := checkpoint.Open(c.Dir, checkpoint.Options{Base: c.Base})
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	codec, err := chattemplate.New(p.Tokenizer, p.ChatTemplate(), p.TemplateTokens())
	if err != nil {
		return nil, fmt.Errorf("open policy %s: %w", c.Dir, err)
	}
	dtype, err := Precision(c.Precision)
	if err != nil {
		return nil, err
	}
	if err := checkMemory(c, p.Config, dtype); err != nil {
		return nil, err
	}
	backend, err := Device(c.Device, c.Threads)
	if err != nil {
		return nil, err
	}
	m, err := NewModel(p.Config, backend, p.Merged(), model.Options{DType: dtype})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open policy %s: %w", c.Dir, err), backend.Close())
	}
	info := traj.Policy{Name: c.Name, Hash: p.Hash, Precision: c.Precision}
	if info.Name == "" {
		info.Name = c.Dir
	}
	cfg := infer.Config{Model: m, Codec: codec, Policy: info, Context: c.Context, Sessions: c.Sessions, Clock: c.Clock, NGrams: c.Speculate == NGrams, Pieces: p.Tokenizer.Pieces()}
	if c.Speculate != "" && !cfg.NGrams {
		if cfg.Draft, err = openDraft(c, p, backend, dtype); err != nil {
			m.Close()
			return nil, errors.Join(err, backend.Close())
		}
	}
	engine := infer.New(cfg)
	return &Local{Engine: engine, Manifest: p.Manifest, Backend: backend}, nil
}

// NGrams is the speculation that needs no other model.
const NGrams = "ngram"

// openDraft opens the policy that guesses how p goes on.
func openDraft(c LocalConfig, p *checkpoint.Policy, backend device.Backend, dtype device.DType) (model.Model, error) {
	d, err := checkpoint.Open(c.Speculate, checkpoint.Options{})
	if err != nil { // that no policy is there is not said of p
		return nil, fmt.Errorf("speculate: want ngram or a policy folder: %s", err.Error())
	}
	defer func() { _ = d.Close() }()
	if err := checkpoint.SameVocabulary(p, d); err != nil {
		return nil, fmt.Errorf("speculate: policy %s %w", c.Speculate, err)
	}
	m, err := NewModel(d.Config, backend, d.Merged(), model.Options{DType: dtype})
	if err != nil {
		return nil, fmt.Errorf("speculate: open policy %s: %w", c.Speculate, err)
	}
	return m, nil
}

// Close ends the engine and its device.
func (l *Local) Close() error {
	return errors.Join(l.Engine.Close(), l.Backend.Close())
}

// oneOf lists the names of a table, for messages.
func oneOf[V any](table map[string]V) string {
	names := slices.Sorted(maps.Keys(table))
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return names[0]
}
