package chattemplate

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"agentmill/internal/chat"
	"agentmill/internal/chatml"
	"agentmill/internal/dialog"
	"agentmill/internal/tokenizer"
)

// New returns what writes conversations for a policy with this tokenizer and
// this template: plain ChatML where there is no template, or one that does
// nothing else.
func New(tok *tokenizer.Tokenizer, source string, tokens map[string]string) (dialog.Encoder, error) {
	if source == "" {
		return chatml.New(tok)
	}
	t, err := Compile(source, tokens)
	if err != nil {
		return nil, err
	}
	if t.isChatML() {
		return chatml.New(tok)
	}
	return newCodec(tok, t)
}

// A codec is a template as a dialog.Encoder.
type codec struct {
	tok        *tokenizer.Tokenizer
	template   *Template
	end        tokenizer.Added
	showsTools bool
}

func newCodec(tok *tokenizer.Tokenizer, t *Template) (*codec, error) {
	c := &codec{tok: tok, template: t, showsTools: t.ShowsTools()}
	var err error
	c.end, err = t.endOfTurn(tok)
	return c, err
}

// EndOfTurn implements dialog.Encoder.
func (c *codec) EndOfTurn() int32 { return c.end.ID }

// Decode implements dialog.Encoder.
func (c *codec) Decode(ids []int32) string { return c.tok.Decode(ids) }

// EncodeTurn implements dialog.Encoder. What a model writes of its own vocabulary
// for calls and thoughts are tokens again; control tokens are not.
func (c *codec) EncodeTurn(text string) []int32 {
	return append(c.tok.EncodeQuoted(c.tok.Quote(text, false)), c.end.ID)
}

// ShowsTools implements dialog.Encoder.
func (c *codec) ShowsTools() bool { return c.showsTools }

// Begin implements dialog.Encoder.
func (c *codec) Begin(messages []chat.Message, tools []chat.Tool) (dialog.Dialog, error) {
	t := &talk{codec: c, tools: tools}
	var err error
	t.text, err = t.render(messages)
	if err != nil {
		return nil, err
	}
	t.prompt = c.tok.EncodeQuoted(t.text)
	return t, nil
}

// A talk is a conversation so far.
type talk struct {
	*codec
	tools    []chat.Tool
	messages []chat.Message // quoted
	text     string         // up to where the next turn begins
	prompt   []int32
}

// Prompt implements dialog.Dialog.
func (t *talk) Prompt() []int32 { return t.prompt }

// Next implements dialog.Dialog.
func (t *talk) Next(turn string, observed []chat.Message) (dialog.Step, error) {
	before := t.text + t.tok.Quote(turn, false) + t.end.Content
	text, err := t.render(append([]chat.Message{{Role: chat.Assistant, Content: turn}}, observed...))
	if err != nil {
		return dialog.Step{}, err
	}
	t.text = text
	if n := extends(text, before); n >= 0 {
		return dialog.Step{IDs: t.tok.EncodeQuoted(text[n:])}, nil
	}
	return dialog.Step{IDs: t.tok.EncodeQuoted(text), Rewritten: true}, nil
}

// render adds messages to the conversation and renders all of it.
func (t *talk) render(more []chat.Message) (string, error) {
	for _, m := range more {
		// A tool's result has none of the model's vocabulary, whatever it says.
		m.Content = t.tok.Quote(m.Content, m.Role == chat.ToolRole)
		t.messages = append(t.messages, m)
	}
	return t.template.Render(Input{Messages: t.messages, Tools: t.tools, Generate: true})
}

// extends returns where in longer that ends which it begins with, prefix; -1 if it
// does not. Templates tidy blanks (trim a turn, part a thought from what follows
// by two newlines): that changes nothing of what was said, so blanks do not count.
func extends(longer, prefix string) int {
	if strings.HasPrefix(longer, prefix) {
		return len(prefix)
	}
	i := 0
	for want := range strings.FieldsSeq(prefix) {
		for _, r := range want {
			i += len(longer[i:]) - len(strings.TrimLeftFunc(longer[i:], unicode.IsSpace))
			rest, ok := strings.CutPrefix(longer[i:], string(r))
			if !ok {
				return -1
			}
			i = len(longer) - len(rest)
		}
	}
	return i
}

// The probes show what a template does. Their words stand in no template.
const (
	probeUser  = "probe-question"
	probeReply = "probe-reply"
)

func probe(more ...chat.Message) []chat.Message {
	return append([]chat.Message{{Role: chat.User, Content: probeUser}}, more...)
}

var probeTools = []chat.Tool{{Name: "probe_tool", Description: "probe", Parameters: []byte(`{"type":"object","properties":{}}`)}}

// endOfTurn finds the token after an assistant's turn.
func (t *Template) endOfTurn(tok *tokenizer.Tokenizer) (tokenizer.Added, error) {
	text, err := t.Render(Input{Messages: probe(chat.Message{Role: chat.Assistant, Content: probeReply})})
	if err != nil {
		return tokenizer.Added{}, err
	}
	_, after, found := strings.Cut(text, probeReply)
	if !found {
		return tokenizer.Added{}, errors.New("chat template: does not write what an assistant says")
	}
	end, ok := tok.AddedAt(after)
	if !ok {
		return end, fmt.Errorf("chat template: ends an assistant's turn with %.20q: want a control token of the tokenizer", after)
	}
	return end, nil
}

// ShowsTools says whether the template writes tools into the prompt.
func (t *Template) ShowsTools() bool {
	with, err := t.Render(Input{Messages: probe(), Tools: probeTools, Generate: true})
	return err == nil && strings.Contains(with, probeTools[0].Name)
}

// ToolCall returns a call of a tool as the template writes the turn that makes
// it, without the turn's end; "" if it has no way to.
func (t *Template) ToolCall(c chat.ToolCall) string {
	reply, err := t.Render(Input{Messages: probe(chat.Message{Role: chat.Assistant, Content: probeReply})})
	_, end, _ := strings.Cut(reply, probeReply)
	if err != nil {
		return ""
	}
	before, err := t.Render(Input{Messages: probe(), Tools: probeTools, Generate: true})
	if err != nil {
		return ""
	}
	text, err := t.Render(Input{Messages: probe(chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{c}}), Tools: probeTools})
	turn, ok := strings.CutPrefix(text, before)
	if err != nil || !ok {
		return ""
	}
	return strings.TrimSuffix(turn, end)
}

// isChatML says whether the template does what package chatml does.
func (t *Template) isChatML() bool {
	messages := append([]chat.Message{{Role: chat.System, Content: "s"}}, probe(
		chat.Message{Role: chat.Assistant, Content: " <think>x</think> " + probeReply + "\n"},
		chat.Message{Role: chat.ToolRole, Content: " r\n"}, chat.Message{Role: chat.User, Content: "u"},
	)...)
	got, err := t.Render(Input{Messages: messages, Tools: probeTools, Generate: true})
	return err == nil && got == chatml.Text(messages)
}
