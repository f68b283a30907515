package synthq

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"agentmill/internal/mail"
)

//go:embed prompts/*.txt
var builtIn embed.FS

// PromptFiles are the files that a folder of prompts holds.
var PromptFiles = []string{"system.v1.txt", "batch.v1.txt"}

// Prompts is what a model is asked with.
type Prompts struct {
	system string
	batch  *template.Template
}

// LoadPrompts reads the prompts of a folder; those that it lacks, and all of
// them where dir is "", are the built-in ones.
func LoadPrompts(dir string) (*Prompts, error) {
	text := map[string]string{}
	for _, name := range PromptFiles {
		raw, err := builtIn.ReadFile("prompts/" + name)
		if err == nil && dir != "" {
			if own, e := os.ReadFile(filepath.Join(dir, name)); e == nil {
				raw = own
			} else if !os.IsNotExist(e) {
				err = e
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read prompt %s: %w", name, err)
		}
		text[name] = string(raw)
	}
	if dir != "" {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("read prompts: %w", err)
		}
	}
	batch, err := template.New(PromptFiles[1]).Option("missingkey=error").Parse(text[PromptFiles[1]])
	if err != nil {
		return nil, fmt.Errorf("read prompt %s: %w", PromptFiles[1], err)
	}
	p := &Prompts{system: text[PromptFiles[0]], batch: batch}
	if _, err := p.render(batchPrompt{}); err != nil {
		return nil, err
	}
	return p, nil
}

// A batchPrompt is what batch.v1.txt may speak of.
type batchPrompt struct {
	Owner     string
	Mails     []promptMail
	Want      int
	Forms     []string
	FormNames string
	Kinds     string // wanted kinds, "" for all
	AllKinds  string
}

// A promptMail is a mail as a model sees it.
type promptMail struct {
	Number                        int
	Date, From, To, Subject, Body string
}

func shown(number int, e *mail.Email) promptMail {
	return promptMail{number, e.Date.Format(time.RFC1123), e.From, strings.Join(e.To, ", "), e.Subject, strings.TrimSpace(e.Body)}
}

// render writes the prompt of a batch.
func (p *Prompts) render(b batchPrompt) (string, error) {
	var out strings.Builder
	if err := p.batch.Execute(&out, b); err != nil {
		return "", fmt.Errorf("prompt %s: %w", PromptFiles[1], err)
	}
	return out.String(), nil
}
