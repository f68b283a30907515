package main

import (
	"fmt"

	"agentmill/internal/catalog"
	"agentmill/internal/device"
	"agentmill/internal/model"
)

// limits compares products with what this machine can do, measured in the same
// process, and a training step with its own products.
func (b *bench) limits() error {
	f32, pairs := b.backend.Peak, b.backend.PeakPairs
	for _, rows := range []int{8, 64, 256} {
		if err := b.product(fmt.Sprintf("f32 product, %d rows, of FMA peak", rows), rows, device.F32, f32); err != nil {
			return err
		}
	}
	if pairs(1) > 0 {
		for _, rows := range []int{8, 64, 256} {
			if err := b.product(fmt.Sprintf("bf16 product, %d rows, of bf16 peak", rows), rows, device.BF16Dot, pairs); err != nil {
				return err
			}
		}
	}
	return nil
}

// product compares gate and up of a 135M model with a peak.
func (b *bench) product(name string, rows int, d device.DType, peak func(int) float64) error {
	const out, in = 3072, 576
	x, y, values := b.backend.Alloc(rows*in), b.backend.Alloc(rows*out), b.backend.Alloc(out*in)
	defer b.backend.Free(x)
	defer b.backend.Free(y)
	defer b.backend.Free(values)
	w := b.backend.NewWeight(out, in, d)
	b.backend.SetWeight(w, values)
	repeat := max(1, 4096/rows)
	return b.against([]goal{{name, 0.75, 0.88, "GFLOP/s"}}, func() ([]float64, error) {
		return []float64{rate(2e-9*float64(rows*out*in*repeat), func() {
			for range repeat {
				b.backend.Linear(device.Dense(y, rows, out), device.Dense(x, rows, in), w, false)
			}
		})}, nil
	}, func() ([]float64, error) {
		const rounds = 1 << 20
		operations := peak(1)
		return []float64{rate(operations*rounds/1e9, func() { peak(rounds) })}, nil
	})
}

// bound compares training steps with the products they are made of alone.
func (b *bench) bound() error {
	for _, r := range []struct {
		name string
		o    model.Options
	}{
		{"full step, f32, of its products", model.Options{Train: model.TrainFull}},
		{"LoRA step, f32, of its products", model.Options{Train: model.TrainLoRA, LoRA: model.LoRA{Rank: 16, Alpha: 32, Targets: model.AllProjections()}}},
	} {
		m, err := catalog.NewModel(b.policy.Config, b.backend, b.policy.Merged(), r.o)
		if err != nil {
			return err
		}
		batch, err := model.Pack(samples(trainSequences, trainLength, trainEvery))
		if err != nil {
			return err
		}
		const tokens = trainSequences * trainLength
		step := trainStep(m, []*model.Batch{batch}, b.optimiser(m))
		alone := b.productsAlone(r.o)
		err = b.against([]goal{{r.name, 0.5, 0.65, "tokens/s"}}, func() ([]float64, error) {
			return []float64{rate(tokens, step)}, nil
		}, func() ([]float64, error) {
			return []float64{rate(tokens, alone)}, nil
		})
		m.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// productsAlone returns the products of a training step on the weights' shapes,
// without anything between them: forward, input gradients, and weight gradients
// where all weights are trained.
func (b *bench) productsAlone(o model.Options) func() {
	c := b.policy.Config
	const tokens, trained = trainSequences * trainLength, trainSequences * trainLength / trainEvery
	kv := c.NumKeyValueHeads * c.HeadDim
	var all []func()
	add := func(times, rows, out, in int) {
		w := b.backend.NewWeight(out, in, o.DType)
		x, y, dw := b.backend.Alloc(rows*in), b.backend.Alloc(rows*out), b.backend.Alloc(out*in)
		mx, my := device.Dense(x, rows, in), device.Dense(y, rows, out)
		all = append(all, func() {
			for range times {
				b.backend.Linear(my, mx, w, false)
				b.backend.LinearInputGrad(mx, my, w)
				if o.Train == model.TrainFull {
					b.backend.LinearWeightGrad(device.Dense(dw, out, in), my, mx)
				}
			}
		})
	}
	n, h := c.NumHiddenLayers, c.HiddenSize
	add(n, tokens, c.NumAttentionHeads*c.HeadDim+2*kv, h)
	add(n, tokens, h, c.NumAttentionHeads*c.HeadDim)
	add(n, tokens, 2*c.IntermediateSize, h)
	add(n, tokens, h, c.IntermediateSize)
	add(1, trained, c.VocabSize, h)
	return func() {
		for _, f := range all {
			f()
		}
	}
}
