// Package toolformat owns how a tool call is written as text: how a format is
// described to a model, how its turns are read, and how a call and a tool's
// result are written down.
//
// Most callers want ByName. Parsers are strict and total: every text is either
// one call or one kind of mistake of package traj, always the same, never
// silently dropped. They know syntax only; whether arguments make sense is the
// environment's to say.
package toolformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentmill/internal/chat"
)

// The mail tools, with the names of the published reference.
const (
	SearchEmails = "search_emails"
	ReadEmail    = "read_email"
	FinalAnswer  = "return_final_answer"
)

// A Format is one way to write a tool call as text. It has no state.
type Format interface {
	// Name is the value of --tool-format and of a row's env_options.
	Name() string
	// Describe is the part of a system prompt that teaches the format.
	Describe(tools []chat.Tool) string
	// Parse reads one turn. The kind is "" for a call, else one of traj's Err
	// constants; the call then holds as much as could be read.
	Parse(text string) (call chat.ToolCall, kind string)
	// Render writes a call such that Parse reads it back.
	Render(call chat.ToolCall) string
	// Complete says whether text, cut by a token limit, holds a whole call.
	Complete(text string) bool
	// Observe is the message that brings a tool's result back to the model.
	Observe(call chat.ToolCall, content string) chat.Message
}

// A Documenter is a format that a model's own chat template teaches: Describe
// says only what no template knows, and Place puts Document into the prompts of
// models whose template shows no tools.
type Documenter interface {
	Format
	// Document lists the tools and says how to call them.
	Document(tools []chat.Tool) string
}

// Place returns the messages and the tools that a prompt is to be made of. A
// format that the environment describes needs no tools, a server's own always
// does; one that a template teaches needs them, or, where templateShows is false,
// its document at the end of the system message.
func Place(f Format, templateShows bool, messages []chat.Message, tools []chat.Tool) ([]chat.Message, []chat.Tool) {
	d, ok := f.(Documenter)
	switch {
	case !ok && f.Name() != Native{}.Name():
		return messages, nil
	case !ok || templateShows:
		return messages, tools
	case len(messages) == 0 || messages[0].Role != chat.System:
		return append([]chat.Message{{Role: chat.System, Content: d.Document(tools)}}, messages...), nil
	}
	messages = slices.Clone(messages)
	messages[0].Content += "\n\n" + d.Document(tools)
	return messages, nil
}

// InWords puts the structured calls of messages into their text, where a student
// learns them: a call that stands beside the text only would be lost.
func InWords(f Format, messages []chat.Message) []chat.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		for _, c := range m.ToolCalls {
			m.Content = strings.TrimLeft(m.Content+"\n"+f.Render(c), "\n")
		}
		m.ToolCalls = nil
	}
	return messages
}

// Family returns the format in which a template writes calls, Line where it
// writes none that a format here reads. Write renders a call as a turn.
func Family(write func(chat.ToolCall) string) Format {
	probe := chat.ToolCall{Name: "probe_tool", Arguments: []byte(`{"a":"b"}`)}
	for _, f := range []Format{Hermes{}, Llama3{}} {
		turn := write(probe)
		if got, kind := f.Parse(turn); kind == "" && got.Name == probe.Name {
			return f
		}
	}
	return Line{}
}

// briefing is what a template that teaches calls does not say.
const briefing = `Each turn is one call and nothing else. If it cannot be found, answer "I don't know" with no sources.`

// signature is a tool as the published templates show it.
func signature(t chat.Tool) string {
	return spaced(compact(struct {
		Type     string    `json:"type"`
		Function chat.Tool `json:"function"`
	}{"function", t}))
}

// formats are the formats by name.
var formats = map[string]Format{"line": Line{}, "json": JSON{}, "hermes": Hermes{}, "llama3": Llama3{}, "native": Native{}}

// Names lists the formats.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// ByName returns the named format.
func ByName(name string) (Format, error) {
	f, ok := formats[name]
	if !ok {
		return nil, fmt.Errorf("tool format %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return f, nil
}

// SearchArgs are the arguments of SearchEmails.
type SearchArgs struct {
	Keywords   []string `json:"keywords"`
	FromAddr   string   `json:"from_addr,omitempty"`
	ToAddr     string   `json:"to_addr,omitempty"`
	SentAfter  string   `json:"sent_after,omitempty"`
	SentBefore string   `json:"sent_before,omitempty"`
	MaxResults int      `json:"max_results,omitempty"`
}

// ReadArgs are the arguments of ReadEmail.
type ReadArgs struct {
	MessageID string `json:"message_id"`
}

// AnswerArgs are the arguments of FinalAnswer.
type AnswerArgs struct {
	Answer  string   `json:"answer"`
	Sources []string `json:"sources"`
}

// Search is a call of SearchEmails.
func Search(args SearchArgs) chat.ToolCall {
	args.Keywords = listOf(args.Keywords)
	return call(SearchEmails, args)
}

// Read is a call of ReadEmail.
func Read(id string) chat.ToolCall { return call(ReadEmail, ReadArgs{MessageID: id}) }

// Answer is a call of FinalAnswer.
func Answer(text string, sources ...string) chat.ToolCall {
	return call(FinalAnswer, AnswerArgs{Answer: text, Sources: listOf(sources)})
}

// listOf makes a missing list an empty one, which JSON writes as [].
func listOf(words []string) []string {
	if words == nil {
		return []string{}
	}
	return words
}

// call makes a tool call of an argument struct of this package.
func call(name string, args any) chat.ToolCall {
	return chat.ToolCall{Name: name, Arguments: compact(args)}
}

// compact is v as JSON with < and > as they are: Message-IDs have them. It is
// for structs of strings, which always encode.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("{}")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// fold turns every run of blanks into one space.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
