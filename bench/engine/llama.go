package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"agentmill/internal/catalog"
	"agentmill/internal/device"
	"agentmill/internal/model"
)

// llama.cpp is the peer for reading and decoding: its own benchmark programs,
// with the policy's weights in its formats.

// playGoals are the rows for one precision of ours and one format of theirs.
func playGoals(ours, theirs string, prefill, many [2]float64) []goal {
	row := func(name string, g [2]float64) goal {
		return goal{fmt.Sprintf("%s, %s vs llama.cpp %s", name, ours, theirs), g[0], g[1], "tokens/s"}
	}
	single := [2]float64{1, 1.3}
	thirty2 := many
	if many[1] > 1 {
		thirty2[1] += 0.2
	}
	return []goal{row("prefill 256", prefill), row("decode 1", single), row("decode 8", many), row("decode 32", thirty2)}
}

// llama compares with the programs in folder bin, on the GGUF files FORMAT.gguf of folder weights.
func (b *bench) llama(bin, weights string) error {
	type pair struct {
		ours, theirs  string
		prefill, many [2]float64
	}
	best := [2]float64{1, 1} // formats that nobody set a goal for
	for _, p := range []pair{
		{"bf16", "BF16", [2]float64{2, 2.8}, [2]float64{1.8, 2.8}},
		{"f32", "F32", [2]float64{1.8, 2.5}, [2]float64{1.8, 2.8}},
		{"bf16", "Q8_0", best, best},
		{"bf16", "Q4_0", best, best},
	} {
		file := filepath.Join(weights, p.theirs+".gguf")
		if _, err := os.Stat(file); err != nil {
			fmt.Fprintf(b.out, "llama.cpp %s is left out: %v\n", p.theirs, err)
			continue
		}
		if err := b.llamaPair(bin, file, p.ours, playGoals(p.ours, p.theirs, p.prefill, p.many)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) llamaPair(bin, file, precision string, goals []goal) error {
	dtype, err := catalog.Precision(precision)
	if err != nil {
		return err
	}
	m, err := catalog.NewModel(b.policy.Config, b.backend, b.policy.Merged(), model.Options{DType: dtype})
	if err != nil {
		return err
	}
	defer m.Close()
	return b.against(goals, func() ([]float64, error) { return ourPlay(m), nil }, func() ([]float64, error) {
		return llamaPlay(bin, file, b.threads)
	})
}

const (
	promptLength = 256 // of the prompt that is read
	repeats      = 4   // of reading it, after once to warm up
	before       = 64  // tokens that sequences have when decoding starts
	steps        = 32  // tokens decoded
)

var sequences = []int{1, 8, 32}

// ourPlay returns tokens a second: of a prompt, then of decoding each number of sequences.
func ourPlay(m model.Model) []float64 {
	prefill := func() {
		c := m.NewCache(promptLength)
		defer c.Free()
		batch := &model.Batch{}
		add(batch, promptLength, c)
		m.Logits(batch)
	}
	prefill() // llama-bench warms up too
	rates := []float64{rate(repeats*promptLength, func() {
		for range repeats {
			prefill()
		}
	})}
	for _, n := range sequences {
		caches := prompts(m, n)
		rates = append(rates, rate(float64(n*steps), func() { decodeSteps(m, caches) }))
		for _, c := range caches {
			c.Free()
		}
	}
	return rates
}

// prompts are the caches of n sequences of before tokens.
func prompts(m model.Model, n int) []device.Cache {
	caches, batch := make([]device.Cache, n), &model.Batch{}
	for i := range caches {
		caches[i] = m.NewCache(before + steps)
		add(batch, before, caches[i])
	}
	m.Logits(batch)
	return caches
}

func decodeSteps(m model.Model, caches []device.Cache) {
	for range steps {
		batch := &model.Batch{}
		for _, c := range caches {
			add(batch, 1, c)
		}
		m.Logits(batch)
	}
}

// llamaPlay measures the same with llama.cpp.
func llamaPlay(bin, file string, threads int) ([]float64, error) {
	t := strconv.Itoa(threads)
	out, err := output(filepath.Join(bin, "llama-bench"), "-m", file, "-t", t, "-p", strconv.Itoa(promptLength), "-n", "0", "-r", strconv.Itoa(repeats), "-o", "json")
	if err != nil {
		return nil, err
	}
	var prefill []struct {
		Rate float64 `json:"avg_ts"`
	}
	if err := json.Unmarshal(out, &prefill); err != nil || len(prefill) != 1 {
		return nil, fmt.Errorf("read what llama-bench printed: %w", err)
	}
	rates := []float64{prefill[0].Rate}
	out, err = output(filepath.Join(bin, "llama-batched-bench"), "-m", file, "-t", t, "-tb", t, "-c", "4096",
		"-npp", strconv.Itoa(before), "-ntg", strconv.Itoa(steps), "-npl", strings.Trim(strings.ReplaceAll(fmt.Sprint(sequences), " ", ","), "[]"), "--output-format", "jsonl")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		var r struct {
			Rate float64 `json:"speed_tg"`
		}
		if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				return nil, fmt.Errorf("read what llama-batched-bench printed: %w", err)
			}
			rates = append(rates, r.Rate)
		}
	}
	if len(rates) != 1+len(sequences) {
		return nil, fmt.Errorf("llama-batched-bench printed %d rates: want %d", len(rates)-1, len(sequences))
	}
	return rates, nil
}

func output(name string, args ...string) ([]byte, error) {
	out, err := exec.Command(name, args...).Output() //nolint:gosec // the user names the program
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	return out, nil
}
