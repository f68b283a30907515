package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	ufcli "github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"
)

const envPrefix = "AGENTMILL_"

// resolve orders args so that flags come first, refuses unknown flags wherever
// they stand, and adds what environment and --config say about flags that the
// command line leaves open.
//
// urfave/cli alone stops at the first argument: `eval a.jsonl --gate .9` would
// take --gate for a file name, and a gate that is not there is always met.
func resolve(flags []ufcli.Flag, args []string, getenv func(string) string) ([]string, error) {
	known := index(flags)
	line, rest, err := known.split(args)
	if err != nil {
		return nil, err
	}
	if line.has("help") {
		return []string{"--help"}, nil
	}
	given := line
	environ := known.environment(flags, getenv, given)
	given = append(given, environ...)
	if path := given.last("config"); path != "" {
		file, err := known.file(path, given)
		if err != nil {
			return nil, err
		}
		given = append(given, file...)
	}
	if !line.has("version") {
		if err := required(flags, given); err != nil {
			return nil, err
		}
	}
	out := make([]string, 0, len(given)+1+len(rest))
	for _, s := range given {
		if err := check(known[s.name], s.value); err != nil {
			return nil, Usagef("%s--%s %q: want %w", s.from, s.name, s.value, err)
		}
		out = append(out, "--"+s.name+"="+s.value)
	}
	return append(append(out, "--"), rest...), nil
}

// A setting is one flag with its value; from says where it was given, as in
// "c.yaml:3: ", and is empty for the command line.
type setting struct{ name, value, from string }

type settings []setting

func (s settings) has(name string) bool {
	return slices.ContainsFunc(s, func(x setting) bool { return x.name == name })
}

func (s settings) last(name string) (value string) {
	for _, x := range s {
		if x.name == name {
			value = x.value
		}
	}
	return value
}

// flagSet maps every spelling to its flag.
type flagSet map[string]ufcli.Flag

func index(flags []ufcli.Flag) flagSet {
	set := flagSet{}
	for _, f := range append(slices.Clone(flags), ufcli.HelpFlag) {
		for _, name := range f.Names() {
			set[name] = f
		}
	}
	return set
}

// split separates flags, under their main names, from arguments.
func (set flagSet) split(args []string) (line settings, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return line, append(rest, args[i+1:]...), nil
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		name, value, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		f, ok := set[name]
		switch {
		case !ok:
			return nil, nil, set.unknown(arg, name)
		case inline:
		case isBool(f):
			value = "true"
		case i+1 == len(args):
			return nil, nil, Usagef("--%s needs a value", name)
		case set.looksLikeFlag(args[i+1]):
			return nil, nil, Usagef("--%s needs a value, but %s follows; write --%s=%s if that is the value", name, args[i+1], name, args[i+1])
		default:
			i++
			value = args[i]
		}
		line = append(line, setting{f.Names()[0], value, ""})
	}
	return line, rest, nil
}

// looksLikeFlag says that arg is more likely a flag than a value: -1 and - are values.
func (set flagSet) looksLikeFlag(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	_, ok := set[name]
	return strings.HasPrefix(arg, "--") || (strings.HasPrefix(arg, "-") && ok)
}

func (set flagSet) unknown(arg, name string) error {
	arg, _, _ = strings.Cut(arg, "=")
	if near := set.nearest(name); near != "" {
		return WithHint(Usagef("unknown flag %s", arg), "did you mean --"+near+"? --help lists all flags")
	}
	return WithHint(Usagef("unknown flag %s", arg), "--help lists all flags; write -- before a file name that begins with -")
}

// nearest is a known flag that is at most two edits away.
func (set flagSet) nearest(name string) string {
	best, found := 3, ""
	for known := range set {
		d := distance(known, name)
		if d < best || (d == best && found != "" && known < found) {
			best, found = d, known
		}
	}
	return found
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(diag+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// environment is what variables say about flags that given leaves open. The
// values of a repeatable flag stand on lines of their own.
func (set flagSet) environment(flags []ufcli.Flag, getenv func(string) string, given settings) (out settings) {
	for _, f := range flags {
		name := f.Names()[0]
		variable := envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value := getenv(variable)
		switch {
		case value == "" || given.has(name) || name == "version":
		case isSlice(f):
			for v := range strings.SplitSeq(strings.TrimSpace(value), "\n") {
				out = append(out, setting{name, v, variable + ": "})
			}
		default:
			out = append(out, setting{name, value, variable + ": "})
		}
	}
	return out
}

// file is what a YAML file says about flags that given leaves open.
func (set flagSet) file(path string, given settings) (out settings, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, Usagef("--config: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, Usagef("--config %s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, Usagef("%s:%d: want flags as `name: value`", path, top.Line)
	}
	at := map[string]int{} // line of each key
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if first, ok := at[key.Value]; ok {
			return nil, Usagef("%s:%d: %s: stands already in line %d", path, key.Line, key.Value, first)
		}
		at[key.Value] = key.Line
		f, ok := set[key.Value]
		if !ok || key.Value == "config" || key.Value == "help" {
			return nil, Usagef("%s:%d: %s: no such flag", path, key.Line, key.Value)
		}
		values, err := scalars(f, value)
		if err != nil {
			return nil, Usagef("%s:%d: %s: %w", path, value.Line, key.Value, err)
		}
		if name := f.Names()[0]; !given.has(name) {
			for _, v := range values {
				out = append(out, setting{name, v, fmt.Sprintf("%s:%d: ", path, value.Line)})
			}
		}
	}
	return out, nil
}

func scalars(f ufcli.Flag, n *yaml.Node) (values []string, err error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}, nil
	case n.Kind != yaml.SequenceNode || !isSlice(f):
		return nil, errors.New("want one value")
	}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, errors.New("want a list of plain values")
		}
		values = append(values, item.Value)
	}
	return values, nil
}

func required(flags []ufcli.Flag, given settings) error {
	for _, f := range flags {
		if r, ok := f.(ufcli.RequiredFlag); ok && r.IsRequired() && !given.has(f.Names()[0]) {
			return Usagef("--%s is missing", f.Names()[0])
		}
	}
	return nil
}

func isBool(f ufcli.Flag) bool {
	_, ok := f.(*ufcli.BoolFlag)
	return ok
}

func isSlice(f ufcli.Flag) bool {
	s, ok := f.(ufcli.DocGenerationSliceFlag)
	return ok && s.IsSliceFlag()
}

// check says what is wanted in place of value where f can't take it.
func check(f ufcli.Flag, value string) error {
	var err error
	switch f.(type) {
	case *ufcli.BoolFlag:
		_, err = strconv.ParseBool(value)
	case *ufcli.IntFlag:
		_, err = strconv.ParseInt(value, 0, 64)
	case *ufcli.Uint64Flag:
		_, err = strconv.ParseUint(value, 0, 64)
	case *ufcli.Float64Flag:
		var x float64
		if x, err = strconv.ParseFloat(value, 64); err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
			return errors.New("a finite number")
		}
	case *ufcli.DurationFlag:
		_, err = time.ParseDuration(value)
	}
	if err != nil {
		return errors.New(wanted(f))
	}
	return nil
}

// NotNegative is the Action of a number flag that counts something.
func NotNegative(name string) func(*ufcli.Context, int) error {
	return func(_ *ufcli.Context, n int) error {
		if n < 0 {
			return Usagef("--%s %d: want 0 or more", name, n)
		}
		return nil
	}
}

// Positive is the Action of a number flag whose default is not 0 but found
// elsewhere: 0 given is a mistake, not that default.
func Positive(name string) func(*ufcli.Context, float64) error {
	return func(_ *ufcli.Context, x float64) error {
		if !(x > 0) {
			return Usagef("--%s %g: want more than 0", name, x)
		}
		return nil
	}
}

var badValue = regexp.MustCompile(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-([^:]*): `)

// usageError rewords what the flag package says about a value.
func usageError(flags []ufcli.Flag, err error) error {
	m := badValue.FindStringSubmatch(err.Error())
	if m == nil {
		return Usagef("%w", err)
	}
	return Usagef("--%s %q: want %s", m[2], m[1], wanted(index(flags)[m[2]]))
}

// wanted names the values that a flag takes.
func wanted(f ufcli.Flag) string {
	switch f.(type) {
	case *ufcli.BoolFlag:
		return "true or false"
	case *ufcli.IntFlag, *ufcli.Int64Flag, *ufcli.IntSliceFlag, *ufcli.Int64SliceFlag:
		return "a whole number"
	case *ufcli.UintFlag, *ufcli.Uint64Flag:
		return "a whole number, not negative"
	case *ufcli.Float64Flag, *ufcli.Float64SliceFlag:
		return "a number"
	case *ufcli.DurationFlag:
		return "a duration such as 90s or 5m"
	}
	return fmt.Sprintf("another value (%T)", f)
}
