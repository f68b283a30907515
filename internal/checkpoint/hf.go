package checkpoint

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"agentmill/internal/model"
	"agentmill/internal/safetensors"
	"agentmill/internal/tokenizer"
)

// carried are the files of a published folder that a policy trained from it
// gets unchanged, where they exist.
var carried = []string{
	tokenizerConfigFile, "special_tokens_map.json", "generation_config.json",
	templateFile, "vocab.json", "merges.txt",
}

// loadHF opens a folder in Hugging Face layout.
func (p *Policy) loadHF() error {
	names, err := safetensors.Files(p.Dir)
	if err != nil {
		return err
	}
	if err := p.notPointers(names...); err != nil {
		return err
	}
	var g errgroup.Group
	g.Go(func() (err error) {
		p.Hash, err = hashFiles(p.Dir, names)
		return err
	})
	g.Go(p.readHFText)
	if err := g.Wait(); err != nil {
		return err
	}
	set, err := safetensors.OpenSet(p.Dir)
	if err != nil {
		return err
	}
	p.weights = set
	return nil
}

// readHFText reads configuration and tokenizer.
func (p *Policy) readHFText() error {
	for _, name := range append([]string{configFile, tokenizerFile}, carried...) {
		data, err := os.ReadFile(p.path(name))
		if errors.Is(err, fs.ErrNotExist) && name != configFile && name != tokenizerFile {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) && name == tokenizerFile {
			return p.noTokenizer()
		}
		if err != nil {
			return err
		}
		// The two that are parsed say more.
		if name != configFile && name != tokenizerFile && strings.HasSuffix(name, ".json") && !json.Valid(data) {
			return p.context(name, errors.New("not valid JSON"))
		}
		p.files[name] = data
	}
	var err error
	if p.Config, err = model.ParseConfig(p.files[configFile]); err != nil {
		return p.context(configFile, err)
	}
	p.Tokenizer, err = tokenizer.FromJSON(p.files[tokenizerFile])
	return p.context(tokenizerFile, err)
}
