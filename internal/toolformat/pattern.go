package toolformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"agentmill/internal/chat"
)

// Pattern is the regular expression of the turns that Parse of f reads as a call
// of one of tools, with arguments as their schemas want them. It is for writing
// calls, not for reading them: of what Parse takes in several forms, the pattern
// has one or two.
func Pattern(f Format, tools []chat.Tool) (string, error) {
	switch f.(type) {
	case Line:
		return linePattern(tools)
	case JSON, Native:
		return callPattern("", "arguments", "", jsonString, tools)
	case Llama3:
		return callPattern("", "parameters", "", jsonString, tools)
	case Hermes:
		// A tag in a text would be taken for the call's own.
		return callPattern(hermesOpen+"\n", "arguments", "\n"+hermesClose, strings.Replace(jsonString, `\\`, `\\<`, 1), tools)
	}
	return "", fmt.Errorf("tool format %s has no grammar", f.Name())
}

// What stands in lines: characters of a word (graph), all characters, and words.
// Those beyond ASCII may be blanks, so that a word has one of ASCII at least.
const (
	beyond    = `\x80-\x{10FFFF}`
	graph     = `!#-9;-~` // no quote, no colon
	lineWord  = `[` + beyond + `]*[` + graph + `][` + graph + beyond + `]*`
	linePart  = `"[` + beyond + ` ]*[` + graph + `][` + graph + `: ` + beyond + `]*"`
	lineDay   = `[12][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)`
	lineText  = `[` + beyond + `]*[!-{}~]([ -{}~` + beyond + `]*[!-{}~` + beyond + `])?`
	lineID    = `[!-+\--{}~]+` // no comma, no bar
	lineQuery = `search( (` + lineWord + `|` + linePart + `))+( from:[` + graph + `]+)?( to:[` + graph + `]+)?( after:` + lineDay + `)?( before:` + lineDay + `)?`
)

// linePatterns are the lines by tool.
var linePatterns = map[string]string{
	SearchEmails: lineQuery,
	ReadEmail:    `read ID`,
	FinalAnswer:  `answer ` + lineText + `( \| ID( ID)*)?`,
}

// linePattern is the grammar of the lines of those tools that a line can call.
func linePattern(tools []chat.Tool) (string, error) {
	id := lineID
	var lines []string
	for _, t := range tools {
		if t.Name == ReadEmail && strings.Contains(string(t.Parameters), `"integer"`) {
			id = wholeNumber
		}
		if line, ok := linePatterns[t.Name]; ok {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "", errors.New("tool format line has no call of any of the tools")
	}
	return strings.ReplaceAll(strings.Join(lines, "|"), "ID", id), nil
}

// JSON as models of these formats write it, with a blank behind colons and commas
// or none.
const (
	jsonString  = `"([^"\\\x00-\x1f\x7f]|\\["\\/bfnrt]|\\u[0-9a-d][0-9a-f]{3})+"`
	wholeNumber = `(0|[1-9][0-9]{0,8})`
	jsonNumber  = `-?` + wholeNumber + `(\.[0-9]{1,9})?`
	jsonDay     = `"` + lineDay + `"`
	comma       = `, ?`
)

// callPattern is the grammar of a JSON object with a name and arguments.
func callPattern(open, arguments, end, text string, tools []chat.Tool) (string, error) {
	if len(tools) == 0 {
		return "", errors.New("there are no tools to call")
	}
	calls := make([]string, len(tools))
	for i, t := range tools {
		var s schema
		if err := json.Unmarshal(t.Parameters, &s); err != nil {
			return "", fmt.Errorf("parameters of tool %s: %w", t.Name, err)
		}
		s.Type = "object"
		calls[i] = literal(t.Name) + comma + `"` + arguments + `": ?` + s.pattern(text, 0)
	}
	return regexp.QuoteMeta(open) + `\{"name": ?(` + strings.Join(calls, "|") + `)\}` + regexp.QuoteMeta(end), nil
}

// literal is the pattern of one text as JSON, in ASCII.
func literal(text string) string {
	var b strings.Builder
	for _, r := range string(compact(text)) {
		if r < 0x80 {
			b.WriteString(regexp.QuoteMeta(string(r)))
			continue
		}
		for _, unit := range utf16Of(r) {
			fmt.Fprintf(&b, `\\u%04x`, unit)
		}
	}
	return b.String()
}
