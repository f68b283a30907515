// Command gemm measures the matrix products of a 135M model on this machine:
// GFLOP/s, the share of the peak of multiply-adds measured in the same rounds,
// and the ratio to the BLAS behind Python's numpy, if there is one.
//
//	go run ./bench/gemm --python python3
//
// Rounds of ours, the peak and the peer alternate; medians are shown.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"

	"agentmill/internal/clock"
	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
)

// The products y[M, out] = x[M, in]·wᵀ.
var shapes = []struct {
	name    string
	out, in int
}{{"qkv", 960, 576}, {"o", 576, 576}, {"gate+up", 3072, 576}, {"down", 576, 1536}, {"logits", 49152, 576}}

func main() {
	threads := flag.Int("threads", runtime.GOMAXPROCS(0), "number of threads")
	path := flag.String("path", "", "kernel path; default: the fastest")
	python := flag.String("python", "", "Python with numpy, to compare with; default: no comparison")
	rounds := flag.Int("rounds", 7, "rounds of each product")
	flag.Parse()
	if err := run(os.Stdout, *threads, *path, *python, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "gemm: error:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, threads int, path, python string, rounds int) error {
	b, err := cpu.New(threads, path)
	if err != nil {
		return err
	}
	defer b.Close()
	p, err := startPeer(python, threads)
	if err != nil {
		return err
	}
	defer p.close()
	fmt.Fprintf(out, "path %s, %d threads\n%-10s %5s %7s %9s %8s %8s\n", b.Path(), threads, "product", "M", "weights", "GFLOP/s", "of peak", "of BLAS")
	for _, s := range shapes {
		for _, m := range []int{1, 8, 32, 64, 256, 1024} {
			if s.out*m > 20_000_000 {
				continue
			}
			for _, d := range []device.DType{device.F32, device.BF16} {
				r, err := measure(b, p, m, s.out, s.in, d, rounds)
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "%-10s %5d %7s %9.1f %7.0f%% %8s\n", s.name, m, []string{"f32", "bf16"}[d], r.rate/1e9, 100*r.ofPeak, r.ofPeer)
			}
		}
	}
	return nil
}

type result struct {
	rate, ofPeak float64
	ofPeer       string
}

// measure alternates between our product, the peak and the peer's product.
func measure(b *cpu.Backend, p *peer, m, out, in int, d device.DType, rounds int) (result, error) {
	x, y, values := b.Alloc(m*in), b.Alloc(m*out), b.Alloc(out*in)
	defer b.Free(x)
	defer b.Free(y)
	defer b.Free(values)
	fill(b, x)
	fill(b, values)
	w := b.NewWeight(out, in, d)
	b.SetWeight(w, values)
	flop := 2 * float64(m) * float64(out) * float64(in)
	repeat := max(1, int(2e8/flop))
	var own, peak, other []float64
	for range rounds {
		own = append(own, rate(func() float64 {
			for range repeat {
				b.Linear(device.Dense(y, m, out), device.Dense(x, m, in), w, false)
			}
			return flop * float64(repeat)
		}))
		peak = append(peak, rate(func() float64 { return b.Peak(1 << 17) }))
		seconds, err := p.time(m, out, in, repeat)
		if err != nil {
			return result{}, err
		}
		other = append(other, flop/seconds)
	}
	r := result{rate: median(own), ofPeak: median(own) / median(peak), ofPeer: "-"}
	if p != nil {
		r.ofPeer = fmt.Sprintf("%.2fx", median(own)/median(other))
	}
	return r, nil
}

func rate(f func() float64) float64 {
	start := clock.Real().Now()
	n := f()
	return n / clock.Since(clock.Real(), start)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func fill(b *cpu.Backend, x device.Buffer) {
	v := make([]float32, x.Len())
	for i := range v {
		v[i] = float32(i%17)/17 - 0.5
	}
	b.Upload(x, v)
}

// A peer is a Python process that times the same products. A nil peer does nothing.
type peer struct {
	cmd   *exec.Cmd
	ask   io.WriteCloser
	reply *bufio.Reader
}

const program = `
import sys, time, numpy as np
for line in sys.stdin:
    m, n, k, repeat = map(int, line.split())
    x, w = np.random.rand(m, k).astype("f"), np.random.rand(n, k).astype("f")
    y = np.empty((m, n), "f")
    np.matmul(x, w.T, out=y)
    start = time.perf_counter()
    for _ in range(repeat):
        np.matmul(x, w.T, out=y)
    print((time.perf_counter() - start) / repeat, flush=True)
`

func startPeer(python string, threads int) (*peer, error) {
	if python == "" {
		return nil, nil
	}
	cmd := exec.Command(python, "-c", program)
	cmd.Stderr = os.Stderr
	for _, name := range []string{"OMP", "OPENBLAS", "MKL"} {
		cmd.Env = append(cmd.Environ(), fmt.Sprintf("%s_NUM_THREADS=%d", name, threads))
	}
	ask, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	reply, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &peer{cmd, ask, bufio.NewReader(reply)}, cmd.Start()
}

// time is the seconds of one product of the peer.
func (p *peer) time(m, n, k, repeat int) (seconds float64, err error) {
	if p == nil {
		return 1, nil
	}
	fmt.Fprintln(p.ask, m, n, k, repeat)
	if _, err := fmt.Fscanln(p.reply, &seconds); err != nil {
		return 0, fmt.Errorf("read the answer of the Python peer: %w", err)
	}
	return seconds, nil
}

func (p *peer) close() {
	if p != nil {
		p.ask.Close()
		_ = p.cmd.Wait()
	}
}
