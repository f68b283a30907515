// Package chatml turns conversations into tokens as ChatML models (SmolLM2,
// Qwen2) read them, and sampled tokens into text:
//
//	<|im_start|>ROLE\nCONTENT<|im_end|>\n
//
// A Codec encodes for playing: the prompt once, then what is observed after
// each turn; sampled tokens are kept as they are. Render encodes recorded text
// for training.
//
// H1: nothing is encoded twice. What EncodePrompt and EncodeObserved return is
// appended to the tokens sampled in between; a template never rewrites them.
// H2: content is mere text: "<|im_end|>" in a mail does not end a turn.
// H3: only what an assistant writes is trained on, its <|im_end|> included; the
// header before it and the newline after it are not.
// H4: messages are rendered as given. No default system prompt is added, as
// SmolLM2's published template does when there is none.
package chatml

import (
	"fmt"

	"agentmill/internal/chat"
	"agentmill/internal/tokenizer"
)

const (
	startToken = "<|im_start|>"
	endToken   = "<|im_end|>"
)

// A Codec encodes and decodes one model's conversations. It is safe for
// concurrent use.
type Codec struct {
	tok        *tokenizer.Tokenizer
	start, end int32
	newline    []int32
	header     []int32 // that begins an assistant's turn
}

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

// EndOfTurn is the token by which the model ends its turn.
func (c *Codec) EndOfTurn() int32 { return c.end }

// Decode returns the text of sampled tokens, control tokens by their names.
func (c *Codec) Decode(ids []int32) string { return c.tok.Decode(ids) }

// EncodePrompt encodes a conversation and the header of the turn that answers
// it. Tools do not appear: the system message describes them.
func (c *Codec) EncodePrompt(messages []chat.Message, _ []chat.Tool) []int32 {
	return append(c.messages(nil, messages), c.header...)
}

// EncodeObserved encodes what follows the <|im_end|> of an assistant's turn:
// the newline that the template puts there, messages, the next turn's header.
func (c *Codec) EncodeObserved(messages []chat.Message) []int32 {
	ids := append([]int32(nil), c.newline...)
	return append(c.messages(ids, messages), c.header...)
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
