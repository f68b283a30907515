// Command engine measures tokens a second of a policy folder on this machine:
// reading prompts, decoding, and training.
//
//	go run ./bench/engine --policy models/smollm2
//
// With peers, the parts limits, bound, llama, torch and grpo print a table of ratios;
// README.md says how to install them.
//
//	go run ./bench/engine --policy models/smollm2 --parts limits,llama --llama DIR --gguf DIR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"agentmill/internal/agent"
	"agentmill/internal/catalog"
	"agentmill/internal/chat"
	"agentmill/internal/checkpoint"
	"agentmill/internal/clock"
	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model"
	"agentmill/internal/traj"
)

func main() {
	dir := flag.String("policy", "", "policy `FOLDER`")
	parts := flag.String("parts", "prefill,decode,rollout,full,lora", "what to measure")
	rounds := flag.Int("rounds", 5, "measurements of each, the median is shown")
	var p peers
	flag.StringVar(&p.llama, "llama", "", "`FOLDER` of llama-bench and llama-batched-bench")
	flag.StringVar(&p.gguf, "gguf", "", "`FOLDER` of the same weights for llama.cpp: BF16.gguf, F32.gguf, Q8_0.gguf, Q4_0.gguf")
	flag.StringVar(&p.python, "python", "python3", "Python with torch, transformers and gguf")
	precisions := flag.String("precision", "bf16,w16,f32", "of the parts prefill and decode")
	rollouts := flag.Int("rollouts", 48, "attempts of the part grpo")
	path := flag.String("path", "", "kernel path; default: the fastest")
	profile := flag.String("cpuprofile", "", "write a CPU profile to `FILE`")
	flag.Parse()
	err := profiled(*profile, func() error { return run(os.Stdout, *dir, *path, *parts, *precisions, *rounds, p, *rollouts) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "engine: error:", err)
		os.Exit(1)
	}
}

// profiled does work, under a CPU profile where path is not empty.
func profiled(path string, work func() error) error {
	if path == "" {
		return work()
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return work()
}

// A bench is one policy on one device.
type bench struct {
	policy     *checkpoint.Policy
	backend    *cpu.Backend
	out        io.Writer
	precisions []string
	rounds     int
	threads    int
	peers      peers

	rollouts int // of a GRPO step
}

// peers says where programs to compare with are.
type peers struct {
	llama, gguf, python string
}

func run(out io.Writer, dir, path, parts, precisions string, rounds int, peers peers, rollouts int) error {
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer p.Close()
	backend, err := cpu.New(0, path)
	if err != nil {
		return err
	}
	defer backend.Close()
	fmt.Fprintf(out, "device %s, path %s\n", backend.Name(), backend.Path())
	b := &bench{p, backend, out, strings.Split(precisions, ","), rounds, runtime.GOMAXPROCS(0), peers, rollouts}
	for part := range strings.SplitSeq(parts, ",") {
		switch part {
		case "prefill":
			err = b.play("prefill", b.prefill)
		case "decode":
			err = b.play("decode", b.decode(1, 8, 32))
		case "decode1":
			err = b.play("decode", b.decode(1))
		case "decode8":
			err = b.play("decode", b.decode(8))
		case "decode32":
			err = b.play("decode", b.decode(32))
		case "rollout":
			err = b.rollout()
		case "llama":
			b.heading()
			err = b.llama(peers.llama, peers.gguf)
		case "limits":
			b.heading()
			err = b.limits()
		case "bound":
			b.heading()
			err = b.bound()
		case "torch":
			b.heading()
			err = b.torchTrain()
		case "grpo":
			b.heading()
			err = b.grpo()
		case "full":
			err = b.train(model.Options{Train: model.TrainFull})
		case "lora":
			err = b.train(model.Options{Train: model.TrainLoRA, LoRA: model.LoRA{Rank: 16, Alpha: 32, Targets: model.AllProjections()}})
		default:
			err = fmt.Errorf("part %q: want prefill, decode, decode1, decode8, decode32, rollout, full, lora, limits, bound, llama, torch or grpo", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// play runs measure with weights in every format asked for.
func (b *bench) play(name string, measure func(name string, m model.Model)) error {
	for _, precision := range b.precisions {
		dtype, err := catalog.Precision(precision)
		if err != nil {
			return err
		}
		m, err := catalog.NewModel(b.policy.Config, b.backend, b.policy.Merged(), model.Options{DType: dtype})
		if err != nil {
			return err
		}
		measure(name+" "+precision, m)
		m.Close()
	}
	return nil
}

// show prints the median tokens a second of some rounds of f, after one to warm up.
func (b *bench) show(name string, tokens int, f func()) {
	f()
	var rates []float64
	for range b.rounds {
		start := clock.Real().Now()
		f()
		rates = append(rates, float64(tokens)/clock.Since(clock.Real(), start))
	}
	slices.Sort(rates)
	fmt.Fprintf(b.out, "%-28s %8.1f tokens/s (%.1f to %.1f)\n", name, rates[len(rates)/2], rates[0], rates[len(rates)-1])
}

// prefill reads 512 tokens: two prompts of 256.
func (b *bench) prefill(name string, m model.Model) {
	const n, length = 2, 256
	b.show(name+", 2 x 256", n*length, func() {
		batch := &model.Batch{}
		for range n {
			c := m.NewCache(length)
			defer c.Free()
			add(batch, length, c)
		}
		m.Logits(batch)
	})
}

// decode measures tokens of so many sequences at once.
func (b *bench) decode(sequences ...int) func(name string, m model.Model) {
	return func(name string, m model.Model) {
		for _, n := range sequences {
			b.decodeOf(n, fmt.Sprintf("%s, %d sequences", name, n), m)
		}
	}
}

// decodeOf samples 16 tokens of n sequences that already have 64.
func (b *bench) decodeOf(n int, name string, m model.Model) {
	const before, steps = 64, 16
	caches := make([]device.Cache, n)
	first := &model.Batch{}
	for i := range caches {
		caches[i] = m.NewCache(before + steps)
		defer caches[i].Free()
		add(first, before, caches[i])
	}
	m.Logits(first)
	b.show(name, n*steps, func() {
		for range steps {
			batch := &model.Batch{}
			for _, c := range caches {
				add(batch, 1, c)
			}
			m.Logits(batch)
		}
		for _, c := range caches {
			c.Truncate(before)
		}
	})
}

// rollout plays 32 attempts of three turns at once: about 140 tokens of prompt,
// 120 observed between turns, 16 sampled a turn.
func (b *bench) rollout() error {
	const attempts, turns, turnTokens = 32, 3, 16
	local, err := catalog.OpenLocal(catalog.LocalConfig{Dir: b.policy.Dir, Device: "cpu", Precision: "w16"})
	if err != nil {
		return err
	}
	defer local.Close()
	var all, sampled atomic.Int64
	var errs [attempts]error
	start := clock.Real().Now()
	var wg sync.WaitGroup
	for i := range attempts {
		wg.Go(func() {
			errs[i] = attempt(local, uint64(i), turns, turnTokens, func(t chat.Turn) {
				all.Add(int64(t.PromptTokens + t.CompletionTokens - t.Cached))
				sampled.Add(int64(t.CompletionTokens))
			})
		})
	}
	wg.Wait()
	seconds := clock.Since(clock.Real(), start)
	fmt.Fprintf(b.out, "%-28s %8.1f tokens/s, %.1f sampled/s, %.2f s\n", "rollout w16, 32 sessions", float64(all.Load())/seconds, float64(sampled.Load())/seconds, seconds)
	return errors.Join(errs[:]...)
}

// attempt plays one attempt and reports its turns.
func attempt(p agent.Policy, seed uint64, turns, turnTokens int, count func(chat.Turn)) error {
	ctx := context.Background()
	words := func(n int) []chat.Message {
		return []chat.Message{{Role: chat.User, Content: strings.Repeat("the meeting about money moved ", n)}}
	}
	s, err := p.Begin(ctx, agent.Task{Prompt: words(27), Sampling: traj.Sampling{Temperature: 1}, Seed: seed, TurnTokens: turnTokens})
	if err != nil {
		return err
	}
	defer s.Close()
	for range turns {
		r, err := s.Next(ctx, words(22))
		if err != nil {
			return err
		}
		count(r.Turn)
	}
	return nil
}

// add appends n new tokens of the sequence that c holds.
func add(b *model.Batch, n int, c device.Cache) {
	start, at := len(b.IDs), c.Len()
	for i := range n {
		b.IDs = append(b.IDs, int32((at+i)*37%1000+300))
		b.Positions = append(b.Positions, int32(at+i))
	}
	b.Rows = append(b.Rows, int32(len(b.IDs)-1))
	b.Seqs = append(b.Seqs, device.Seq{Start: start, Len: n, Cache: c})
}

// train takes optimiser steps on four sequences of 550 tokens, 50 of them trained.
func (b *bench) train(o model.Options) error {
	m, err := catalog.NewModel(b.policy.Config, b.backend, b.policy.Merged(), o)
	if err != nil {
		return err
	}
	defer m.Close()
	const n, length = 4, 550
	batch, err := model.Pack(samples(n, length, 11))
	if err != nil {
		return err
	}
	targets := len(batch.Targets)
	logp, dlogp := make([]float32, targets), make([]float32, targets)
	for i := range dlogp {
		dlogp[i] = -1 / float32(targets)
	}
	name := fmt.Sprintf("train %s f32", o.Train)
	b.show(name+", forward", n*length, func() { m.Forward(batch, logp, false) })
	b.show(name+", forward+backward", n*length, func() {
		m.Weights().ZeroGrads()
		m.Forward(batch, logp, true)
		m.Backward(dlogp)
	})
	update := b.optimiser(m)
	b.show(name+", whole step", n*length, func() {
		m.Weights().ZeroGrads()
		m.Forward(batch, logp, true)
		m.Backward(dlogp)
		update()
	})
	return nil
}

// samples are n sequences of which one token in every is trained.
func samples(n, length, every int) []model.Sample {
	var all []model.Sample
	for i := range n {
		s := model.Sample{IDs: make([]int32, length), Trained: make([]bool, length)}
		for p := range length {
			s.IDs[p] = int32((p*31+i*7)%1000 + 300)
			s.Trained[p] = p > 0 && p%every == every-1
		}
		s.Trained[length-1] = true
		all = append(all, s)
	}
	return all
}

// optimiser returns one step of AdamW, with a learning rate that changes nothing.
func (b *bench) optimiser(m model.Model) func() {
	params := m.Weights().Params()
	moments := make([][2]device.Buffer, len(params))
	for i, p := range params {
		moments[i] = [2]device.Buffer{b.backend.Alloc(p.Values.Len()), b.backend.Alloc(p.Values.Len())}
	}
	return func() {
		for _, p := range params {
			b.backend.SumSquares(p.Grad)
		}
		for i, p := range params {
			b.backend.AdamW(p.Values, p.Grad, moments[i][0], moments[i][1], device.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Step: 1, Clip: 1})
		}
		m.Weights().Repack()
	}
}
