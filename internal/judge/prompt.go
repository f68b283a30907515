package judge

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/jsonl"
)

//go:embed prompts/*.txt
var prompts embed.FS

// A Prompt is what a model is told: a system and a user message with places for
// what is judged. Its name changes with its text.
type Prompt struct {
	Name         string
	system, user string
}

// The prompts that are built in.
const (
	VerdictPrompt = "verdict-v1"
	GroupPrompt   = "group-v1"
)

// LoadPrompt reads a prompt that is built in, by its name, or one from a file.
// needs are the places that it must have, such as question for {{question}}.
func LoadPrompt(name string, needs ...string) (*Prompt, error) {
	data, err := prompts.ReadFile("prompts/" + name + ".txt")
	if err != nil {
		if data, err = os.ReadFile(name); err != nil {
			return nil, fmt.Errorf("read prompt: %w", err)
		}
		sum := sha256.Sum256(data)
		name = filepath.Base(name) + "@" + hex.EncodeToString(sum[:4])
	}
	system, user, ok := strings.Cut(string(data), "\n=== user\n")
	if !ok {
		return nil, fmt.Errorf("prompt %s: want a line \"=== user\" between system and user message", name)
	}
	for _, place := range needs {
		if !strings.Contains(user, "{{"+place+"}}") {
			return nil, fmt.Errorf("prompt %s: the user message has no {{%s}}", name, place)
		}
	}
	return &Prompt{name, strings.TrimSpace(system), strings.TrimSpace(user)}, nil
}

// fill puts values into their places, each once and not into one another.
func (p *Prompt) fill(values map[string]string) []chat.Message {
	var pairs []string
	for place, v := range values {
		pairs = append(pairs, "{{"+place+"}}", v)
	}
	return []chat.Message{{Role: chat.System, Content: p.system}, {Role: chat.User, Content: strings.NewReplacer(pairs...).Replace(p.user)}}
}

// quoted is a value as JSON on one line, so that nothing in it can end it.
func quoted(v any) string {
	data, err := jsonl.Marshal(v)
	if err != nil {
		return `""`
	}
	return string(data)
}
