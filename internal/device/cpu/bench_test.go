package cpu

import (
	"fmt"
	"runtime"
	"testing"

	"agentmill/internal/device"
)

// The products of a 135M model: qkv, o, gate and up, down, logits.
var products = []struct {
	name    string
	out, in int
}{{"qkv", 960, 576}, {"o", 576, 576}, {"gateup", 3072, 576}, {"down", 576, 1536}, {"logits", 49152, 576}}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkPeak(b *testing.B) {
	for _, k := range available() {
		if k.peak == nil {
			continue
		}
		b.Run("path="+k.path, func(b *testing.B) {
			const rounds = 1 << 20
			for b.Loop() {
				k.peak(rounds)
			}
			gflops(b, rounds*12*2*float64(k.nr/2))
		})
	}
}

func benchProducts(b *testing.B, run func(be *Backend, y, x, wm device.Mat, w device.Weight)) {
	for _, path := range Paths() {
		for _, d := range []device.DType{device.F32, device.BF16} {
			for _, p := range products {
				for _, m := range []int{1, 8, 24, 64, 256, 1024} {
					if p.out > 10000 && m > 256 || path == "generic" && (m > 8 || p.out > 10000) {
						continue
					}
					b.Run(fmt.Sprintf("path=%s/dtype=%d/%s/M=%d", path, d, p.name, m), func(b *testing.B) {
						be := open(b, runtime.GOMAXPROCS(0), path)
						defer be.Close()
						x, y, wm := be.mats(m, p.in, p.out)
						w := be.NewWeight(p.out, p.in, d)
						be.SetWeight(w, wm.Buf)
						for b.Loop() {
							run(be, y, x, wm, w)
						}
						gflops(b, 2*float64(m)*float64(p.in)*float64(p.out))
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
