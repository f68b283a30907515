package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agentmill/internal/model"
	"agentmill/internal/safetensors"
	"agentmill/internal/tokenizer"
)

// A Policy is an open policy folder. As a model.Source it gives the weights that
// are played, before an adapter: Merged applies it. It is safe for concurrent use.
type Policy struct {
	Dir       string
	Hash      string // P1
	Config    model.Config
	Tokenizer *tokenizer.Tokenizer
	Manifest  Manifest
	// Adapter is nil for a policy that is none; Base is the policy under it.
	Adapter *Adapter
	Base    *Policy

	weights weights
	// files are what a folder saved with this parent has besides its weights.
	files map[string][]byte
}

// weights are the tensors of an opened file or set of files.
type weights interface {
	model.Filler
	Close() error
}

// Options change how a folder is opened.
type Options struct {
	// Base replaces the base that an adapter names.
	Base string
}

// ErrNotPolicy is returned by Open for a folder that holds no policy.
var ErrNotPolicy = errors.New("not a policy folder: want config.json and model.safetensors, or model.gguf, or adapter_config.json")

const (
	ggufFile            = "model.gguf"
	configFile          = "config.json"
	tokenizerFile       = "tokenizer.json"
	tokenizerConfigFile = "tokenizer_config.json"
	templateFile        = "chat_template.jinja"
)

// Open opens the policy in folder dir, and checks its weights' hash.
func Open(dir string, o Options) (*Policy, error) {
	p, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("open policy %s: %w", dir, err)
	}
	return p, nil
}

func open(dir string, o Options) (*Policy, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !st.IsDir() {
		return nil, errors.New("want a folder")
	}
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	p := &Policy{Dir: dir, Manifest: m, files: map[string][]byte{}}
	if err := p.load(o); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if p.Base == nil {
		if err := p.checkSizes(); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if m.Hash != "" && m.Hash != p.Hash {
		return nil, errors.Join(fmt.Errorf("its weights have the hash %s, %s records %s: the folder was changed or damaged", p.Hash, ManifestFile, m.Hash), p.Close())
	}
	return p, nil
}

func (p *Policy) load(o Options) error {
	switch {
	case p.has(adapterConfigFile):
		return p.loadAdapter(o)
	case p.has(safetensors.ModelFile) || p.has(safetensors.IndexFile):
		if !p.has(configFile) {
			return errNoConfig
		}
		return p.loadHF()
	case p.has(ggufFile):
		return p.loadGGUF()
	case p.has(configFile):
		return p.noWeights()
	}
	return p.missing(ErrNotPolicy)
}

func (p *Policy) path(name string) string { return filepath.Join(p.Dir, name) }

func (p *Policy) has(name string) bool {
	_, err := os.Stat(p.path(name))
	return err == nil
}

// Names returns the names of the base's tensors.
func (p *Policy) Names() []string { return p.weights.Names() }

// Shape returns the shape of the tensor called name.
func (p *Policy) Shape(name string) ([]int, error) { return p.weights.Shape(name) }

// Tensor returns the values and the shape of the tensor called name.
func (p *Policy) Tensor(name string) ([]float32, []int, error) { return p.weights.Tensor(name) }

// Fill writes the values of the tensor called name to dst, which is as long as
// its shape says.
func (p *Policy) Fill(name string, dst []float32) error { return p.weights.Fill(name, dst) }

// Merged returns the weights with the adapter, where there is one, added.
func (p *Policy) Merged() model.Source {
	if p.Adapter == nil {
		return p
	}
	return model.Merge(p, p.Adapter.weights, p.Adapter.LoRA)
}

// Close closes the folder's files.
func (p *Policy) Close() error {
	if p.Base != nil {
		return errors.Join(p.Base.Close(), p.Adapter.close())
	}
	if p.weights == nil {
		return nil
	}
	return p.weights.Close()
}

// context wraps an error about one of the folder's files.
func (p *Policy) context(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", p.path(name), err)
}
