// Package dialog owns how a conversation becomes tokens: the interfaces that a
// way of writing conversations implements, and the training samples that
// conversations give. Package chatml implements them for plain ChatML, package
// chattemplate for the template that a policy brings with it.
//
// An Encoder encodes for playing: a prompt once, then what is observed after
// each turn; sampled tokens are kept as they are. Render encodes recorded text
// for training.
//
// H1: nothing is encoded twice. What a Dialog returns is appended to the tokens
// sampled in between. Only where a template rewrites what was (drops earlier
// thoughts, say) does it return a whole new prompt, and says so.
// H2: content is mere text: "<|im_end|>" in a mail does not end a turn.
// H3: only what an assistant writes is trained on, its end-of-turn token
// included; the header before it and what the template puts after it are not.
package dialog

import (
	"agentmill/internal/chat"
)

// An Encoder encodes and decodes one model's conversations. It is safe for
// concurrent use.
type Encoder interface {
	// Begin starts a conversation with its first messages.
	Begin(messages []chat.Message, tools []chat.Tool) (Dialog, error)
	// EncodeTurn encodes the recorded text of an assistant's turn and its end.
	EncodeTurn(text string) []int32
	// Decode returns the text of sampled tokens, control tokens by their names.
	Decode(ids []int32) string
	// EndOfTurn is the token by which the model ends its turn.
	EndOfTurn() int32
	// ShowsTools says whether Begin writes tools into the prompt. Where it does
	// not, a message must describe them.
	ShowsTools() bool
}

// A Dialog is a conversation that goes on. One goroutine uses it.
type Dialog interface {
	// Prompt is the conversation up to where its first assistant turn begins,
	// that turn's header included.
	Prompt() []int32
	// Next takes in the text of the assistant's turn, without its end, and what
	// was observed after it. It returns what follows the turn's end, up to where
	// the next turn begins.
	Next(turn string, observed []chat.Message) (Step, error)
}

// A Step is what follows an assistant's turn. Where Rewritten, the template no
// longer shows everything before as it was: IDs are a whole prompt.
type Step struct {
	IDs       []int32
	Rewritten bool
}
