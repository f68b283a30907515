package checkpoint

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"agentmill/internal/gguf"
	"agentmill/internal/jsonl"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
)

// ChatTemplate returns the Jinja template of chat_template.jinja or of
// tokenizer_config.json, "" if there is none.
func (p *Policy) ChatTemplate() string {
	if p.Base != nil {
		return p.Base.ChatTemplate()
	}
	if data := p.files[templateFile]; data != nil {
		return string(data)
	}
	return chatTemplate(p.files[tokenizerConfigFile])
}

// TemplateTokens returns the variables that a chat template has for control
// tokens, such as bos_token.
func (p *Policy) TemplateTokens() map[string]string {
	if p.Base != nil {
		return p.Base.TemplateTokens()
	}
	return templateTokens(p.files[tokenizerConfigFile])
}

// A named template is one of several in a tokenizer_config.json.
type namedTemplate struct {
	Name     string `json:"name"`
	Template string `json:"template"`
}

// chatTemplate is the template of a tokenizer_config.json: the only one, or that
// called default.
func chatTemplate(config []byte) string {
	var one struct {
		Template string `json:"chat_template"`
	}
	if json.Unmarshal(config, &one) == nil {
		return one.Template
	}
	var many struct {
		Templates []namedTemplate `json:"chat_template"`
	}
	if json.Unmarshal(config, &many) == nil {
		for _, t := range many.Templates {
			if t.Name == "default" {
				return t.Template
			}
		}
	}
	return ""
}

// templateTokens reads names of tokens, which older files write as objects.
func templateTokens(config []byte) map[string]string {
	tokens := map[string]string{}
	var fields map[string]json.RawMessage
	if json.Unmarshal(config, &fields) != nil {
		return tokens
	}
	for _, name := range []string{"bos_token", "eos_token", "pad_token", "unk_token"} {
		var object struct {
			Content string `json:"content"`
		}
		var content string
		switch {
		case json.Unmarshal(fields[name], &content) == nil && content != "":
			tokens[name] = content
		case json.Unmarshal(fields[name], &object) == nil && object.Content != "":
			tokens[name] = object.Content
		}
	}
	return tokens
}

// ReadTemplate returns the chat template of the policy in folder dir and its
// tokens without opening the weights, "" if there is none. Base replaces the base
// that an adapter names.
func ReadTemplate(dir, base string) (source string, tokens map[string]string, err error) {
	if data, err := os.ReadFile(filepath.Join(dir, adapterConfigFile)); err == nil {
		var c adapterConfig
		if err := jsonl.Unmarshal(data, &c); err != nil {
			return "", nil, err
		}
		switch {
		case base != "":
			return ReadTemplate(base, "")
		case !filepath.IsAbs(c.BaseModel):
			return readTemplate(filepath.Join(dir, c.BaseModel))
		}
		return readTemplate(c.BaseModel)
	}
	return readTemplate(dir)
}

// readTemplate reads the template of a folder that is no adapter.
func readTemplate(dir string) (source string, tokens map[string]string, err error) {
	p := &Policy{Dir: dir, files: map[string][]byte{}}
	if _, err := safetensors.Files(dir); err != nil && p.has(ggufFile) {
		p.files[tokenizerConfigFile], err = ggufTexts(p.path(ggufFile))
		return p.ChatTemplate(), p.TemplateTokens(), err
	}
	for _, name := range []string{templateFile, tokenizerConfigFile} {
		data, err := os.ReadFile(p.path(name))
		if err == nil {
			p.files[name] = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return p.ChatTemplate(), p.TemplateTokens(), nil
}

// ggufTexts is what a GGUF file has of a tokenizer_config.json.
func ggufTexts(path string) ([]byte, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := ggufTokenizerConfig(f.Meta(), model.Config{})
	return data, errors.Join(err, f.Close())
}
