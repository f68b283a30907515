package toolformat

import (
	"encoding/json"
	"regexp"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// Line is one call a turn on one line, for small models: its description costs
// few tokens and there is nothing to balance.
//
//	search WORDS [from:X] [to:X] [after:DAY] [before:DAY]
//	read ID
//	answer TEXT | ID ID
//
// A phrase is quoted: "two words". A search cannot say max_results.
type Line struct{}

// lineVerbs are the tools by the word that a line begins with.
var lineVerbs = map[string]string{"search": SearchEmails, "read": ReadEmail, "answer": FinalAnswer}

// toolWord is a first word that is meant as a tool's name, where prose would not
// have it: snake case.
var toolWord = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)

// emptyArgs are the arguments of a call of which none could be read.
var emptyArgs = json.RawMessage("{}")

// Name implements Format.
func (Line) Name() string { return "line" }

// Describe implements Format. It does not list the tools' schemas: the three
// lines say all of them.
func (Line) Describe([]chat.Tool) string {
	return "Each turn is one line: search WORD WORD, read NUMBER, or answer TEXT | NUMBER. " +
		"A search may add from:NAME to:NAME after:YYYY-MM-DD before:YYYY-MM-DD. " +
		"If it cannot be found: answer I don't know."
}

// Complete implements Format: a line is whole once something follows it.
func (Line) Complete(text string) bool {
	return strings.Contains(strings.TrimLeft(text, " \t\r\n"), "\n")
}

// Observe implements Format. The result comes as a user's message: the model has
// no role for tools.
func (Line) Observe(_ chat.ToolCall, content string) chat.Message {
	return chat.Message{Role: chat.User, Content: content}
}

// Parse implements Format.
func (Line) Parse(text string) (chat.ToolCall, string) {
	text = strings.TrimSpace(text)
	word, rest, _ := strings.Cut(text, " ")
	word, tail, lines := strings.Cut(word, "\n")
	tool, known := lineVerbs[strings.TrimSuffix(word, ":")]
	switch {
	case !known && toolWord.MatchString(word):
		return chat.ToolCall{Name: word, Arguments: emptyArgs}, traj.ErrUnknownTool
	case !known:
		return chat.ToolCall{Arguments: emptyArgs}, traj.ErrNoCall
	case lines || tail != "" || strings.HasSuffix(word, ":") || strings.ContainsAny(rest, "\r\n"):
		return chat.ToolCall{Name: tool, Arguments: emptyArgs}, traj.ErrUnparsable
	}
	return parseLine(tool, strings.TrimSpace(rest))
}

// parseLine reads what follows the verb.
func parseLine(tool, rest string) (chat.ToolCall, string) {
	switch tool {
	case SearchEmails:
		return parseSearch(rest)
	case ReadEmail:
		if len(strings.Fields(rest)) != 1 {
			return chat.ToolCall{Name: tool, Arguments: emptyArgs}, traj.ErrBadArgs
		}
		return Read(rest), ""
	default:
		return parseAnswer(rest)
	}
}

// parseSearch reads keywords and filters.
func parseSearch(rest string) (chat.ToolCall, string) {
	words, ok := splitQuoted(rest)
	if !ok {
		return chat.ToolCall{Name: SearchEmails, Arguments: emptyArgs}, traj.ErrUnparsable
	}
	var args SearchArgs
	for _, w := range words {
		if !args.add(w) {
			return Search(args), traj.ErrBadArgs
		}
	}
	if len(args.Keywords) == 0 {
		return Search(args), traj.ErrBadArgs
	}
	return Search(args), ""
}

// add takes one word as a filter or as a keyword. A filter without a value, or
// given twice, is refused.
func (a *SearchArgs) add(w quotedWord) bool {
	name, value, found := strings.Cut(w.text, ":")
	dst := a.filter(name)
	if w.quoted || !found || dst == nil {
		a.Keywords = append(a.Keywords, w.text)
		return true
	}
	if value == "" || *dst != "" {
		return false
	}
	*dst = value
	return true
}

// filter is the field that a filter's name sets, or nil.
func (a *SearchArgs) filter(name string) *string {
	switch name {
	case "from":
		return &a.FromAddr
	case "to":
		return &a.ToAddr
	case "after":
		return &a.SentAfter
	case "before":
		return &a.SentBefore
	}
	return nil
}

// A quotedWord is one word of a search; quoted ones are never filters.
type quotedWord struct {
	text   string
	quoted bool // it began with a quote
}

// splitQuoted splits at blanks outside double quotes; ok is false where a quote
// is left open.
func splitQuoted(s string) (words []quotedWord, ok bool) {
	var cur strings.Builder
	var inWord, inQuote, quoted bool
	end := func() {
		if text := fold(cur.String()); inWord && text != "" {
			words = append(words, quotedWord{text: text, quoted: quoted})
		}
		cur.Reset()
		inWord, quoted = false, false
	}
	for _, r := range s {
		switch {
		case r == '"':
			quoted = quoted || !inWord
			inWord, inQuote = true, !inQuote
		case !inQuote && (r == ' ' || r == '\t'):
			end()
		default:
			inWord = true
			cur.WriteRune(r)
		}
	}
	end()
	return words, !inQuote
}

// parseAnswer splits at the last bar: what stands behind it are the sources.
func parseAnswer(rest string) (chat.ToolCall, string) {
	text, tail := rest, ""
	if i := strings.LastIndex(rest, "|"); i >= 0 {
		text, tail = rest[:i], rest[i+1:]
	}
	text = strings.TrimSpace(text)
	sources := strings.FieldsFunc(tail, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
	if text == "" {
		return Answer(text, sources...), traj.ErrBadArgs
	}
	return Answer(text, sources...), ""
}

// Render implements Format. What a line cannot hold is folded (blanks) or left
// out (double quotes in a word, max_results).
func (Line) Render(c chat.ToolCall) string {
	switch c.Name {
	case SearchEmails:
		var a SearchArgs
		return renderWith(c, &a, func() string { return renderSearch(a) })
	case ReadEmail:
		var a ReadArgs
		return renderWith(c, &a, func() string { return fold("read " + a.MessageID) })
	case FinalAnswer:
		var a AnswerArgs
		return renderWith(c, &a, func() string { return renderAnswer(a) })
	}
	return fold(c.Name + " " + string(c.Arguments))
}

// renderWith renders a call whose arguments fit args, and any other as it stands.
func renderWith(c chat.ToolCall, args any, render func() string) string {
	if json.Unmarshal(c.Arguments, args) != nil {
		return fold(c.Name + " " + string(c.Arguments))
	}
	return render()
}

// renderSearch writes the line of a search.
func renderSearch(a SearchArgs) string {
	words := []string{"search"}
	for _, k := range a.Keywords {
		words = append(words, quoteWord(k))
	}
	for _, name := range []string{"from", "to", "after", "before"} {
		if v := *a.filter(name); v != "" {
			words = append(words, name+":"+quoteWord(v))
		}
	}
	return fold(strings.Join(words, " "))
}

// quoteWord quotes a keyword that would not come back as it is.
func quoteWord(w string) string {
	w = fold(strings.ReplaceAll(w, `"`, " "))
	name, _, found := strings.Cut(w, ":")
	if strings.Contains(w, " ") || found && (&SearchArgs{}).filter(name) != nil {
		return `"` + w + `"`
	}
	return w
}

// renderAnswer writes the line of an answer. The bar is left out where nothing
// needs it.
func renderAnswer(a AnswerArgs) string {
	line := "answer " + a.Answer
	if len(a.Sources) > 0 || strings.Contains(a.Answer, "|") {
		line += " | " + strings.Join(a.Sources, " ")
	}
	return fold(line)
}
