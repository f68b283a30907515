package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agentmill/internal/jsonl"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
)

const (
	adapterConfigFile = "adapter_config.json"
	adapterFile       = "adapter_model.safetensors"
)

// An Adapter is a low-rank addition to a base, as PEFT stores it.
type Adapter struct {
	LoRA    model.LoRA
	weights *safetensors.File
}

// Source gives the adapter's matrices by PEFT's names.
func (a *Adapter) Source() model.Source { return a.weights }

func (a *Adapter) close() error {
	if a == nil {
		return nil
	}
	return a.weights.Close()
}

// adapterConfig is adapter_config.json as PEFT writes it.
type adapterConfig struct {
	PeftType      string          `json:"peft_type"`
	TaskType      string          `json:"task_type"`
	BaseModel     string          `json:"base_model_name_or_path"`
	Rank          int             `json:"r"`
	Alpha         float64         `json:"lora_alpha"`
	Dropout       float64         `json:"lora_dropout"`
	TargetModules json.RawMessage `json:"target_modules"`
	Bias          string          `json:"bias"`
	FanInFanOut   bool            `json:"fan_in_fan_out"`
	UseRSLoRA     bool            `json:"use_rslora"`
	UseDoRA       bool            `json:"use_dora"`
	InferenceMode bool            `json:"inference_mode"`
	InitWeights   json.RawMessage `json:"init_lora_weights,omitempty"`
	RankPattern   map[string]int  `json:"rank_pattern"`
	AlphaPattern  map[string]any  `json:"alpha_pattern"`
	ModulesToSave []string        `json:"modules_to_save"`
}

// lora checks that c asks for nothing but plain LoRA.
func (c *adapterConfig) lora() (model.LoRA, error) {
	l := model.LoRA{Rank: c.Rank, Alpha: c.Alpha, RSLoRA: c.UseRSLoRA}
	if err := json.Unmarshal(c.TargetModules, &l.Targets); err != nil {
		return l, fmt.Errorf("target_modules %s: want a list of names", c.TargetModules)
	}
	switch {
	case c.PeftType != "LORA":
		return l, fmt.Errorf("peft_type %q: want LORA", c.PeftType)
	case c.Rank < 1 || !(c.Alpha > 0):
		return l, fmt.Errorf("r is %d and lora_alpha %v: want both above 0", c.Rank, c.Alpha)
	case c.Bias != "" && c.Bias != "none":
		return l, fmt.Errorf("bias %q: want none", c.Bias)
	case c.FanInFanOut || c.UseDoRA || len(c.RankPattern)+len(c.AlphaPattern)+len(c.ModulesToSave) > 0:
		return l, errors.New("fan_in_fan_out, use_dora, rank_pattern, alpha_pattern and modules_to_save are not supported")
	}
	return l, nil
}

// loadAdapter opens an adapter and the policy under it.
func (p *Policy) loadAdapter(o Options) error {
	data, err := os.ReadFile(p.path(adapterConfigFile))
	if err != nil {
		return err
	}
	var c adapterConfig
	if err := jsonl.Unmarshal(data, &c); err != nil {
		return p.context(adapterConfigFile, err)
	}
	lora, err := c.lora()
	if err != nil {
		return p.context(adapterConfigFile, err)
	}
	base, err := p.openBase(c.BaseModel, o)
	if err != nil {
		return err
	}
	p.Base, p.weights, p.Config, p.Tokenizer = base, base, base.Config, base.Tokenizer
	if !p.has(adapterFile) {
		return fmt.Errorf("it has %s, but no weights: want %s", adapterConfigFile, adapterFile)
	}
	if err := p.notPointers(adapterFile); err != nil {
		return err
	}
	file, err := safetensors.Open(p.path(adapterFile))
	if err != nil {
		return err
	}
	p.Adapter = &Adapter{LoRA: lora, weights: file}
	sum, err := hashFiles(p.Dir, []string{adapterFile})
	p.Hash = hashAdapter(base.Hash, sum, lora)
	return err
}

// openBase opens the policy that the adapter names: relative to the adapter's
// folder or absolute, unless o replaces it.
func (p *Policy) openBase(path string, o Options) (*Policy, error) {
	switch {
	case o.Base != "":
		path = o.Base
	case path == "":
		return nil, p.context(adapterConfigFile, errors.New("base_model_name_or_path is empty: name the base with --base"))
	case !filepath.IsAbs(path):
		path = p.path(path)
	}
	// Before it is opened: adapters may name each other in a ring.
	if _, err := os.Stat(filepath.Join(path, adapterConfigFile)); err == nil {
		return nil, fmt.Errorf("the base %s is an adapter itself", path)
	}
	base, err := Open(path, Options{})
	if err != nil {
		return nil, err
	}
	if b := p.Manifest.Base; b != nil && b.SHA256 != base.Hash {
		return nil, errors.Join(fmt.Errorf("the base %s has the hash %s, this adapter was trained on %s", path, base.Hash, b.SHA256), base.Close())
	}
	return base, nil
}
