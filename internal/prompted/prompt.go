package prompted

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"

	"agentmill/internal/chat"
	"agentmill/internal/jsonl"
	"agentmill/internal/question"
)

// A Prompt replaces what an attempt begins with: the system message by a
// template, and examples between it and the question.
type Prompt struct {
	system   *template.Template
	examples []chat.Message
	sum      []byte // of all that was read
}

// blanks are what a template of the system message can name.
type blanks struct {
	Default string // the environment's own system message
	Inbox   string // whose mailbox it is
}

// SetSystem takes text as the template of the system message: Go's, with
// {{.Default}} and {{.Inbox}}. name is the file's, for messages.
func (p *Prompt) SetSystem(name, text string) error {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return fmt.Errorf("system prompt: %w", err)
	}
	if err := t.Execute(io.Discard, blanks{}); err != nil {
		return fmt.Errorf("system prompt: %w; want {{.Default}} (the built-in text) or {{.Inbox}}", err)
	}
	p.system = t
	p.mark([]byte(text))
	return nil
}

// ReadExamples takes the conversations of r, one JSON object with messages a
// line, as rollout writes them. Their system messages are left out.
func (p *Prompt) ReadExamples(name string, r io.Reader) error {
	lines := jsonl.NewReader(r)
	for {
		line, number, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("examples: %s: %w", name, err)
		}
		if err := p.addExample(line); err != nil {
			return fmt.Errorf("examples: %s:%d: %w", name, number, err)
		}
	}
	if len(p.examples) == 0 {
		return fmt.Errorf("examples: %s: holds none", name)
	}
	return nil
}

// addExample takes one conversation. It must be whole: an open call, or a
// question without an answer, would teach the wrong thing.
func (p *Prompt) addExample(line []byte) error {
	p.mark(line)
	var x struct {
		Messages []chat.Message `json:"messages"`
	}
	if err := jsonl.Unmarshal(line, &x); err != nil {
		return err
	}
	var talk []chat.Message
	for i, m := range x.Messages {
		switch m.Role {
		case chat.System:
		case chat.User, chat.Assistant, chat.ToolRole:
			talk = append(talk, m)
		default:
			return fmt.Errorf("messages[%d].role: is %q: want system, user, assistant or tool", i, m.Role)
		}
	}
	if len(talk) < 2 || talk[0].Role != chat.User || talk[len(talk)-1].Role != chat.Assistant {
		return errors.New("messages: want a conversation that begins with the user's question and ends with an assistant's turn")
	}
	for _, c := range talk[len(talk)-1].ToolCalls {
		// Servers want a result of every call.
		talk = append(talk, chat.Message{Role: chat.ToolRole, Content: "done", ToolCallID: c.ID})
	}
	p.examples = append(p.examples, talk...)
	return nil
}

// mark makes data part of the hash.
func (p *Prompt) mark(data []byte) {
	sum := sha256.Sum256(append(p.sum, data...))
	p.sum = sum[:]
}

// Hash tells prompts apart.
func (p *Prompt) Hash() string { return hex.EncodeToString(p.sum) }

// Rewrite is the prompt of an attempt at q whose own is the environment's.
func (p *Prompt) Rewrite(q *question.Question, own []chat.Message) ([]chat.Message, error) {
	if len(own) == 0 || own[0].Role != chat.System {
		return nil, errors.New("the environment's prompt has no system message")
	}
	first := own[0]
	if p.system != nil {
		var text strings.Builder
		if err := p.system.Execute(&text, blanks{Default: first.Content, Inbox: q.InboxAddress}); err != nil {
			return nil, fmt.Errorf("system prompt: %w", err)
		}
		first.Content = strings.TrimSpace(text.String())
	}
	out := append([]chat.Message{first}, p.examples...)
	return append(out, own[1:]...), nil
}
