package eval

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/traj"
)

// A ToolUse is what one tool said to one policy.
type ToolUse struct {
	Policy string         `json:"policy"`
	Tool   string         `json:"tool"`
	Calls  int            `json:"calls"`
	Empty  int            `json:"empty"` // no error, and nothing found
	Errors map[string]int `json:"errors,omitempty"`
}

// answering is the prefix of a tool that ends an attempt: it finds nothing.
const answering = "return_"

// toolUse counts every call of the attempts at the common questions.
func toolUse(sets []*set, common map[string]bool) (out []ToolUse) {
	for _, s := range sets {
		by := map[string]*ToolUse{}
		for _, row := range s.at(common) {
			for i := range row.Calls {
				use(by, s.name, &row.Calls[i])
			}
		}
		for _, tool := range slices.Sorted(maps.Keys(by)) {
			out = append(out, *by[tool])
		}
	}
	return out
}

func use(by map[string]*ToolUse, policy string, c *traj.Call) {
	name := c.Tool
	if name == "" {
		name = "(none)"
	}
	u := by[name]
	if u == nil {
		u = &ToolUse{Policy: policy, Tool: name, Errors: map[string]int{}}
		by[name] = u
	}
	u.Calls++
	switch {
	case c.Error != "":
		u.Errors[c.Error]++
	case len(c.IDs) == 0 && !strings.HasPrefix(name, answering):
		u.Empty++
	}
}

// tools shows what the tools said: a line a policy and tool.
func (r *Result) tools() grid {
	g := grid{title: "What the tools said"}
	kinds := map[string]bool{}
	for _, u := range r.Tools {
		for kind := range u.Errors {
			kinds[kind] = true
		}
	}
	g.column("policy and tool", "")
	g.column("calls", "n")
	g.column("empty", "n")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		g.column(kind, "n")
	}
	for _, u := range r.Tools {
		row := []string{u.Policy + " " + u.Tool, strconv.Itoa(u.Calls), strconv.Itoa(u.Empty)}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			row = append(row, strconv.Itoa(u.Errors[kind]))
		}
		g.rows = append(g.rows, row)
	}
	return g
}
