package devicetest

import (
	"fmt"
	"math"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu/ref"
)

// sizes are rows and columns of row-wise operators.
var sizes = [][2]int{{1, 1}, {2, 7}, {3, 16}, {5, 33}, {9, 64}, {70, 100}, {3, 1000}}

func testMemory(s *suite) {
	b := s.b.Alloc(10)
	s.same("new", s.host(b), make([]float32, 10))
	v := s.values(10, 1)
	s.b.Upload(b, v)
	s.same("slice", s.host(b.Slice(2, 5)), v[2:5])
	s.b.Copy(b.Slice(0, 3), b.Slice(5, 8))
	s.same("copied", s.host(b)[:3], v[5:8])
	s.b.Zero(b.Slice(0, 3))
	s.same("zeroed", s.host(b), append(make([]float32, 3), v[3:]...))
	s.b.Free(b)
	s.same("new after free", s.host(s.b.Alloc(10)), make([]float32, 10))
}

func testEmbed(s *suite) {
	for _, c := range sizes {
		rows, cols := c[0], c[1]
		table, ids, dy := s.values(11*cols, 1), s.ids(rows, 11), s.values(rows*cols, 1)
		want, wantGrad := make([]float64, rows*cols), wide(table)
		ref.Embed(want, wide(table), ids, cols)
		ref.EmbedGrad(wantGrad, wide(dy), ids, cols)
		my, mt := s.mat(make([]float32, rows*cols), cols), s.mat(table, cols)
		s.b.Embed(my, mt, ids)
		s.b.EmbedGrad(mt, s.mat(dy, cols), ids)
		s.close("default", fmt.Sprint("y of ", c), s.read(my), want)
		s.close("default", fmt.Sprint("dtable of ", c), s.read(mt), wantGrad)
	}
}

func testRMSNorm(s *suite) {
	const eps = 1e-5
	for _, c := range sizes {
		rows, cols := c[0], c[1]
		x, w, dy := s.values(rows*cols, 1), s.values(cols, 1), s.values(rows*cols, 1)
		dx, dw := s.values(rows*cols, 1), s.values(cols, 1)
		y, rstd := make([]float64, rows*cols), make([]float64, rows)
		wantDx, wantDw := wide(dx), wide(dw)
		ref.RMSNorm(y, rstd, wide(x), wide(w), eps)
		ref.RMSNormGrad(wantDx, wantDw, wide(dy), wide(x), wide(w), rstd)

		my, mx, bw, br := s.mat(make([]float32, rows*cols), cols), s.mat(x, cols), s.buffer(w), s.b.Alloc(rows)
		s.b.RMSNorm(my, br, mx, bw, eps)
		s.close("default", fmt.Sprint("y of ", c), s.read(my), y)
		s.close("default", fmt.Sprint("rstd of ", c), s.host(br), rstd)
		mdx, bdw := s.mat(dx, cols), s.buffer(dw)
		s.b.RMSNormGrad(mdx, bdw, s.mat(dy, cols), mx, bw, br)
		s.close("default", fmt.Sprint("dx of ", c), s.read(mdx), wantDx)
		s.close("default", fmt.Sprint("dweight of ", c), s.host(bdw), wantDw)
		without := s.mat(dx, cols)
		s.b.RMSNorm(my, nil, mx, bw, eps)
		s.b.RMSNormGrad(without, nil, s.mat(dy, cols), mx, bw, br)
		s.same("dx without dweight", s.read(without), s.read(mdx))
	}
}

func testRope(s *suite) {
	for _, c := range []struct{ rows, heads, dim, extra int }{{1, 1, 2, 0}, {3, 2, 6, 4}, {17, 3, 64, 64}, {5, 2, 48, 1}} {
		width := c.heads*c.dim + c.extra
		freq := make([]float64, c.dim/2)
		for i := range freq {
			freq[i] = math.Pow(1e4, -2*float64(i)/float64(c.dim))
		}
		x, positions := s.values(c.rows*width, 1), s.ids(c.rows, 300)
		want := wide(x)
		ref.Rope(want, width, positions, c.heads, c.dim, freq, 1)
		mx := s.mat(x, width)
		s.b.Rope(mx, positions, c.heads, c.dim, freq, 1)
		s.close("rope", fmt.Sprint("turned ", c), s.read(mx), want)
		s.b.Rope(mx, positions, c.heads, c.dim, freq, -1)
		s.close("rope", fmt.Sprint("turned back ", c), s.read(mx), wide(x))
	}
}

func testSwiGLU(s *suite) {
	for _, c := range sizes {
		rows, cols := c[0], c[1]
		in, dy := s.values(rows*cols*2, 3), s.values(rows*cols, 1)
		in[0] = -100 // exp overflows
		want, wantGrad := make([]float64, rows*cols), make([]float64, rows*cols*2)
		ref.SwiGLU(want, wide(in), cols)
		ref.SwiGLUGrad(wantGrad, wide(dy), wide(in), cols)
		my, mg, mi := s.mat(make([]float32, rows*cols), cols), s.mat(in, 2*cols), s.mat(in, 2*cols)
		s.b.SwiGLU(my, mi)
		s.b.SwiGLUGrad(mg, s.mat(dy, cols), mi)
		s.close("default", fmt.Sprint("y of ", c), s.read(my), want)
		s.close("default", fmt.Sprint("dgateUp of ", c), s.read(mg), wantGrad)
	}
}

func testAdd(s *suite) {
	for _, c := range sizes {
		rows, cols := c[0], c[1]
		x, y, bias := s.values(rows*cols, 1), s.values(rows*cols, 1), s.values(cols, 1)
		want, wantBias := wide(y), wide(bias)
		ref.Axpy(want, 0.75, wide(x))
		for t := range rows {
			ref.Axpy(want[t*cols:][:cols], 1, wide(bias))
			ref.Axpy(wantBias, 1, wide(x)[t*cols:][:cols])
		}
		my, mx, bb := s.mat(y, cols), s.mat(x, cols), s.buffer(bias)
		s.b.Add(my, mx, 0.75)
		s.b.AddRow(my, bb)
		s.b.AddRowGrad(bb, mx)
		s.close("default", fmt.Sprint("y of ", c), s.read(my), want)
		s.close("default", fmt.Sprint("dbias of ", c), s.host(bb), wantBias)
	}
}

func testAdamW(s *suite) {
	for _, n := range []int{1, 7, 64, 1000, 40000} {
		p, g, m, v := s.values(n, 1), s.values(n, 1), make([]float32, n), make([]float32, n)
		bp, bg, bm, bv := s.buffer(p), s.buffer(g), s.buffer(m), s.buffer(v)
		wp, wm, wv := wide(p), wide(m), wide(v)
		for step := 1; step <= 3; step++ {
			h := device.AdamW{LR: 0.01, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1, Step: step, Clip: 0.5}
			s.b.AdamW(bp, bg, bm, bv, h)
			ref.AdamW(wp, wide(g), wm, wv, h.LR, h.Beta1, h.Beta2, h.Eps, h.WeightDecay, h.Clip, step)
		}
		s.close("adamw", fmt.Sprint("p of ", n), s.host(bp), wp)
		s.close("adamw", fmt.Sprint("m of ", n), s.host(bm), wm)
		s.close("adamw", fmt.Sprint("v of ", n), s.host(bv), wv)
	}
}

func testSumSquares(s *suite) {
	for _, n := range []int{0, 1, 5, 100, 50001} {
		v := s.values(n, 10)
		got := s.b.SumSquares(s.buffer(v))
		want := ref.Dot(wide(v), wide(v))
		s.close("sum squares", fmt.Sprint("of ", n), []float32{float32(got)}, []float64{want})
	}
}
