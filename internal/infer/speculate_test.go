package infer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/device/cpu"
	"agentmill/internal/infer"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
	"agentmill/internal/model/llama"
)

// draft is a tiny random model: with the seed 3 the one that plays.
func draft(t *testing.T, seed uint64) model.Model {
	t.Helper()
	backend, err := cpu.New(1, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	m, err := llama.New(config(), backend, decoder.Random(config(), llama.Design(config()), seed), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSpeculationChangesNothing: tokens, log-probabilities and replies are those
// of play without, bit for bit, whatever is guessed.
func TestSpeculationChangesNothing(t *testing.T) {
	want, wantReplies := playAll(t, start(t, nil))
	for name, change := range map[string]func(*infer.Config){
		"n-grams":            func(c *infer.Config) { c.NGrams = true },
		"many n-grams":       func(c *infer.Config) { c.NGrams, c.Guesses = true, 9 },
		"the same model":     func(c *infer.Config) { c.Draft = draft(t, 3) },
		"another model":      func(c *infer.Config) { c.Draft, c.Guesses = draft(t, 5), 3 },
		"in small steps":     func(c *infer.Config) { c.NGrams, c.BatchTokens = true, 7 },
		"a context too full": func(c *infer.Config) { c.Draft, c.Guesses = draft(t, 3), 50 },
	} {
		e := start(t, change)
		got, replies := playAll(t, e)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: traces (-without +with):\n%s", name, diff)
		}
		if diff := cmp.Diff(wantReplies, replies); diff != "" {
			t.Errorf("%s: replies (-without +with):\n%s", name, diff)
		}
		if !strings.Contains(e.Report(), " kept, ") {
			t.Errorf("%s: report %q", name, e.Report())
		}
	}
}

// TestGuessesAreKept: a model that guesses its own greedy choice is always right.
func TestGuessesAreKept(t *testing.T) {
	e := start(t, func(c *infer.Config) { c.Codec, c.Draft, c.Guesses = endless{}, draft(t, 3), 5 })
	if _, _, err := play(e, task(1, "abcabc", samplings[3]), 1); err != nil {
		t.Fatal(err)
	}
	if got, want := e.Report(), "speculation: 4 of 4 guessed tokens kept, 3.00 tokens a step of a sequence"; got != want {
		t.Errorf("report %q, want %q", got, want)
	}
}
