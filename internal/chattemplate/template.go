// Package chattemplate writes conversations by the Jinja template that a policy
// brings with it, as transformers' apply_chat_template does.
//
// Most callers want New, which gives a policy's dialog.Encoder. A template is
// rendered as a whole each turn; what is encoded is only what follows the tokens
// sampled so far. Package dialog says what holds of all ways of writing, H1 to H3.
//
// J1: rendered text equals transformers' (tests/interop), but for content that
// holds the names of control tokens: those stay text, H2.
// J2: no template sees the clock. strftime_now tells 26 July 2024, the day that
// Llama 3's own template falls back to.
package chattemplate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ardanlabs/jinja"

	"agentmill/internal/chat"
)

// maxSource bounds templates, and with them the depth of what is parsed.
const maxSource = 1 << 18

// A Template is a compiled chat template. It is safe for concurrent use.
type Template struct {
	compiled *jinja.Template
	tokens   map[string]string
}

// Compile compiles a template. Tokens are its variables for control tokens:
// bos_token, eos_token and others.
func Compile(source string, tokens map[string]string) (t *Template, err error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("chat template: %d bytes, want at most %d", len(source), maxSource)
	}
	defer recovered(&err)
	compiled, err := jinja.Compile(prepare(source))
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return &Template{compiled: compiled, tokens: tokens}, nil
}

// recovered makes a panic of the template engine, which a template's mistakes
// can cause, an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("chat template: %v", r)
	}
}

// An Input is what a template is rendered with.
type Input struct {
	Messages []chat.Message
	Tools    []chat.Tool
	// Generate ends the text with the header of an assistant's turn.
	Generate bool
	// Options are further variables, such as enable_thinking.
	Options map[string]any
}

// Render renders a conversation.
func (t *Template) Render(in Input) (text string, err error) {
	defer recovered(&err)
	vars := map[string]jinja.Value{
		"messages":              messageValues(in.Messages),
		"add_generation_prompt": jinja.NewBool(in.Generate),
		"strftime_now":          jinja.NewCallable("strftime_now", strftime),
		jsonName:                jinja.NewCallable(jsonName, toJSON),
		printName:               jinja.NewCallable(printName, printed),
		enterName:               jinja.NewCallable(enterName, entering()),
	}
	for name, content := range t.tokens {
		vars[name] = jinja.NewString(content)
	}
	for name, v := range in.Options {
		vars[name] = jinja.FromGoValue(v)
	}
	if len(in.Tools) > 0 {
		tools, err := toolValues(in.Tools)
		if err != nil {
			return "", err
		}
		vars["tools"] = tools
	}
	text, err = t.compiled.RenderValues(vars)
	if err != nil {
		return "", fmt.Errorf("chat template: %w", err)
	}
	return text, nil
}

// enterName is the function that every macro calls first.
const enterName = "agentmill_enter"

// maxMacros is how many macros one rendering may call.
const maxMacros = 10_000

// entering counts calls of macros.
func entering() func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
	calls := 0
	return func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
		if calls++; calls > maxMacros {
			return jinja.Undefined(), fmt.Errorf("its macros are called more than %d times: does one call itself without end?", maxMacros)
		}
		return jinja.NewString(""), nil
	}
}

// day is what strftime_now tells of 26 July 2024.
var day = strings.NewReplacer(
	"%d", "26", "%b", "Jul", "%B", "July", "%m", "07", "%Y", "2024", "%y", "24", "%A", "Friday", "%a", "Fri",
	"%H", "00", "%I", "12", "%M", "00", "%S", "00", "%p", "AM", "%%", "%",
)

func strftime(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 1 || !args[0].IsString() {
		return jinja.Undefined(), errors.New("strftime_now wants a format")
	}
	return jinja.NewString(day.Replace(args[0].AsString())), nil
}
