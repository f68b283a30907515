package devicetest

import (
	"fmt"

	"agentmill/internal/device"
)

// maxRows covers every height of tile several times.
const maxRows = 40

// testRowsAlone computes 1 to maxRows rows at once and each alone.
func testRowsAlone(s *suite) {
	const in, out = 801, 70
	x, dy := s.values(maxRows*in, 1), s.values(maxRows*out, 1)
	w := s.values(in*out, 1)
	for _, dtype := range []device.DType{device.F32, device.BF16, device.BF16Dot, device.Int8} {
		weight := s.weight(w, out, in, dtype)
		forward := func(from, to int) []float32 {
			y := s.mat(make([]float32, (to-from)*out), out)
			s.b.Linear(y, s.mat(x[from*in:to*in], in), weight, false)
			return s.read(y)
		}
		backward := func(from, to int) []float32 {
			dx := s.mat(make([]float32, (to-from)*in), in)
			s.b.LinearInputGrad(dx, s.mat(dy[from*out:to*out], out), weight)
			return s.read(dx)
		}
		s.rowsAlone(fmt.Sprint("Linear, dtype ", dtype), out, forward)
		s.rowsAlone(fmt.Sprint("LinearInputGrad, dtype ", dtype), in, backward)
	}
	norm := s.buffer(s.values(in, 1))
	s.rowsAlone("RMSNorm", in, func(from, to int) []float32 {
		y := s.mat(make([]float32, (to-from)*in), in)
		s.b.RMSNorm(y, nil, s.mat(x[from*in:to*in], in), norm, 1e-5)
		return s.read(y)
	})
	s.rowsAlone("SwiGLU", out/2, func(from, to int) []float32 {
		y := s.mat(make([]float32, (to-from)*out/2), out/2)
		s.b.SwiGLU(y, s.mat(dy[from*out:to*out], out))
		return s.read(y)
	})
	s.rowsAlone("Softmax", in, func(from, to int) []float32 {
		y := s.mat(make([]float32, (to-from)*in), in)
		s.b.Softmax(y, make([]float32, to-from), s.mat(x[from*in:to*in], in), 1)
		return s.read(y)
	})
}

func (s *suite) rowsAlone(name string, cols int, f func(from, to int) []float32) {
	var alone []float32
	for t := range maxRows {
		alone = append(alone, f(t, t+1)...)
	}
	for n := 2; n <= maxRows; n++ {
		s.same(fmt.Sprintf("%s of %d rows", name, n), f(0, n), alone[:n*cols])
	}
}

// testSequencesAlone computes a ragged batch at once and each sequence alone,
// with rows of its own for what it goes on from.
func testSequencesAlone(s *suite) {
	for _, c := range bothTypes(attentionCases) {
		seqs, _ := c.seqs()
		width, outWidth := c.shape.Width(), c.shape.Heads*c.shape.HeadDim
		qkv := s.values(c.rows()*width, 1)
		all := s.mat(make([]float32, c.rows()*outWidth), outWidth)
		s.b.Attention(all, nil, s.mat(qkv, width), c.shape, seqs, 0)
		batch := s.read(all)
		for _, q := range seqs {
			var own []float32
			past := before(q)
			for _, t := range past {
				own = append(own, qkv[t*width:][:width]...)
			}
			own = append(own, qkv[q.Start*width:][:q.Len*width]...)
			n := len(past) + q.Len
			one := s.mat(make([]float32, n*outWidth), outWidth)
			s.b.Attention(one, nil, s.mat(own, width), c.shape, []device.Seq{{Len: n}}, 0)
			s.same(fmt.Sprintf("sequence %v of %v", q, c), s.read(one)[len(past)*outWidth:], batch[q.Start*outWidth:][:q.Len*outWidth])
		}
	}
}

// everything runs the operators that sum over rows or split sums, and returns
// all results. Backends that differ in threads only must agree in every bit.
func everything(s *suite) (results [][]float32) {
	const rows, in, out = 131, 97, 203
	x, dy := s.mat(s.values(rows*in, 1), in), s.mat(s.values(rows*out, 1), out)
	dw, bias := s.mat(s.values(out*in, 1), in), s.buffer(s.values(in, 1))
	y, dx := s.mat(s.values(rows*out, 1), out), s.mat(s.values(rows*in, 1), in)
	w := s.weight(s.values(out*in, 1), out, in, device.F32)
	s.b.Linear(y, x, w, true)
	s.b.LinearInputGrad(dx, dy, w)
	s.b.LinearWeightGrad(dw, dy, x)
	s.b.AddRowGrad(bias, x)
	norm, rstd, dnorm := s.buffer(s.values(in, 1)), s.b.Alloc(rows), s.b.Alloc(in)
	s.b.RMSNorm(s.mat(make([]float32, rows*in), in), rstd, x, norm, 1e-5)
	s.b.RMSNormGrad(dx, dnorm, x, x, norm, rstd)
	table := s.mat(make([]float32, 7*in), in)
	s.b.EmbedGrad(table, x, s.ids(rows, 7))
	square := s.b.SumSquares(s.buffer(s.values(100_000, 1)))
	results = append(results, s.read(y), s.read(dx), s.read(dw), s.host(bias), s.host(dnorm), s.read(table), []float32{float32(square)})

	for _, c := range []attentionCase{attentionCases[3], attentionCases[len(attentionCases)-1]} {
		seqs, _ := c.seqs()
		width, outWidth := c.shape.Width(), c.shape.Heads*c.shape.HeadDim
		qkv, lse := s.mat(s.values(c.rows()*width, 1), width), s.b.Alloc(c.rows()*c.shape.Heads)
		o, dqkv := s.mat(make([]float32, c.rows()*outWidth), outWidth), s.mat(make([]float32, c.rows()*width), width)
		s.b.Attention(o, lse, qkv, c.shape, seqs, 0)
		s.b.AttentionGrad(dqkv, s.mat(s.values(c.rows()*outWidth, 1), outWidth), o, lse, qkv, c.shape, seqs)
		results = append(results, s.read(o), s.host(lse), s.read(dqkv))
	}
	return results
}
