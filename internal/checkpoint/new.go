package checkpoint

import (
	"agentmill/internal/model"
	"agentmill/internal/tokenizer"
)

// fastClass is transformers' class that takes tokenizer.json as it is; others
// build parts of it anew.
const fastClass = "PreTrainedTokenizerFast"

// tokenizerConfig is tokenizer_config.json as transformers reads it.
type tokenizerConfig struct {
	Class        string `json:"tokenizer_class"`
	MaxLength    int    `json:"model_max_length"`
	CleanUp      bool   `json:"clean_up_tokenization_spaces"`
	BOS          string `json:"bos_token,omitempty"`
	EOS          string `json:"eos_token,omitempty"`
	Unknown      string `json:"unk_token,omitempty"`
	Pad          string `json:"pad_token,omitempty"`
	ChatTemplate string `json:"chat_template,omitempty"`
}

// New returns a policy without weights or folder: the parent of one that is
// made from nothing. Tokens names its control tokens by use: bos, eos, pad, unk.
func New(c model.Config, tok *tokenizer.Tokenizer, tokens map[string]string, chatTemplate string) (*Policy, error) {
	p := &Policy{Config: c, Tokenizer: tok, files: map[string][]byte{}}
	var err error
	if p.files[configFile], err = encodeJSON(c); err != nil {
		return nil, err
	}
	p.files[tokenizerConfigFile], err = encodeJSON(tokenizerConfig{
		Class: fastClass, MaxLength: c.MaxPositionEmbeddings, ChatTemplate: chatTemplate,
		BOS: tokens["bos"], EOS: tokens["eos"], Unknown: tokens["unk"], Pad: tokens["pad"],
	})
	return p, err
}
