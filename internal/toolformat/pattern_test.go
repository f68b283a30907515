package toolformat

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/grammar"
)

// mailTools are the mail environment's, and one with all that a schema can say.
var mailTools = []chat.Tool{
	{Name: SearchEmails, Parameters: json.RawMessage(`{"type":"object","properties":{"keywords":{"type":"array","items":{"type":"string"},"minItems":1},"from_addr":{"type":"string"},"sent_after":{"type":"string","description":"YYYY-MM-DD"},"max_results":{"type":"integer","maximum":10}},"required":["keywords"]}`)},
	{Name: ReadEmail, Parameters: json.RawMessage(`{"type":"object","properties":{"message_id":{"type":"integer"}},"required":["message_id"]}`)},
	{Name: FinalAnswer, Parameters: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"},"sources":{"type":"array","items":{"type":"integer"}}},"required":["answer","sources"]}`)},
	{Name: "größe", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"enum":["x","ä\"",3]},"b":{"type":["boolean","null"]},"c":{},"d":{"type":"object","properties":{"e":{"type":"number","minimum":2}}}}}`)},
}

// written draws a turn of a pattern, token by token.
func written(t *testing.T, rng *rand.Rand, m *grammar.Mask, pieces []string) string {
	t.Helper()
	text, s := "", grammar.State(0)
	for left := m.Least() + 4 + rng.IntN(40); ; left-- {
		fits := slices.DeleteFunc(slices.Clone(m.Allowed(s)), func(c grammar.Choice) bool { return c.Left > left-1 })
		if len(fits) == 0 || m.End(s) && rng.IntN(4) == 0 {
			if !m.End(s) {
				t.Fatalf("nothing may follow %q", text)
			}
			return string([]rune(text)) // as a decoder does
		}
		id := fits[rng.IntN(len(fits))].ID
		text, s = text+pieces[id], m.Next(s, id)
	}
}

// TestPatterns: every text of a format's pattern parses, is whole, and its
// arguments are an object.
func TestPatterns(t *testing.T) {
	pieces := []string{`": "`, `search `, `answer `, `"name"`, `</tool_call>`, `</think>`, " |", ` "`, "\u00a0", "from:", `{"name"`, `<|python_tag|>`}
	for b := range 256 {
		pieces = append(pieces, string([]byte{byte(b)}))
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for name, f := range formats {
		pattern, err := Pattern(f, mailTools)
		if err != nil {
			t.Fatal(err)
		}
		m, err := grammar.New(pattern, pieces)
		if err != nil {
			t.Fatal(err)
		}
		tools := map[string]int{}
		for range 400 {
			text := written(t, rng, m, pieces)
			call, kind := f.Parse(text)
			if kind != "" {
				t.Errorf("%s: %q is %s", name, text, kind)
			}
			var args map[string]any
			if err := json.Unmarshal(call.Arguments, &args); err != nil {
				t.Errorf("%s: %q has arguments %s", name, text, call.Arguments)
			}
			tools[call.Name]++
		}
		for _, tool := range mailTools[:3] {
			if tools[tool.Name] == 0 {
				t.Errorf("%s: %s was never called in 400 turns", name, tool.Name)
			}
		}
		if tools[mailTools[3].Name] == 0 && name != "line" {
			t.Errorf("%s: the fourth tool was never called", name)
		}
	}
}

// TestPatternRenders: a model that was taught by Render can go on as it was taught.
func TestPatternRenders(t *testing.T) {
	calls := []chat.ToolCall{
		Search(SearchArgs{Keywords: []string{"Larkspur", "due date"}, FromAddr: "ann", SentAfter: "2001-02-28", MaxResults: 7}),
		{Name: ReadEmail, Arguments: json.RawMessage(`{"message_id":12}`)},
		{Name: FinalAnswer, Arguments: json.RawMessage(`{"answer":"It is due \"soon\": 3 March","sources":[12,3]}`)},
	}
	var pieces []string
	for b := range 256 {
		pieces = append(pieces, string([]byte{byte(b)}))
	}
	for name, f := range formats {
		pattern, err := Pattern(f, mailTools)
		if err != nil {
			t.Fatal(err)
		}
		m, err := grammar.New(pattern, pieces)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if c.Name != SearchEmails && name == "line" {
				c = map[string]chat.ToolCall{ReadEmail: Read("12"), FinalAnswer: Answer("It is due soon: 3 March", "12", "3")}[c.Name]
			}
			s := grammar.State(0)
			for i, b := range []byte(f.Render(c)) {
				if s = m.Next(s, int32(b)); s < 0 {
					t.Fatalf("%s: %q is not of the pattern from byte %d on", name, f.Render(c), i)
				}
			}
			if !m.End(s) {
				t.Errorf("%s: %q does not end", name, f.Render(c))
			}
		}
	}
}

func TestPatternRefuses(t *testing.T) {
	for _, tt := range []struct {
		f     Format
		tools []chat.Tool
	}{
		{Line{}, mailTools[3:]},
		{JSON{}, nil},
		{Hermes{}, []chat.Tool{{Name: "x", Parameters: json.RawMessage(`{"properties":[]}`)}}},
	} {
		if p, err := Pattern(tt.f, tt.tools); err == nil {
			t.Errorf("%s: %v gives %q", tt.f.Name(), tt.tools, p)
		}
	}
}
