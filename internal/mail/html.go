package mail

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText makes plain text of HTML: blocks become lines, table cells are
// separated by tabs, list items begin with "- " or their number, quotations
// with "> ", a link's address stands behind its text, and nothing of style,
// script, comments and hidden elements is left. Nothing is fetched.
func htmlText(s string) string {
	text, whole := renderHTML(s)
	if text == "" && !whole { // a title or style that never closes: show it rather than nothing
		text, _ = renderHTML(silentTag.ReplaceAllString(s, "<x-$1"))
	}
	return text
}

var silentTag = regexp.MustCompile(`(?i)<(title|style|script|template|noscript|iframe|noframes)\b`)

// renderHTML is false where the page ended within an element that is not shown.
func renderHTML(s string) (text string, whole bool) {
	w := htmlWriter{start: true}
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return w.text(), w.hidden == 0
		case html.TextToken:
			if w.hidden == 0 {
				w.write(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			a := atom.Lookup(name)
			w.open(a, attributes(z, a, more))
		case html.EndTagToken:
			name, _ := z.TagName()
			w.close(atom.Lookup(name))
		}
	}
}

// attrs are the attributes that say something about the text.
type attrs struct {
	href, alt, start string
	hidden           bool
}

func attributes(z *html.Tokenizer, a atom.Atom, more bool) (x attrs) {
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			x.href = string(value)
		case "alt":
			x.alt = string(value)
		case "start":
			x.start = string(value)
		case "hidden":
			x.hidden = true
		case "style":
			style := strings.ToLower(strings.ReplaceAll(string(value), " ", ""))
			x.hidden = x.hidden || strings.Contains(style, "display:none") && a != atom.Body && a != atom.Html
		}
	}
	return x
}

// An htmlWriter folds blanks as a browser does.
type htmlWriter struct {
	b      strings.Builder
	hidden int       // depth of elements that are not shown
	shroud atom.Atom // the element that began to hide
	pre    int       // depth of elements that keep their blanks
	lines  int       // line ends due before the next text
	tabs   int       // cell separators due
	space  bool      // a blank is due
	start  bool      // nothing was written on this line
	quote  int       // depth of quotations
	quoted int       // the same of the line written last
	lists  []int     // of the open lists: number of the next item, -1 for bullets
	first  bool      // the next item is the first of its list
	links  []link
	row    row
	fresh  bool // at the beginning of a cell or item, where a block begins no line
}

// A row is the state of the table row being written.
type row struct {
	cells  int
	headed bool // the first cell is a heading: an empty one keeps its place
	at     int  // where the text of the cell began in the output
}

// A link is an open <a>: where its text began in the output.
type link struct {
	href string
	at   int
}

// maxLists bounds open lists, quotations, links and empty cells in a row: beyond,
// they nest no deeper.
const maxLists = 20

func (w *htmlWriter) open(a atom.Atom, x attrs) {
	if w.hidden > 0 {
		if a == w.shroud && !isVoid(a) {
			w.hidden++
		}
		return
	}
	switch {
	case isVoid(a):
	case x.hidden, isSilent(a):
		w.hidden, w.shroud = 1, a
		return
	}
	switch a {
	case atom.Br:
		w.lines++
		w.tabs, w.space = 0, false
	case atom.Ul, atom.Ol:
		w.openList(a, x)
	case atom.Li:
		w.item()
	case atom.Td, atom.Th:
		w.openCell(a)
	case atom.Tr:
		w.endCell()
		w.line(1)
		w.row = row{}
	case atom.Pre:
		w.line(1)
		w.pre++
	case atom.Blockquote:
		w.line(2)
		w.quote++
	case atom.Img:
		if alt := strings.TrimSpace(x.alt); alt != "" {
			w.write("[" + alt + "]")
		}
	case atom.A:
		if x.href != "" && len(w.links) < maxLists {
			w.links = append(w.links, link{x.href, w.b.Len()})
		}
	default:
		w.block(a)
	}
}

// isSilent reports elements whose text is not shown.
func isSilent(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Title, atom.Template, atom.Noframes, atom.Noscript, atom.Iframe:
		return true
	}
	return false
}

func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

func (w *htmlWriter) close(a atom.Atom) {
	if w.hidden > 0 {
		if a == w.shroud {
			w.hidden--
		}
		return
	}
	switch a {
	case atom.Ul, atom.Ol:
		w.lists = w.lists[:max(0, len(w.lists)-1)]
		if w.line(2); len(w.lists) > 0 {
			w.lines = min(w.lines, 1)
		}
	case atom.Td, atom.Th:
		w.endCell()
	case atom.Tr:
		w.endCell()
		w.line(1)
		w.tabs = 0
	case atom.Pre:
		w.pre = max(0, w.pre-1)
		w.line(1)
	case atom.Blockquote:
		w.line(2)
		w.quote = max(0, w.quote-1)
	case atom.A:
		w.closeLink()
	case atom.Br: // browsers take </br> for <br>
		w.lines++
	default:
		w.block(a)
	}
}

func (w *htmlWriter) block(a atom.Atom) {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Dl:
		w.line(2)
	case atom.Div, atom.Hr, atom.Li, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Dt, atom.Dd, atom.Center, atom.Body, atom.Head, atom.Caption, atom.Form, atom.Fieldset, atom.Address, atom.Main, atom.Nav, atom.Aside, atom.Figure, atom.Option:
		w.line(1)
	}
}

// openCell begins a cell: a tab separates it from the one before, even from an
// empty one, so that columns stay apart. Empty cells at the beginning of a row
// are mostly there for the looks; only those of a heading keep their place.
func (w *htmlWriter) openCell(a atom.Atom) {
	w.endCell()
	if w.row.cells == 0 {
		w.row.headed = a == atom.Th
	} else {
		w.tabs++
	}
	w.row.cells++
	w.row.at, w.fresh = w.b.Len(), true
}

// endCell drops the line ends due after the last block of a cell.
func (w *htmlWriter) endCell() {
	if w.row.cells > 0 && w.b.Len() > w.row.at {
		w.lines, w.space = 0, false
	}
	w.fresh = false
}

// openList begins a list. Numbers begin where the list says.
func (w *htmlWriter) openList(a atom.Atom, x attrs) {
	w.line(2 - min(1, len(w.lists)))
	if len(w.lists) >= maxLists {
		return
	}
	w.first = true
	next := -1
	if a == atom.Ol {
		if next = 1; x.start != "" {
			if n, err := strconv.Atoi(x.start); err == nil && n >= 0 {
				next = n
			}
		}
	}
	w.lists = append(w.lists, next)
}

// item begins an item, one level of blanks deeper for each list around its own.
func (w *htmlWriter) item() {
	w.fresh = false
	w.line(1)
	if !w.first { // paragraphs in items make no empty lines between them
		w.lines = 1
	}
	w.first = false
	n := len(w.lists)
	mark := "- "
	if n > 0 && w.lists[n-1] >= 0 {
		mark = strconv.Itoa(w.lists[n-1]) + ". "
		w.lists[n-1]++
	}
	w.separate()
	w.b.WriteString(strings.Repeat("  ", max(0, n-1)) + mark)
	w.fresh = true
}

// closeLink writes the address of a link behind its text, unless that says it.
func (w *htmlWriter) closeLink() {
	n := len(w.links) - 1
	if n < 0 {
		return
	}
	l := w.links[n]
	w.links = w.links[:n]
	if text := strings.TrimSpace(w.b.String()[min(l.at, w.b.Len()):]); text != "" {
		if address := shownAddress(l.href, text); address != "" {
			space := w.space
			w.b.WriteString(" (" + address + ")")
			w.space = space
		}
	}
}

// shownAddress is what a link adds to its text: an address of the web or of
// mail that does not stand there already.
func shownAddress(href, text string) string {
	href = shown(href)
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https", "ftp":
	case "mailto":
		if href, _, _ = strings.Cut(href[len("mailto:"):], "?"); !strings.Contains(href, "@") {
			return ""
		}
	default:
		return ""
	}
	bare := strings.ToLower(strings.TrimRight(strings.TrimPrefix(href[strings.Index(href, "//")+1:], "/"), "/"))
	if strings.Contains(strings.ToLower(text), strings.TrimPrefix(bare, "www.")) {
		return ""
	}
	return href
}

// line asks for at least n line ends before the next text. At the beginning of a
// cell or item a block asks for none.
func (w *htmlWriter) line(n int) {
	if w.fresh {
		return
	}
	w.lines, w.space = max(w.lines, n), false
}

func (w *htmlWriter) write(text string) {
	if strings.ContainsAny(text, zeroWidth) {
		text = strings.Map(dropZeroWidth, text)
	}
	if w.pre > 0 {
		if text != "" {
			w.separate()
			w.b.WriteString(strings.ReplaceAll(text, "\n", "\n"+w.prefix()))
			w.start = false
		}
		return
	}
	for text != "" {
		i := strings.IndexFunc(text, isHTMLSpace)
		if i < 0 {
			i = len(text)
		}
		if i > 0 {
			w.separate()
			w.b.WriteString(text[:i])
			text = text[i:]
		}
		if trimmed := strings.TrimLeftFunc(text, isHTMLSpace); len(trimmed) < len(text) {
			w.space, text = true, trimmed
		}
	}
}

// isHTMLSpace takes the no-break space for a blank too: mail uses it to indent.
func isHTMLSpace(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' || r == '\u00a0'
}

// zeroWidth are characters that newsletters pad with, and that would cut words
// for a search.
const zeroWidth = "\u200b\u200c\u00ad\ufeff\u034f"

func dropZeroWidth(r rune) rune {
	if strings.ContainsRune(zeroWidth, r) {
		return -1
	}
	return r
}

// separate writes what is due: line ends before tabs before a blank.
func (w *htmlWriter) separate() {
	if w.b.Len() > 0 && w.lines > 0 {
		w.endLine()
	}
	if w.start {
		w.b.WriteString(w.prefix())
		w.quoted = w.quote
		if !w.row.headed {
			w.tabs = 0
		}
	}
	switch {
	case w.tabs > 0:
		w.b.WriteString(strings.Repeat("\t", min(w.tabs, maxLists)))
	case w.space && !w.start:
		w.b.WriteByte(' ')
	}
	w.lines, w.tabs, w.space, w.start, w.fresh = 0, 0, false, false, false
}

// endLine writes the line ends that are due. An empty line belongs to a
// quotation if both of its neighbours do.
func (w *htmlWriter) endLine() {
	w.b.WriteByte('\n')
	if w.lines > 1 {
		w.b.WriteString(strings.TrimRight(quoteMarks(min(w.quote, w.quoted)), " ") + "\n")
	}
	w.start, w.lines = true, 0
}

// prefix marks a line of a quotation.
func (w *htmlWriter) prefix() string { return quoteMarks(w.quote) }

func quoteMarks(depth int) string {
	if depth == 0 {
		return ""
	}
	return strings.Repeat(">", min(depth, maxLists)) + " "
}

func (w *htmlWriter) text() string {
	s := strings.TrimRight(w.b.String(), " \t\n")
	if s == "" {
		return ""
	}
	return s + "\n"
}
