package eval

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

//go:embed report.html
var reportPage string

var page = template.Must(template.New("report").Parse(reportPage))

// A Page says how the report is dressed.
type Page struct {
	Title string
	Date  string // as text; "" leaves it out
	// Rollouts is how many questions the viewer shows at most, those first on
	// which the policies differ.
	Rollouts int
}

// attemptsShown is how many attempts of one policy at one question are shown.
const attemptsShown = 4

// HTML writes the report: one file that needs nothing else, to be read in a
// browser, light or dark, or printed.
func (r *Result) HTML(w io.Writer, dress Page) error {
	view := struct {
		Page
		*Result
		Head        string
		Lead, Foot  string
		Grids       []htmlGrid
		Accuracy    chart
		RewardChart *chart
		Stack       stack
		Curve       *curve
		Kinds       *grid
		Prompt      []chat.Message
		Cards       []card
		More        int
	}{
		Page: dress, Result: r, Head: r.headline(), Lead: r.lead(), Foot: r.footnote(), Grids: htmlGrids(r.grids()),
		Accuracy: r.accuracyChart(), RewardChart: r.rewardChart(), Stack: r.stack(), Curve: r.curve(), Kinds: r.kinds(),
	}
	view.Cards, view.More = r.cards(dress.Rollouts)
	view.Prompt = r.prompt()
	if err := page.Execute(w, view); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// htmlGrid is a grid with its anchor.
type htmlGrid struct {
	Title string
	Head  [][2]string
	Rows  [][]string
}

func htmlGrids(grids []grid) []htmlGrid {
	var out []htmlGrid
	for _, g := range grids {
		out = append(out, htmlGrid{g.title, g.head, g.rows})
	}
	return out
}

// Line and Cells let the template read a grid.
func (g *grid) Line() [][2]string { return g.head }

// Cells are the rows of a grid.
func (g *grid) Cells() [][]string { return g.rows }

// kinds shows accuracy by kind of question, where there is more than one kind.
func (r *Result) kinds() *grid {
	count := map[string]int{}
	for _, q := range r.viewed {
		count[kindOf(q.question)]++
	}
	if len(count) < 2 {
		return nil
	}
	g := &grid{title: "By kind of question"}
	g.column("kind", "")
	g.column("questions", "n")
	for _, p := range r.Policies {
		g.column(p.Name, "% right")
	}
	kinds := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for _, k := range kinds {
		row := []string{k, strconv.Itoa(count[k])}
		for _, p := range r.Policies {
			row = append(row, r.rightOfKind(p.Name, k))
		}
		g.rows = append(g.rows, row)
	}
	return g
}

func (r *Result) rightOfKind(policy, kind string) string {
	right, n := 0, 0
	for _, q := range r.viewed {
		if kindOf(q.question) != kind {
			continue
		}
		for _, row := range q.attempts[policy] {
			n++
			if correct(row) {
				right++
			}
		}
	}
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", 100*float64(right)/float64(n))
}

func kindOf(row *traj.Scored) string {
	switch {
	case !row.Question.Answerable:
		return "unanswerable"
	case row.Question.Kind == "":
		return "other"
	}
	return row.Question.Kind
}

// A viewed question is what the viewer shows: one question and everybody's
// attempts at it.
type viewed struct {
	question *traj.Scored // any row of it
	attempts map[string][]*traj.Scored
}

// view gathers the questions that everybody was asked, or all if there are none.
func view(sets []*set, common map[string]bool) []viewed {
	at := map[string]int{}
	var out []viewed
	for _, s := range sets {
		for _, row := range s.at(common) {
			i, ok := at[row.Question.ID]
			if !ok {
				i = len(out)
				at[row.Question.ID] = i
				out = append(out, viewed{row, map[string][]*traj.Scored{}})
			}
			out[i].attempts[s.name] = append(out[i].attempts[s.name], row)
		}
	}
	return out
}

// A card is one question in the viewer.
type card struct {
	Row     *traj.Scored
	Kind    string
	Differ  bool // policies differ on it
	NoneHas bool // nobody has it right
	Marks   []mark
	Plays   []play
}

// A mark is how one policy did on a question, at a glance.
type mark struct{ Policy, Class, Sign, Title string }

// A play is one attempt in full.
type play struct {
	Policy  string
	Mark    mark
	Attempt int
	Turns   []turn
	Row     *traj.Scored
	Reward  string
	Terms   []string
	Open    bool
}

// A turn is a message of an attempt.
type turn struct {
	Assistant bool
	Text      string
}

// cards returns at most limit questions, those on which the policies differ
// first, and how many are left out.
func (r *Result) cards(limit int) (cards []card, more int) {
	for _, q := range r.viewed {
		cards = append(cards, r.card(q))
	}
	slices.SortStableFunc(cards, func(a, b card) int { return cmp.Compare(rank(a), rank(b)) })
	if limit >= 0 && len(cards) > limit {
		return cards[:limit], len(cards) - limit
	}
	return cards, 0
}

func rank(c card) int {
	switch {
	case c.Differ:
		return 0
	case c.NoneHas:
		return 1
	}
	return 2
}

func (r *Result) card(q viewed) card {
	c := card{Row: q.question, Kind: kindOf(q.question)}
	right, n := 0, 0
	for _, p := range r.Policies {
		rows := q.attempts[p.Name]
		for i, row := range rows {
			n++
			if correct(row) {
				right++
			}
			if i < attemptsShown {
				c.Plays = append(c.Plays, newPlay(p.Name, row))
			}
		}
		if len(rows) > 0 {
			c.Marks = append(c.Marks, marksOf(p.Name, rows))
		}
	}
	c.Differ, c.NoneHas = right > 0 && right < n, right == 0
	return c
}

// marksOf is the mark of one attempt, or a count of right ones for several.
func marksOf(policy string, rows []*traj.Scored) mark {
	if len(rows) == 1 {
		return markOf(policy, rows[0])
	}
	right := len(filter(rows, correct))
	m := mark{Policy: policy, Class: "none", Sign: fmt.Sprintf("%d/%d", right, len(rows)), Title: "right attempts"}
	if right == len(rows) {
		m.Class = "right"
	} else if right == 0 {
		m.Class = "wrong"
	}
	return m
}

func markOf(policy string, row *traj.Scored) mark {
	m := mark{Policy: policy}
	switch v := row.Verdict; {
	case v == nil:
		m.Class, m.Sign, m.Title = "failed", "!", "failed or without a verdict"
	case v.Correct:
		m.Class, m.Sign, m.Title = "right", "✓", "right"
	case v.Hallucinated:
		m.Class, m.Sign, m.Title = "wrong", "✗", "wrong"
	case v.Abstained:
		m.Class, m.Sign, m.Title = "abstained", "?", "said that it does not know"
	default:
		m.Class, m.Sign, m.Title = "none", "∅", "no answer: "+string(row.Stop)
	}
	return m
}

func newPlay(policy string, row *traj.Scored) play {
	p := play{Policy: policy, Mark: markOf(policy, row), Attempt: row.Attempt + 1, Row: row}
	if row.Reward != nil {
		p.Reward = minus("%+.2f", *row.Reward)
	}
	for _, name := range slices.Sorted(maps.Keys(row.RewardTerms)) {
		if x := row.RewardTerms[name]; x != 0 {
			p.Terms = append(p.Terms, name+" "+minus("%+.2g", x))
		}
	}
	started := false
	for _, m := range row.Messages {
		started = started || m.Role == chat.Assistant
		if started {
			p.Turns = append(p.Turns, turn{m.Role == chat.Assistant, textOf(m)})
		}
	}
	return p
}

// textOf is a message's text with the calls that a server returned beside it.
func textOf(m chat.Message) string {
	lines := []string{strings.TrimSpace(m.Content)}
	for _, c := range m.ToolCalls {
		lines = append(lines, c.Name+" "+compact(c.Arguments))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func compact(args json.RawMessage) string { return strings.Join(strings.Fields(string(args)), " ") }

// prompt is what stood before the first turn of the first attempt that has one.
func (r *Result) prompt() []chat.Message {
	for _, q := range r.viewed {
		for _, p := range r.Policies {
			for _, row := range q.attempts[p.Name] {
				for i, m := range row.Messages {
					if m.Role == chat.Assistant && i > 0 {
						return row.Messages[:i]
					}
				}
			}
		}
	}
	return nil
}
