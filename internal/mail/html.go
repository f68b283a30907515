package mail

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText makes plain text of HTML: blocks become lines, table cells are
// separated by tabs, list items begin with "- ", and nothing of style, script
// and comments is left.
func htmlText(s string) string {
	w := htmlWriter{}
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return w.text()
		case html.TextToken:
			if w.hidden == 0 {
				w.write(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			w.open(atom.Lookup(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			w.close(atom.Lookup(name))
		}
	}
}

// An htmlWriter folds blanks as a browser does.
type htmlWriter struct {
	b      strings.Builder
	hidden int  // depth of elements that are not shown
	pre    int  // depth of elements that keep their blanks
	lines  int  // line ends due before the next text
	tab    bool // a cell separator is due
	space  bool // a blank is due
}

func (w *htmlWriter) open(a atom.Atom) {
	switch a {
	case atom.Script, atom.Style, atom.Title:
		w.hidden++
	case atom.Br:
		w.lines++
	case atom.Li:
		w.line(1)
		w.write("- ")
	case atom.Td, atom.Th:
		w.tab = w.lines == 0 && w.b.Len() > 0
	case atom.Pre:
		w.line(1)
		w.pre++
	default:
		w.block(a)
	}
}

func (w *htmlWriter) close(a atom.Atom) {
	switch a {
	case atom.Script, atom.Style, atom.Title:
		w.hidden = max(0, w.hidden-1)
	case atom.Pre:
		w.pre = max(0, w.pre-1)
		w.line(1)
	default:
		w.block(a)
	}
}

func (w *htmlWriter) block(a atom.Atom) {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Table, atom.Ul, atom.Ol:
		w.line(2)
	case atom.Div, atom.Tr, atom.Hr, atom.Li, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Dt, atom.Dd, atom.Center, atom.Body, atom.Head:
		w.line(1)
	}
}

// line asks for at least n line ends before the next text.
func (w *htmlWriter) line(n int) { w.lines, w.tab, w.space = max(w.lines, n), false, false }

func (w *htmlWriter) write(text string) {
	text = html.UnescapeString(text)
	if w.pre > 0 {
		w.separate()
		w.b.WriteString(text)
		return
	}
	for i, word := range strings.FieldsFunc(text, isHTMLSpace) {
		w.space = w.space || i > 0 || isHTMLSpace(rune(text[0]))
		w.separate()
		w.b.WriteString(word)
		w.space = false
	}
	w.space = w.space || text != "" && isHTMLSpace(rune(text[len(text)-1]))
}

// isHTMLSpace takes the no-break space for a blank too: mail uses it to indent.
func isHTMLSpace(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' || r == '\u00a0'
}

// separate writes what is due: line ends before a tab before a blank.
func (w *htmlWriter) separate() {
	switch {
	case w.b.Len() == 0:
	case w.lines > 0:
		w.b.WriteString("\n\n"[:min(w.lines, 2)])
	case w.tab:
		w.b.WriteByte('\t')
	case w.space:
		w.b.WriteByte(' ')
	}
	w.lines, w.tab, w.space = 0, false, false
}

func (w *htmlWriter) text() string {
	s := strings.TrimRight(w.b.String(), " \t\n")
	if s == "" {
		return ""
	}
	return s + "\n"
}
