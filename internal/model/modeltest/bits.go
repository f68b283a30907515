package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/seed"
)

// logitsOf runs samples through caches, step(i) tokens of sample i a call (0: it
// waits), and returns every row of logits, sample by sample.
func logitsOf(m model.Model, samples []model.Sample, step func(i int) int) [][]float32 {
	out := make([][]float32, len(samples))
	caches := make([]device.Cache, len(samples))
	for i := range caches {
		caches[i] = m.NewCache(m.Config().MaxPositionEmbeddings)
		defer caches[i].Free()
	}
	for left := true; left; {
		b := &model.Batch{}
		var owner []int
		left = false
		for i, s := range samples {
			done := caches[i].Len()
			n := min(step(i), len(s.IDs)-done)
			left = left || done+n < len(s.IDs)
			if n == 0 {
				continue
			}
			b.Seqs = append(b.Seqs, device.Seq{Start: len(b.IDs), Len: n, Cache: caches[i]})
			for p := done; p < done+n; p++ {
				b.Rows = append(b.Rows, int32(len(b.IDs)))
				b.IDs = append(b.IDs, s.IDs[p])
				b.Positions = append(b.Positions, int32(p))
				owner = append(owner, i)
			}
		}
		if len(owner) == 0 {
			continue
		}
		logits := m.Logits(b)
		for row, i := range owner {
			v := download(m, logits.Buf.Slice(row*logits.Stride, row*logits.Stride+logits.Cols))
			out[i] = append(out[i], v...)
		}
	}
	return out
}

// whole is the step of a prefill.
func whole(int) int { return 100 }

// testSameBits compares a prefill of all samples with steps of one token, with
// each sample alone, and with random schedules: sequences of random lengths that
// start, wait and go on at random, beside others.
func (f Family) testSameBits(t *testing.T) {
	for _, dtype := range []device.DType{device.F32, device.BF16, device.BF16Dot, device.Int8} {
		m := f.open(t, model.Options{DType: dtype})
		samples := f.samples()
		want := logitsOf(m, samples, whole)
		for i, got := range logitsOf(m, samples, func(int) int { return 1 }) {
			equalBits(t, fmt.Sprintf("dtype %d, a token a step, sample %d", dtype, i), got, want[i])
		}
		for i, s := range samples {
			equalBits(t, fmt.Sprintf("dtype %d, sample %d alone", dtype, i), logitsOf(m, []model.Sample{s}, whole)[0], want[i])
		}
		for run := range uint64(8) {
			f.testSchedule(t, m, fmt.Sprintf("dtype %d, schedule %d", dtype, run), seed.Stream(run, "schedule"))
		}
	}
}

// testSchedule runs random samples by a random schedule.
func (f Family) testSchedule(t *testing.T, m model.Model, name string, rng *rand.Rand) {
	t.Helper()
	samples := f.randomSamples(rng, 1+rng.IntN(6))
	got := logitsOf(m, samples, func(int) int { return rng.IntN(5) })
	for i, s := range samples {
		equalBits(t, fmt.Sprintf("%s, sample %d", name, i), got[i], logitsOf(m, []model.Sample{s}, whole)[0])
	}
}

// randomSamples are n sequences of up to 20 tokens; some of their tokens are
// trained, one at least.
func (f Family) randomSamples(rng *rand.Rand, n int) []model.Sample {
	all := make([]model.Sample, n)
	for i := range all {
		length := 2 + rng.IntN(19)
		s := model.Sample{IDs: make([]int32, length), Trained: make([]bool, length)}
		for p := range length {
			s.IDs[p] = int32(rng.IntN(f.Config.VocabSize))
			s.Trained[p] = p > 0 && rng.IntN(3) == 0
		}
		s.Trained[1+rng.IntN(length-1)] = true
		all[i] = s
	}
	return all
}

func (f Family) testPrefix(t *testing.T) {
	m := f.open(t, model.Options{})
	s := f.samples()[0]
	for n := 1; n < len(s.IDs); n++ {
		first, second := m.NewCache(len(s.IDs)), m.NewCache(len(s.IDs))
		shared, ok := second.(device.PrefixCache)
		if !ok {
			t.Skip("this backend's caches cannot be copied")
		}
		row := []int32{int32(len(s.IDs) - 1)}
		whole := &model.Batch{IDs: s.IDs, Positions: positions(0, len(s.IDs)), Rows: row, Seqs: []device.Seq{{Len: len(s.IDs), Cache: first}}}
		want := download(m, m.Logits(whole).Buf)
		shared.CopyPrefix(first, n)
		rest := &model.Batch{IDs: s.IDs[n:], Positions: positions(n, len(s.IDs)), Rows: []int32{row[0] - int32(n)}, Seqs: []device.Seq{{Len: len(s.IDs) - n, Cache: shared}}}
		equalBits(t, fmt.Sprintf("%d tokens copied", n), download(m, m.Logits(rest).Buf), want)
		first.Free()
		second.Free()
	}
}

func positions(from, to int) []int32 {
	var p []int32
	for i := from; i < to; i++ {
		p = append(p, int32(i))
	}
	return p
}

func equalBits(t *testing.T, name string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", name, len(got), len(want))
		return
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: value %d is %v, want %v", name, i, got[i], want[i])
			return
		}
	}
}

func (f Family) testScores(t *testing.T) {
	m := f.open(t, model.Options{Train: model.TrainFull})
	b := pack(t, f.samples()...)
	kept, plain := make([]float32, len(b.Targets)), make([]float32, len(b.Targets))
	m.Forward(b, plain, false)
	m.Forward(b, kept, true)
	equalBits(t, "kept", kept, plain)

	logits := m.Logits(b)
	got, lse := make([]float32, len(b.Targets)), make([]float32, len(b.Targets))
	f.backend.LogProbs(got, lse, logits, b.Targets, 1)
	equalBits(t, "of logits", got, plain)
}
