// Command speculate plays the same questions with and without guessed tokens, in turns, and prints
// for each policy how many guesses were kept and how many times as fast play was. A specialised
// policy is easier to guess than the model it was made of.
//
//	go run ./bench/speculate --policy models/smollm2 --policy runs/demo/policy-00 \
//	    runs/demo/questions.parquet --index runs/demo/inbox.db --split test --limit 16
//
// What follows the questions is given to rollout. Its output must be the same bytes both ways.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	b := bench{}
	flag.StringVar(&b.rollout, "rollout", "bin/rollout", "the `PROGRAM` rollout")
	flag.Func("policy", "policy `FOLDER` (repeatable)", func(s string) error { b.policies = append(b.policies, s); return nil })
	flag.StringVar(&b.guesser, "speculate", "ngram", "what guesses: ngram, or the `FOLDER` of a smaller policy")
	flag.IntVar(&b.rounds, "rounds", 3, "pairs of measurements")
	flag.Parse()
	b.args = flag.Args()
	if err := b.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "speculate: error:", err)
		os.Exit(1)
	}
}

type bench struct {
	rollout, guesser string
	policies, args   []string
	rounds           int
}

func (b *bench) run(out io.Writer) error {
	if len(b.policies) == 0 || len(b.args) == 0 || b.rounds < 1 {
		return errors.New("want --policy FOLDER, at least one round, and what rollout is to play")
	}
	fmt.Fprintf(out, "%-32s  %7s  %7s  %14s  %s\n", "policy", "guessed", "kept", "tokens a step", "times as fast (range)")
	for _, policy := range b.policies {
		if err := b.policy(out, policy); err != nil {
			return fmt.Errorf("%s: %w", policy, err)
		}
	}
	return nil
}

// policy measures one policy in pairs.
func (b *bench) policy(out io.Writer, policy string) error {
	var ratios []float64
	var last play
	for range b.rounds {
		plain, err := b.play(policy)
		if err != nil {
			return err
		}
		if last, err = b.play(policy, "--speculate", b.guesser); err != nil {
			return err
		}
		if !bytes.Equal(plain.rows, last.rows) {
			return errors.New("with --speculate other rows were played: that is a fault of the engine")
		}
		ratios = append(ratios, plain.seconds/last.seconds)
	}
	slices.Sort(ratios)
	fmt.Fprintf(out, "%-32s  %7d  %6.0f%%  %14.2f  %.2f (%.2f to %.2f)\n", policy, last.made, 100*float64(last.kept)/float64(max(last.made, 1)),
		last.aStep, ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	return nil
}

// A play is what rollout wrote and said.
type play struct {
	rows       []byte
	seconds    float64 // of the whole process
	made, kept int
	aStep      float64
}

var guessLine = regexp.MustCompile(`speculation: ([0-9]+) of ([0-9]+) guessed tokens kept, ([0-9.]+) tokens a step`)

// play runs rollout once. Its clock stands still, so that rows can be compared.
func (b *bench) play(policy string, more ...string) (play, error) {
	dir, err := os.MkdirTemp("", "speculate-")
	if err != nil {
		return play{}, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "rows.jsonl")
	args := slices.Concat(b.args, []string{"--policy", policy, "--out", file, "--clock", "fixed"}, more)
	start := time.Now()
	said, err := exec.Command(b.rollout, args...).CombinedOutput() //nolint:gosec // the user names the program
	if err != nil {
		return play{}, fmt.Errorf("%s %s: %w: %s", b.rollout, strings.Join(args, " "), err, said)
	}
	p := play{seconds: time.Since(start).Seconds()}
	if g := guessLine.FindSubmatch(said); g != nil {
		p.kept, _ = strconv.Atoi(string(g[1]))
		p.made, _ = strconv.Atoi(string(g[2]))
		p.aStep, _ = strconv.ParseFloat(string(g[3]), 64)
	}
	p.rows, err = os.ReadFile(file)
	return p, err
}
