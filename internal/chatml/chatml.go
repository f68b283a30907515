// Package chatml writes conversations as ChatML models (SmolLM2) read them:
//
//	<|im_start|>ROLE\nCONTENT<|im_end|>\n
//
// It is what a policy without a template of its own gets, and one whose template
// does nothing else. Package dialog says what holds of all ways of writing, H1
// to H3.
//
// H4: messages are rendered as given. No default system prompt is added, as
// SmolLM2's published template does when there is none.
package chatml

import (
	"fmt"
	"slices"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/dialog"
	"agentmill/internal/tokenizer"
)

const (
	startToken = "<|im_start|>"
	endToken   = "<|im_end|>"
)

// A Codec is ChatML as a dialog.Encoder.
type Codec struct {
	tok        *tokenizer.Tokenizer
	start, end int32
	newline    []int32
	header     []int32 // that begins an assistant's turn
}

var _ dialog.Encoder = (*Codec)(nil)

// New returns the codec for tok, whose vocabulary must have ChatML's two markers.
func New(tok *tokenizer.Tokenizer) (*Codec, error) {
	c := &Codec{tok: tok}
	for _, m := range []struct {
		id      *int32
		content string
	}{{&c.start, startToken}, {&c.end, endToken}} {
		id, ok := tok.ID(m.content)
		if !ok {
			return nil, fmt.Errorf("the tokenizer has no token %s: not a ChatML model", m.content)
		}
		*m.id = id
	}
	c.newline = tok.Encode("\n")
	c.header = tok.Append([]int32{c.start}, string(chat.Assistant)+"\n")
	return c, nil
}

// EndOfTurn is <|im_end|>.
func (c *Codec) EndOfTurn() int32 { return c.end }

// Decode implements dialog.Encoder.
func (c *Codec) Decode(ids []int32) string { return c.tok.Decode(ids) }

// EncodeTurn implements dialog.Encoder.
func (c *Codec) EncodeTurn(text string) []int32 { return append(c.tok.Encode(text), c.end) }

// ShowsTools implements dialog.Encoder: ChatML has no place for tools.
func (*Codec) ShowsTools() bool { return false }

// Begin implements dialog.Encoder.
func (c *Codec) Begin(messages []chat.Message, _ []chat.Tool) (dialog.Dialog, error) {
	return talk{c, c.EncodePrompt(messages)}, nil
}

// talk is a conversation. What follows a turn does not depend on what was before.
type talk struct {
	*Codec
	prompt []int32
}

// Prompt implements dialog.Dialog.
func (t talk) Prompt() []int32 { return t.prompt }

// Next implements dialog.Dialog.
func (t talk) Next(_ string, observed []chat.Message) (dialog.Step, error) {
	return dialog.Step{IDs: t.EncodeObserved(observed)}, nil
}

// EncodePrompt encodes a conversation and the header of the turn that answers it.
func (c *Codec) EncodePrompt(messages []chat.Message) []int32 {
	return append(c.messages(nil, messages), c.header...)
}

// EncodeObserved encodes what follows the <|im_end|> of an assistant's turn:
// the newline that the template puts there, messages, the next turn's header.
func (c *Codec) EncodeObserved(messages []chat.Message) []int32 {
	return append(c.messages(slices.Clone(c.newline), messages), c.header...)
}

func (c *Codec) messages(ids []int32, messages []chat.Message) []int32 {
	for _, m := range messages {
		if m.Role == chat.Assistant {
			// As it is while playing: the header stands alone, the policy's
			// tokens follow it.
			ids = c.tok.Append(append(ids, c.header...), m.Content)
		} else {
			ids = c.tok.Append(append(ids, c.start), string(m.Role)+"\n"+m.Content)
		}
		ids = append(append(ids, c.end), c.newline...)
	}
	return ids
}

// Text is a conversation as text, up to where the next assistant turn begins.
func Text(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(startToken + string(m.Role) + "\n" + m.Content + endToken + "\n")
	}
	return b.String() + startToken + string(chat.Assistant) + "\n"
}
