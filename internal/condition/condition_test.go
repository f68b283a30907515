package condition

import (
	"strings"
	"testing"
)

type share struct {
	Value float64 `expr:"value"`
	Low   float64 `expr:"low"`
}

type row struct {
	Correct  bool               `expr:"correct"`
	Turns    int                `expr:"turns"`
	Kind     string             `expr:"kind"`
	Accuracy share              `expr:"accuracy"`
	Terms    map[string]float64 `expr:"terms"`
}

func TestHolds(t *testing.T) {
	x := row{Correct: true, Turns: 4, Kind: "date", Accuracy: share{.9, .85}, Terms: map[string]float64{"sources right": .3}}
	for text, want := range map[string]bool{
		"correct":                         true,
		"!correct":                        false,
		"correct && turns <= 4":           true,
		"correct and not (turns < 5)":     false,
		"accuracy.low >= 0.9":             false,
		"accuracy.value >= 0.9":           true,
		"kind in ['date', 'time']":        true,
		"kind == 'phone' || turns*2 == 8": true,
		"terms['sources right'] > 0":      true,
		"true":                            true,
	} {
		c, err := Parse[row](text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if got, err := c.Holds(x); err != nil || got != want {
			t.Errorf("%q = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "unexpected token EOF",
		"corect":               "unknown name corect",
		"accuracy.lo > 1":      "has no field lo",
		"turns":                "expected bool, but got int",
		"turns > 'four'":       "mismatched types int and string",
		"correct &&":           "unexpected token EOF",
		"len(kind) > 1":        "unknown name len",
		"accuracy.low >= 0.9.": `unexpected token Operator(".")`,
	} {
		_, err := Parse[row](text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): error %v, want one with %q", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "names: correct, turns, kind, accuracy.value, accuracy.low, terms")) {
			t.Errorf("Parse(%q): error %q, want one line that lists the names", text, err)
		}
	}
}

func TestNames(t *testing.T) {
	c, err := Parse[row]("kind != 'correct' && turns < 3")
	if err != nil {
		t.Fatal(err)
	}
	if c.Names("correct") || !c.Names("correct", "turns") {
		t.Error("Names looks at texts, or not at names")
	}
}
