package cpu

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"agentmill/internal/device"
)

// The products of a 135M model: qkv, o, gate and up, down, logits.
var products = []struct {
	name    string
	out, in int
}{{"qkv", 960, 576}, {"o", 576, 576}, {"gateup", 3072, 576}, {"down", 576, 1536}, {"logits", 49152, 576}, {"logits-odd", 49152 - 160, 576}}

func threadTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// compare runs op and the peak loop in turn and reports op's rate, and its share
// of the peak, by the processor time of this thread: other work shares the
// machine. Backends under test have one worker.
func compare(b *testing.B, k *kernels, ops float64, op func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const rounds = 1 << 15
	var own, best int64
	op()
	for b.Loop() {
		t0 := threadTime()
		op()
		t1 := threadTime()
		own += t1 - t0
		k.peak(rounds)
		if t := threadTime() - t1; best == 0 || t < best {
			best = t
		}
	}
	rate := ops * float64(b.N) / float64(own)
	b.ReportMetric(rate, "GFLOP/cpu-s")
	b.ReportMetric(100*rate/(rounds*k.peakOps()/float64(best)), "%peak")
}

func benchProducts(b *testing.B, run func(be *Backend, y, x, wm device.Mat, w device.Weight)) {
	for _, path := range Paths() {
		if path == "generic" {
			continue
		}
		for _, d := range []device.DType{device.F32, device.BF16} {
			for _, p := range products {
				for _, m := range []int{1, 8, 24, 64, 256, 1024} {
					if p.out > 10000 && m > 256 {
						continue
					}
					b.Run(fmt.Sprintf("path=%s/dtype=%d/%s/M=%d", path, d, p.name, m), func(b *testing.B) {
						be := open(b, 1, path)
						defer be.Close()
						x, y, wm := be.mats(m, p.in, p.out)
						w := be.NewWeight(p.out, p.in, d)
						be.SetWeight(w, wm.Buf)
						compare(b, be.k, 2*float64(m)*float64(p.in)*float64(p.out), func() { run(be, y, x, wm, w) })
					})
				}
			}
		}
	}
}

func (b *Backend) mats(m, in, out int) (x, y, w device.Mat) {
	mat := func(rows, cols int) device.Mat {
		buf := b.Alloc(rows * cols)
		for i, v := range data(buf) {
			data(buf)[i] = v + float32(i%7)/7
		}
		return device.Dense(buf, rows, cols)
	}
	return mat(m, in), mat(m, out), mat(out, in)
}

func BenchmarkLinear(b *testing.B) {
	benchProducts(b, func(be *Backend, y, x, _ device.Mat, w device.Weight) { be.Linear(y, x, w, false) })
}

func BenchmarkInputGrad(b *testing.B) {
	benchProducts(b, func(be *Backend, y, x, _ device.Mat, w device.Weight) { be.LinearInputGrad(x, y, w) })
}

func BenchmarkWeightGrad(b *testing.B) {
	benchProducts(b, func(be *Backend, y, x, wm device.Mat, _ device.Weight) { be.LinearWeightGrad(wm, y, x) })
}

// BenchmarkCold runs products of a few rows with weights that come from memory,
// as decoding does.
func BenchmarkCold(b *testing.B) {
	const out, in, count = 3072, 576, 16
	for _, path := range Paths()[:1] {
		for _, d := range []device.DType{device.F32, device.BF16} {
			for _, m := range []int{1, 4, 8, 12, 24, 32} {
				b.Run(fmt.Sprintf("path=%s/dtype=%d/M=%d", path, d, m), func(b *testing.B) {
					be := open(b, 1, path)
					defer be.Close()
					x, y, wm := be.mats(m, in, out)
					var w [count]device.Weight
					for i := range w {
						w[i] = be.NewWeight(out, in, d)
						be.SetWeight(w[i], wm.Buf)
					}
					compare(b, be.k, count*2*float64(m)*in*out, func() {
						for _, w := range w {
							be.Linear(y, x, w, false)
						}
					})
				})
			}
		}
	}
}

// BenchmarkAttention runs a training batch of four sequences, forward and
// backward; operations count what the causal mask leaves.
func BenchmarkAttention(b *testing.B) {
	const n, length = 4, 550
	s := device.AttentionShape{Heads: 9, KVHeads: 3, HeadDim: 64}
	var seqs []device.Seq
	for i := range n {
		seqs = append(seqs, device.Seq{Start: i * length, Len: length})
	}
	pairs := float64(n * s.Heads * length * (length + 1) / 2)
	for _, path := range Paths()[:1] {
		be := open(b, 1, path)
		defer be.Close()
		qkv, out, _ := be.mats(n*length, s.Width(), s.Heads*s.HeadDim)
		dqkv, dout, _ := be.mats(n*length, s.Width(), s.Heads*s.HeadDim)
		lse := be.Alloc(n * length * s.Heads)
		b.Run("path="+path+"/forward", func(b *testing.B) {
			compare(b, be.k, 4*64*pairs, func() { be.Attention(out, lse, qkv, s, seqs, 0) })
		})
		b.Run("path="+path+"/backward", func(b *testing.B) {
			compare(b, be.k, 10*64*pairs, func() { be.AttentionGrad(dqkv, dout, out, lse, qkv, s, seqs) })
		})
	}
}
