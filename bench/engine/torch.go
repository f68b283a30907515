package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"agentmill/internal/catalog"
	"agentmill/internal/device"
	"agentmill/internal/model"
)

// A torch is a running peer.py.
type torch struct {
	cmd   *exec.Cmd
	ask   io.WriteCloser
	reply *bufio.Reader
}

func (b *bench) startTorch() (*torch, error) {
	cmd := exec.Command(b.peers.python, filepath.Join("bench", "engine", "peer.py"), filepath.Join(b.policy.Dir, "model.gguf"), strconv.Itoa(b.threads)) //nolint:gosec // the user names the program
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	reply, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &torch{cmd, ask, bufio.NewReader(reply)}, cmd.Start()
}

// seconds asks for one run and reads as many figures as there are in to.
func (t *torch) seconds(to []any, format string, args ...any) error {
	fmt.Fprintf(t.ask, format+"\n", args...)
	if _, err := fmt.Fscanln(t.reply, to...); err != nil {
		return fmt.Errorf("read the answer of peer.py: %w", err)
	}
	return nil
}

func (t *torch) close() {
	t.ask.Close()
	_ = t.cmd.Wait()
}

// The batch of the training rows: one position in every is trained.
const (
	trainSequences = 2
	trainLength    = 512
	trainEvery     = 8
)

// torchTrain compares training steps.
func (b *bench) torchTrain() error {
	t, err := b.startTorch()
	if err != nil {
		return err
	}
	defer t.close()
	lora := model.LoRA{Rank: 16, Alpha: 32, Targets: model.AllProjections()}
	for _, r := range []struct {
		mode string
		goal goal
		o    model.Options
	}{
		{"lora", goal{"LoRA step, f32 vs torch", 1.1, 1.4, "tokens/s"}, model.Options{Train: model.TrainLoRA, LoRA: lora}},
		{"lora", goal{"LoRA step, bf16 vs torch f32", 1.8, 2.5, "tokens/s"}, model.Options{Train: model.TrainLoRA, LoRA: lora, DType: device.BF16Dot}},
		{"full", goal{"full step, f32 vs torch", 0.95, 1.2, "tokens/s"}, model.Options{Train: model.TrainFull}},
		{"full", goal{"full step, bf16 vs torch f32", 1.5, 2, "tokens/s"}, model.Options{Train: model.TrainFull, DType: device.BF16Dot}},
	} {
		if err := b.torchRow(t, r.mode, r.goal, r.o); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) torchRow(t *torch, mode string, g goal, o model.Options) error {
	m, err := catalog.NewModel(b.policy.Config, b.backend, b.policy.Merged(), o)
	if err != nil {
		return err
	}
	defer m.Close()
	batch, err := model.Pack(samples(trainSequences, trainLength, trainEvery))
	if err != nil {
		return err
	}
	const tokens = trainSequences * trainLength
	step := trainStep(m, []*model.Batch{batch}, b.optimiser(m))
	return b.against([]goal{g}, func() ([]float64, error) {
		return []float64{rate(tokens, step)}, nil
	}, func() ([]float64, error) {
		var s float64
		err := t.seconds([]any{&s}, "train %s %d %d %d", mode, trainSequences, trainLength, trainEvery)
		return []float64{tokens / s}, err
	})
}

// trainStep returns one update on batches.
func trainStep(m model.Model, batches []*model.Batch, update func()) func() {
	targets := 0
	for _, b := range batches {
		targets += len(b.Targets)
	}
	dlogp := make([]float32, targets)
	for i := range dlogp {
		dlogp[i] = -1 / float32(targets)
	}
	logp := make([]float32, targets)
	return func() {
		m.Weights().ZeroGrads()
		for _, b := range batches {
			n := len(b.Targets)
			m.Forward(b, logp[:n], true)
			m.Backward(dlogp[:n])
		}
		update()
	}
}

// The step of GRPO: what a short agent's attempts look like.
const (
	grpoGroup     = 6 // also the sequences of a micro-batch
	grpoPrompt    = 160
	grpoTurns     = 3
	grpoSampled   = 24
	grpoObserved  = 120
	grpoSequences = grpoPrompt + grpoTurns*grpoSampled + (grpoTurns-1)*grpoObserved
)

// grpo compares a whole step: playing, then one update of all weights.
func (b *bench) grpo() error {
	t, err := b.startTorch()
	if err != nil {
		return err
	}
	defer t.close()
	precisions := []device.DType{device.F32, device.BF16Dot}
	var goals []goal
	for i, name := range []string{"f32", "bf16"} {
		row := fmt.Sprintf("GRPO step of %d, %s vs torch f32", b.rollouts, name)
		goals = append(goals, goal{row, 1.5 + float64(i)/2, 2 + float64(i), "steps/h"},
			goal{"… playing", 0, 0, "steps/h"}, goal{"… training", 0, 0, "steps/h"})
	}
	rates := func(play, train float64) []float64 {
		return []float64{3600 / (play + train), 3600 / play, 3600 / train}
	}
	return b.pairs(0, goals, func() ([]float64, error) {
		var all []float64
		for _, d := range precisions {
			play, train, err := b.grpoStep(d)
			if err != nil {
				return nil, err
			}
			all = append(all, rates(play, train)...)
		}
		return all, nil
	}, func() ([]float64, error) {
		var play, train float64
		err := t.seconds([]any{&play, &train}, "grpo %d %d %d %d %d", b.rollouts, grpoPrompt, grpoTurns, grpoSampled, grpoObserved)
		return append(rates(play, train), rates(play, train)...), err
	})
}

// grpoStep returns the seconds of playing and of training, in one precision.
func (b *bench) grpoStep(d device.DType) (play, train float64, err error) {
	m, err := catalog.NewModel(b.policy.Config, b.backend, b.policy.Merged(), model.Options{DType: d})
	if err != nil {
		return 0, 0, err
	}
	play = 1 / rate(1, func() { b.grpoPlay(m) })
	m.Close()
	if m, err = catalog.NewModel(b.policy.Config, b.backend, b.policy.Merged(), model.Options{DType: d, Train: model.TrainFull}); err != nil {
		return 0, 0, err
	}
	defer m.Close()
	batches, err := b.grpoBatches()
	if err != nil {
		return 0, 0, err
	}
	return play, 1 / rate(1, trainStep(m, batches, b.optimiser(m))), nil
}

// grpoPlay samples all rollouts in step; a group's prompt is read once.
func (b *bench) grpoPlay(m model.Model) {
	caches := make([]device.Cache, b.rollouts)
	for i := range caches {
		caches[i] = m.NewCache(grpoSequences)
		defer caches[i].Free()
	}
	first := &model.Batch{}
	for i := 0; i < b.rollouts; i += grpoGroup {
		add(first, grpoPrompt-1, caches[i])
	}
	m.Logits(first)
	for i, c := range caches {
		if i%grpoGroup > 0 {
			c.(device.PrefixCache).CopyPrefix(caches[i/grpoGroup*grpoGroup], grpoPrompt-1)
		}
	}
	for turn := range grpoTurns {
		for step := range grpoSampled {
			n := 1
			if step == 0 && turn > 0 {
				n += grpoObserved
			}
			sampleStep(b.backend, m, caches, n)
		}
	}
}

// sampleStep reads n tokens of every sequence and makes the distribution of the next.
func sampleStep(d device.Backend, m model.Model, caches []device.Cache, n int) {
	batch := &model.Batch{}
	for _, c := range caches {
		add(batch, n, c)
	}
	logits := m.Logits(batch)
	d.Softmax(logits, make([]float32, logits.Rows), logits, 1)
}

// grpoBatches are the rollouts as micro-batches, with what was sampled trained.
func (b *bench) grpoBatches() ([]*model.Batch, error) {
	var batches []*model.Batch
	for range b.rollouts / grpoGroup {
		all := samples(grpoGroup, grpoSequences, 1)
		for _, s := range all {
			for p := range s.Trained {
				at := p - grpoPrompt
				s.Trained[p] = at >= 0 && at%(grpoSampled+grpoObserved) < grpoSampled
			}
		}
		batch, err := model.Pack(all)
		if err != nil {
			return nil, err
		}
		batches = append(batches, batch)
	}
	return batches, nil
}
