// Package tinypolicy writes a complete policy folder with a very small model of
// random weights, for tests and for trying the pipeline without a download.
package tinypolicy

import (
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/checkpoint"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
	"agentmill/internal/safetensors"
	"agentmill/internal/tokenizer"
)

// words are the ones that the tokenizer joins, so that a game's usual texts are
// short: each gives one merge for every letter after the first.
var words = strings.Fields(`Ġthe Ġto Ġof Ġand Ġin Ġis Ġon Ġfor Ġwas Ġby Ġfrom search read answer
	system user assistant Ġmail Ġinbox Ġdate Ġsubject Ġwhen Ġwho Ġwhat Ġday example ĠI Ġdon't Ġknow`)

// Specials are the control tokens, by id from 0.
var Specials = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}

// chatTemplate is ChatML.
const chatTemplate = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

// Tokenizer returns the tiny policy's tokenizer: all bytes, a few words, and
// the control tokens of ChatML.
func Tokenizer() (*tokenizer.Tokenizer, error) { return tokenizerOf(words, false) }

// tokenizerOf joins the given words, each in GPT-2's byte alphabet. Unless they are
// taken whole, merges of one may keep another from being joined.
func tokenizerOf(words []string, whole bool) (*tokenizer.Tokenizer, error) {
	v := tokenizer.Vocab{Split: tokenizer.SplitSmolLM, IgnoreMerges: whole}
	known := map[string]bool{}
	add := func(token string) {
		v.Tokens = append(v.Tokens, token)
		known[token] = true
	}
	for id, content := range Specials {
		v.Added = append(v.Added, tokenizer.Added{ID: int32(id), Content: content, Special: true})
		add(content)
	}
	for _, token := range tokenizer.ByteTokens() {
		add(token)
	}
	for _, word := range words {
		letters := strings.Split(word, "")
		for i := 1; i < len(letters); i++ {
			left := strings.Join(letters[:i], "")
			if !known[left+letters[i]] {
				v.Merges = append(v.Merges, [2]string{left, letters[i]})
				add(left + letters[i])
			}
		}
	}
	return tokenizer.New(v)
}

// Tensors returns random weights for c in the published names: matrices normal
// with deviation 1/√inputs, vectors near 1. They are made when they are written.
func Tensors(c model.Config, run uint64) []safetensors.Entry {
	var entries []safetensors.Entry
	for _, s := range decoder.Specs(c, families[c.ModelType].design(c)) {
		entries = append(entries, safetensors.Entry{
			Name: s.Name, DType: safetensors.BF16, Shape: s.Shape,
			Values: func() ([]float32, error) { return s.Random(run, "tiny policy"), nil },
		})
	}
	return entries
}

// Write writes a policy folder with a tiny Llama at dir. The same seed gives the
// same bytes.
func Write(dir string, run uint64) (checkpoint.Manifest, error) { return WriteShape(dir, Tiny, run) }

// WriteShape writes a policy folder with a model of the given shape at dir.
func WriteShape(dir, shape string, run uint64) (checkpoint.Manifest, error) {
	tok, err := Tokenizer()
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	return write(dir, shape, tok, run)
}

// WriteWith writes a policy folder with a tiny Llama whose tokenizer knows the given
// words besides, each after a blank: a text of them is one token a word.
func WriteWith(dir string, more []string, run uint64) (checkpoint.Manifest, error) {
	known := slices.Clone(words)
	for _, w := range more {
		known = append(known, "Ġ"+w)
	}
	tok, err := tokenizerOf(known, true)
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	return write(dir, Tiny, tok, run)
}

func write(dir, shape string, tok *tokenizer.Tokenizer, run uint64) (checkpoint.Manifest, error) {
	c, err := Config(shape, tok.Size())
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	parent, err := checkpoint.New(c, tok, map[string]string{"bos": Specials[1], "eos": Specials[2], "pad": Specials[2]}, chatTemplate)
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	return checkpoint.Save(dir, checkpoint.Contents{
		Parent: parent, Tensors: Tensors(c, run),
		Manifest: checkpoint.Manifest{Method: "random", Updated: true, Flags: flags(shape, run)},
	})
}

func flags(shape string, run uint64) map[string]string {
	f := map[string]string{"seed": strconv.FormatUint(run, 10)}
	if shape != Tiny {
		f["shape"] = shape
	}
	return f
}
