package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agentmill/internal/atomicfile"
	"agentmill/internal/eval"
)

// A planned unit is a line of the list: run is nil as long as it has no file.
type planned struct {
	section, name, command, about string
	run                           *unit
}

// readList reads the list of units, and the files of those that were run.
func readList(list, folder string) ([]planned, error) {
	data, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var out []planned
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s:%d: %d fields: want SECTION, NAME, COMMAND and ABOUT between tabs", list, n, len(f))
		}
		p := planned{section: f[0], name: f[1], command: f[2], about: f[3]}
		p.run, err = readUnit(filepath.Join(folder, p.name+".json"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

const end = "<!-- end -->"

// rewrite replaces what stands between the page's marks.
func rewrite(page string, units []planned) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err := fill(string(old), units)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if text == string(old) {
		return nil
	}
	return atomicfile.WriteFile(page, []byte(text))
}

// fill writes every marked part anew; everything else stays as it is.
func fill(text string, units []planned) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(text, "<!-- ")
		if i < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		mark, rest, ok := strings.Cut(text[i:], "-->")
		if !ok {
			return "", fmt.Errorf("%.40q: want a comment that ends", text[i:])
		}
		b.WriteString(text[:i] + mark + "-->\n")
		_, after, ok := strings.Cut(rest, end)
		if !ok {
			return "", fmt.Errorf("%s-->: want %s after it", mark, end)
		}
		part, err := content(strings.Fields(mark)[1:], units)
		if err != nil {
			return "", err
		}
		b.WriteString(part + "\n" + end)
		text = after
	}
}

// content is what stands after a mark.
func content(mark []string, units []planned) (string, error) {
	switch {
	case len(mark) == 2 && mark[0] == "table":
		if !slices.ContainsFunc(units, func(p planned) bool { return p.section == mark[1] }) {
			return "", fmt.Errorf("table %s: no unit has this section", mark[1])
		}
		return tables(slices.DeleteFunc(slices.Clone(units), func(p planned) bool { return p.section != mark[1] })), nil
	case slices.Equal(mark, []string{"made"}):
		return made(units), nil
	case slices.Equal(mark, []string{"not", "run"}):
		return missing(units), nil
	}
	return "", fmt.Errorf("mark %q: want table SECTION, made or not run", strings.Join(mark, " "))
}

// tables joins the units' policies and their paired tests into one result, which
// eval writes.
func tables(units []planned) string {
	var all eval.Result
	for _, p := range units {
		if p.run == nil {
			continue
		}
		for _, policy := range p.run.own() {
			all.Policies = append(all.Policies, policy)
			for _, g := range p.run.Result.Gains {
				if g.Policy == policy.Name {
					all.Gains = append(all.Gains, g)
				}
			}
		}
	}
	if len(all.Policies) == 0 {
		return "\nNo unit of this part has been run.\n"
	}
	slices.SortStableFunc(all.Gains, func(a, b eval.Gain) int { return cmp.Compare(a.Baseline, b.Baseline) })
	return all.MarkdownTables()
}

// made tells of every unit what it is and what it took.
func made(units []planned) string {
	var b strings.Builder
	b.WriteString("\n| unit | what | settings | training | rows | time, min | policy |\n| :--- | :--- | :--- | :--- | ---: | ---: | :--- |\n")
	n := 0
	for _, p := range units {
		if p.run == nil {
			continue
		}
		n++
		what, rows, seconds, hash := []string{}, 0, 0.0, p.run.Result.Policies[0].Policy.Hash
		for _, s := range p.run.Made {
			w := fmt.Sprintf("%s, %d updates", s.Method, s.Updates)
			if s.Idle > 0 {
				w += fmt.Sprintf(" (%d times nothing to learn)", s.Idle)
			}
			what = append(what, w)
			rows += s.Rows
			seconds += s.Seconds
		}
		training := cmp.Or(strings.Join(what, "; "), "–")
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | `%s` |\n", p.name, cell(p.about), cell(code(p.run.Settings)), training,
			count(rows), minutes(seconds), hash[:min(12, len(hash))])
	}
	if n == 0 {
		return "\nNo unit has been run.\n"
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + s + "`"
}

func count(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}

func minutes(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", seconds/60)
}

// missing names every unit without a file, with the command that runs it.
func missing(units []planned) string {
	var b strings.Builder
	for _, p := range units {
		if p.run == nil {
			fmt.Fprintf(&b, "\n- `%s`: %s", p.command, p.about)
		}
	}
	if b.Len() == 0 {
		return "\nEvery unit has been run.\n"
	}
	return b.String() + "\n"
}
