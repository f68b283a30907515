package samplemail

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed kinds/*.txt
var files embed.FS

// A kind is one kind of message: what it may say, in lines with slots.
type kind struct {
	name, topic string
	key         string   // the slot that a mailbox has only once a kind
	title       string   // what the mail is about, in words for a sentence
	from        string   // who writes: "" a colleague or the owner, inside, vendor, friend, list:NAME …
	subjects    []string // one is taken
	facts       []string // one is taken
	also        []string // one or two are taken
	sides       []string // several are taken
	changes     []string // a later mail that changes the fact
	bodies      []string // whole bodies, of noise
}

// A script is everything that the embedded files say.
type script struct {
	kinds  []kind
	noise  []kind
	lists  map[string][]string // slot or slot:argument → values
	filler map[string][]string // open, close, reply …
}

// loadScript parses the embedded files.
func loadScript() (*script, error) {
	s := &script{lists: map[string][]string{}, filler: map[string][]string{}}
	names, err := fs.Glob(files, "kinds/*.txt")
	if err != nil {
		return nil, fmt.Errorf("list kinds: %w", err)
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		topic := strings.TrimSuffix(strings.TrimPrefix(name, "kinds/"), ".txt")
		if err := s.parse(topic, string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// parse reads one file: lists, names and filler are lines of their own form,
// all else is kinds.
func (s *script) parse(topic, text string) error {
	var kinds []kind
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case topic == "lists":
			s.lists[word] = strings.Split(rest, " | ")
		case topic == "names":
			s.lists[word] = strings.Fields(rest)
		case topic == "filler":
			s.filler[word] = append(s.filler[word], rest)
		case word == "kind":
			kinds = append(kinds, kind{name: rest, topic: topic})
		case len(kinds) == 0 || !kinds[len(kinds)-1].set(word, rest):
			return fmt.Errorf("line %d: %q is no line of a kind", i+1, line)
		}
	}
	if topic == "noise" {
		s.noise = kinds
	} else {
		s.kinds = append(s.kinds, kinds...)
	}
	return nil
}

// set keeps one line of a kind.
func (k *kind) set(word, rest string) bool {
	switch word {
	case "key":
		k.key = rest
	case "name":
		k.title = rest
	case "from":
		k.from = rest
	case "subj":
		k.subjects = strings.Split(rest, " | ")
	case "fact":
		k.facts = append(k.facts, rest)
	case "also":
		k.also = append(k.also, rest)
	case "side":
		k.sides = append(k.sides, rest)
	case "change":
		k.changes = append(k.changes, rest)
	case "body":
		k.bodies = append(k.bodies, rest)
	default:
		return false
	}
	return true
}
