package cpu

import (
	"math"
	"slices"
	"testing"

	"agentmill/internal/numtest"
	"agentmill/internal/seed"
)

// exponents are arguments of exp, with ends, specials and what lies between.
func exponents() []float32 {
	inf := float32(math.Inf(1))
	x := []float32{0, 1, -1, -inf, -1e30, -104, -90, 86, 1e-30, -1e-30}
	for v := float32(-87); v < 86; v += 0.37 {
		x = append(x, v)
	}
	return x
}

func TestExp(t *testing.T) {
	for _, k := range available() {
		x := exponents()
		y := make([]float32, len(x))
		sum := k.expSum(y, x, 1, 0)
		var total float64
		for i, v := range x {
			want := math.Exp(float64(v))
			total += want
			if e := math.Abs(float64(y[i]) - want); e > 3e-7*want && e > 1.2e-38 {
				t.Errorf("%s: exp(%v) = %v, want %v", k.path, v, y[i], want)
			}
			if v < -104 && y[i] != 0 {
				t.Errorf("%s: exp(%v) = %v, want 0", k.path, v, y[i])
			}
		}
		if e := math.Abs(float64(sum)/total - 1); e > 1e-6 {
			t.Errorf("%s: sum %v, want %v", k.path, sum, total)
		}
		k.expSum(y, []float32{float32(math.NaN())}, 1, 0)
		if y[0] == y[0] {
			t.Errorf("%s: exp(NaN) = %v", k.path, y[0])
		}
	}
}

// Kernels of all lengths give what the plain ones give, and write nothing else.
func TestVectorsOfEveryLength(t *testing.T) {
	rng := seed.Stream(1, t.Name())
	for _, k := range available() {
		for n := range 70 {
			v := make([][]float32, 5)
			for i := range v {
				v[i] = make([]float32, n, n+1)
				for j := range v[i] {
					v[i][j] = float32(rng.NormFloat64())
				}
				v[i][:n+1][n] = 77
			}
			got, want := applyAll(k, v), applyAll(&generic, v)
			for i := range want {
				numtest.Close(t, k.path, got[i], want[i], numtest.Tol{Abs: 2e-6, Rel: 2e-6})
			}
		}
	}
}

// applyAll runs the kernels on copies of v and returns all results.
func applyAll(k *kernels, v [][]float32) (results [][]float32) {
	fresh := func() [][]float32 {
		c := make([][]float32, len(v))
		for i := range v {
			c[i] = slices.Clone(v[i][:len(v[i])+1])[:len(v[i])]
		}
		return c
	}
	keep := func(c [][]float32, numbers ...float32) {
		for _, x := range c {
			results = append(results, x[:len(x)+1])
		}
		results = append(results, numbers)
	}
	c := fresh()
	k.axpy(c[0], 0.5, c[1])
	k.scale(c[2], 0.5, c[3])
	k.mulAdd(c[1], 2, c[3], c[4])
	keep(c)
	c = fresh()
	k.normRow(c[0], 0.5, c[1], c[2])
	k.normDx(c[3], 0.5, 0.25, c[1], c[2], c[4])
	keep(c, k.maxOf(c[1]), k.dot(c[1], c[2]), k.dot3(c[0], c[1], c[2]), float32(k.sumSquares(c[1])))
	c = fresh()
	sum := k.expSum(c[0], c[1], 0.5, 0.1)
	k.expMul(c[2], c[1], 0.5, 0.1, 3)
	k.mulDiff(c[3], c[4], 0.5)
	keep(c, sum, k.sumExp(c[1], 0.5, 0.1))
	c = fresh()
	k.swiglu(c[0], c[1], c[2])
	keep(c)
	c = fresh()
	k.swigluGrad(c[0], c[1], c[2], c[3], c[4])
	keep(c)
	c = fresh()
	half := len(c[0]) / 2
	k.rotate(c[0][:2*half], c[1][:half], c[2][:half], -1)
	keep(c)
	c = fresh()
	for i, x := range c[3] {
		c[3][i] = x * x
	}
	k.adamw(c[0], c[1], c[2], c[3], &adamwConst{clip: 0.5, beta1: 0.9, rest1: 0.1, beta2: 0.95, rest2: 0.05, unbias1: 0.1, unbias2: 2, eps: 1e-3, decay: 0.01})
	keep(c)
	return results
}

// Rounding to bfloat16 agrees in every bit, for ties, infinities and NaN too.
func TestNarrow(t *testing.T) {
	bits := []uint32{0, 0x80000000, 0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 1, 0x00008000}
	rng := seed.Stream(1, t.Name())
	for len(bits) < 256 {
		bits = append(bits, rng.Uint32())
	}
	src := make([]float32, len(bits))
	for i, b := range bits {
		src[i] = math.Float32frombits(b)
	}
	for _, k := range available() {
		want, got := make([]uint16, len(src)), make([]uint16, len(src))
		narrowGeneric(want, src, k.nr)
		k.narrow(got, src, k.nr)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", k.path, got, want)
		}
		wide, back := make([]float32, len(src)), make([]uint16, len(src))
		k.widen(wide, got, k.nr)
		k.narrow(back, wide, k.nr)
		if !slices.Equal(back, got) {
			t.Errorf("%s: widened and narrowed again: %x, want %x", k.path, back, got)
		}
	}
}

func TestTransposeAndCopyRows(t *testing.T) {
	for _, k := range available() {
		for _, size := range [][2]int{{1, 1}, {3, 50}, {16, 16}, {17, 33}, {32, 64}, {40, 7}} {
			rows, cols := size[0], size[1]
			src := make([]float32, rows*(cols+2))
			for i := range src {
				src[i] = float32(i + 1)
			}
			turned, copied := make([]float32, cols*(rows+1)), make([]float32, rows*(cols+1))
			k.transpose(turned, rows+1, src, cols+2, rows, cols)
			k.copyRows(copied, cols+1, src, cols+2, rows, cols)
			for i := range turned {
				want := float32(0)
				if r, c := i%(rows+1), i/(rows+1); r < rows {
					want = src[r*(cols+2)+c]
				}
				if turned[i] != want {
					t.Fatalf("%s: transpose of %v: value %d is %v, want %v", k.path, size, i, turned[i], want)
				}
			}
			for i := range copied {
				want := float32(0)
				if r, c := i/(cols+1), i%(cols+1); c < cols {
					want = src[r*(cols+2)+c]
				}
				if copied[i] != want {
					t.Fatalf("%s: copy of %v: value %d is %v, want %v", k.path, size, i, copied[i], want)
				}
			}
		}
	}
}
