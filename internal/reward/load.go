package reward

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxWeight keeps sums of terms where other rewards still count beside them.
const maxWeight = 10_000

// Load reads a reward from YAML: name, about and terms with their weights.
// source names it in errors, which are one sentence with line and field.
func Load(source string, r io.Reader) (*Set, error) {
	l := loader{source}
	var doc yaml.Node
	if err := yaml.NewDecoder(r).Decode(&doc); err != nil {
		return nil, l.syntax(err)
	}
	s := &Set{}
	given := false
	err := l.members("", doc.Content[0], func(key, value *yaml.Node) error {
		switch key.Value {
		case "name":
			return l.text(key, value, &s.Name)
		case "about":
			return l.text(key, value, &s.About)
		case "terms":
			given = true
			return l.terms(s, value)
		}
		return l.errorf(key.Line, "field %q: want name, about or terms", key.Value)
	})
	if err == nil && (!given || len(s.terms) == 0) {
		err = l.errorf(doc.Content[0].Line, "terms: want at least one of %s", strings.Join(termNames(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// A loader names its file in errors.
type loader struct{ source string }

func (l loader) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("reward %s:%d: %s", l.source, line, fmt.Sprintf(format, args...))
}

// syntax rewords what the YAML reader says of a file that is none.
func (l loader) syntax(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("reward %s: the file is empty", l.source)
	}
	what, line := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: "), 1
	if _, scanErr := fmt.Sscanf(what, "line %d: ", &line); scanErr == nil {
		_, what, _ = strings.Cut(what, ": ")
	}
	return l.errorf(line, "not valid YAML: %s", what)
}

// members calls take with each key of a mapping, which stands there once.
func (l loader) members(field string, node *yaml.Node, take func(key, value *yaml.Node) error) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		return l.errorf(node.Line, "%swant names with values, as in terms: {correct: 1}", field)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if seen[key.Value] {
			return l.errorf(key.Line, "%s%q stands twice", field, key.Value)
		}
		seen[key.Value] = true
		if err := take(key, node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (l loader) text(key, value *yaml.Node, to *string) error {
	if value.Kind != yaml.ScalarNode {
		return l.errorf(value.Line, "%s: want a text", key.Value)
	}
	*to = value.Value
	return nil
}

// terms keeps the catalogue's order, so that sums are reproducible.
func (l loader) terms(s *Set, node *yaml.Node) error {
	weights := map[string]float64{}
	known := map[string]bool{}
	for _, name := range termNames() {
		known[name] = true
	}
	err := l.members("terms: ", node, func(key, value *yaml.Node) error {
		var w float64
		switch {
		case !known[key.Value]:
			return l.errorf(key.Line, "terms: %q: want one of %s", key.Value, strings.Join(termNames(), ", "))
		case value.Tag == "!!null" || value.Decode(&w) != nil || !(math.Abs(w) <= maxWeight):
			return l.errorf(value.Line, "terms: %s: %s: want a number, at most %d above or below 0", key.Value, shown(value), maxWeight)
		}
		weights[key.Value] = w
		return nil
	})
	for _, t := range catalogue {
		if w, ok := weights[t.Name]; ok {
			s.terms = append(s.terms, weighted{t, w})
		}
	}
	return err
}

// shown is a value as it stands in the file, or what kind of value it is.
func shown(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "a list or more names"
	case n.Value == "":
		return "nothing"
	}
	return n.Value
}
