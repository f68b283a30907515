package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// missing says of a folder that lacks what a policy needs (by cause) what is
// there instead, where that is a common mistake.
func (p *Policy) missing(cause error) error {
	for _, hint := range []struct{ pattern, say string }{
		{"*.gguf", "rename %s to " + ggufFile},
		{"*-of-*.safetensors", "%s is a shard: model.safetensors.index.json, published beside it, is needed as well"},
		{"*.safetensors", "rename %s to model.safetensors, if it has all weights"},
		{"*.bin", "%s is in PyTorch's format, which is not read: write it anew with transformers' save_pretrained"},
		{"*.pth", "%s is in PyTorch's format, which is not read: get the model in Hugging Face layout"},
	} {
		found, err := filepath.Glob(filepath.Join(escapeGlob(p.Dir), hint.pattern))
		if err != nil || len(found) == 0 {
			continue
		}
		return fmt.Errorf("%w; "+hint.say, cause, filepath.Base(found[0]))
	}
	return cause
}

// errNoConfig is the error for a folder with weights alone.
var errNoConfig = fmt.Errorf("%w: it has weights, but no %s: fetch the one published beside them", ErrNotPolicy, configFile)

// noWeights says which files with weights are wanted.
func (p *Policy) noWeights() error {
	return p.missing(fmt.Errorf("it has %s, but no weights: want model.safetensors, or model.safetensors.index.json and the shards it names, or %s: %w", configFile, ggufFile, fs.ErrNotExist))
}

// noTokenizer says which file is wanted in place of older ones.
func (p *Policy) noTokenizer() error {
	err := fmt.Errorf("it has no %s: fetch the one published beside the weights", tokenizerFile)
	for _, older := range []string{"vocab.json", "tokenizer.model"} {
		if p.has(older) {
			return fmt.Errorf("%w; there is %s: transformers' AutoTokenizer, loaded and saved, makes one of it", err, older)
		}
	}
	return err
}

// lfs begins a file that stands for a large one which was not fetched.
const lfs = "version https://git-lfs."

// notPointers refuses weight files that are Git LFS pointers.
func (p *Policy) notPointers(names ...string) error {
	for _, name := range names {
		f, err := os.Open(p.path(name))
		if err != nil {
			return err
		}
		start := make([]byte, len(lfs))
		_, err = io.ReadFull(f, start)
		if err := errors.Join(ignoreShort(err), f.Close()); err != nil {
			return err
		}
		if bytes.Equal(start, []byte(lfs)) {
			return fmt.Errorf("%s is a Git LFS pointer, not the weights: git lfs pull fetches them", p.path(name))
		}
	}
	return nil
}

// ignoreShort leaves it to the reader of a format to refuse a short file.
func ignoreShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
