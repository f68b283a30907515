package devicetest

import (
	"fmt"
	"math"
	"slices"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu/ref"
)

// shapes are rows, in, out: below, at and above tiles, panels and blocks.
var shapes = [][3]int{
	{1, 1, 1},
	{1, 64, 32},
	{2, 7, 33},
	{3, 5, 16},
	{5, 129, 31},
	{6, 16, 17},
	{7, 96, 65},
	{11, 33, 64},
	{12, 40, 100},
	{13, 100, 48},
	{25, 1, 70},
	{37, 770, 40},
	{40, 64, 9},
	{4, 1600, 35},
	{250, 20, 70},
	{3, 40, 800},
}

func testLinear(s *suite) {
	for _, c := range shapes {
		rows, in, out := c[0], c[1], c[2]
		x, w, y := s.values(rows*in, 1), s.values(out*in, 0.3), s.values(rows*out, 1)
		my := s.mat(y, out)
		weight := s.weight(w, out, in, device.F32)
		if weight.Out() != out || weight.In() != in || weight.DType() != device.F32 {
			s.Errorf("weight says %d×%d, dtype %d", weight.Out(), weight.In(), weight.DType())
		}
		want := make([]float64, rows*out)
		ref.Linear(want, wide(x), wide(w), in, out)
		s.b.Linear(my, s.mat(x, in), weight, false)
		s.close("linear", fmt.Sprint("y of ", c), s.read(my), want)
		ref.Linear(want, wide(x), wide(w), in, out)
		s.b.Linear(my, s.mat(x, in), weight, true)
		s.close("linear", fmt.Sprint("added y of ", c), s.read(my), want)
	}
}

func testLinearEmpty(s *suite) {
	w := s.weight(s.values(12, 1), 4, 3, device.F32)
	empty := device.Mat{Buf: s.b.Alloc(0), Stride: 4}
	y, x := empty, empty
	y.Cols, x.Cols = 4, 3
	s.b.Linear(y, x, w, false)
	s.b.LinearInputGrad(x, y, w)
	dw := s.mat(make([]float32, 12), 3)
	s.b.LinearWeightGrad(dw, y, x)
	s.same("dw of no rows", s.read(dw), make([]float32, 12))
}

func testLinearBF16(s *suite) {
	for _, c := range shapes {
		rows, in, out := c[0], c[1], c[2]
		x, w, dy := s.values(rows*in, 1), s.values(out*in, 0.3), s.values(rows*out, 1)
		s.linearAs(fmt.Sprint(c), device.BF16, toBF16, x, w, dy, in, out)
		toBF16(x)
		toBF16(dy)
		s.linearAs(fmt.Sprint(c, " with factors of bfloat16"), device.BF16Dot, toBF16, x, w, dy, in, out)
	}
}

// toBF16 rounds values in place.
func toBF16(v []float32) {
	for i, x := range v {
		v[i] = ref.BF16(x)
	}
}

// linearAs checks products with a weight of dtype, which rounds its values.
func (s *suite) linearAs(name string, dtype device.DType, round func(v []float32), x, values, dy []float32, in, out int) {
	w := slices.Clone(values)
	weight := s.weight(w, out, in, dtype)
	round(w)
	my, mdx := s.mat(make([]float32, len(dy)), out), s.mat(make([]float32, len(x)), in)
	want, wantDx := make([]float64, len(dy)), make([]float64, len(x))
	ref.Linear(want, wide(x), wide(w), in, out)
	ref.LinearInputGrad(wantDx, wide(dy), wide(w), in, out)
	s.b.Linear(my, s.mat(x, in), weight, false)
	s.b.LinearInputGrad(mdx, s.mat(dy, out), weight)
	s.close("linear", "y of "+name, s.read(my), want)
	s.close("linear", "dx of "+name, s.read(mdx), wantDx)
}

// testLinearInt8 compares with the values that are stored: whole multiples of a row's step.
func testLinearInt8(s *suite) {
	for _, c := range shapes {
		rows, in, out := c[0], c[1], c[2]
		x, w, dy := s.values(rows*in, 1), s.values(out*in, 0.3), s.values(rows*out, 1)
		s.linearAs(fmt.Sprint(c, " of whole numbers"), device.Int8, toInt8(in), x, w, dy, in, out)
		clear(w[:in]) // a row without a step
		s.linearAs(fmt.Sprint(c, " with a row of zeros"), device.Int8, toInt8(in), x, w, dy, in, out)
	}
}

// toInt8 rounds rows of in values to whole multiples of their largest magnitude by 127.
func toInt8(in int) func(v []float32) {
	return func(v []float32) {
		for row := range slices.Chunk(v, max(in, 1)) {
			var most float32
			for _, x := range row {
				most = max(most, float32(math.Abs(float64(x))))
			}
			step := most / 127
			for i, x := range row {
				if step > 0 {
					row[i] = float32(math.RoundToEven(float64(x/step))) * step
				}
			}
		}
	}
}

func testLinearGrads(s *suite) {
	for _, c := range shapes {
		rows, in, out := c[0], c[1], c[2]
		x, w, dy := s.values(rows*in, 1), s.values(out*in, 0.3), s.values(rows*out, 1)
		dx, dw := s.values(rows*in, 1), s.values(out*in, 1)
		mdx, mdw := s.mat(dx, in), s.mat(dw, in)
		wantDx, wantDw := wide(dx), wide(dw)
		ref.LinearInputGrad(wantDx, wide(dy), wide(w), in, out)
		ref.LinearWeightGrad(wantDw, wide(dy), wide(x), in, out)
		s.b.LinearInputGrad(mdx, s.mat(dy, out), s.weight(w, out, in, device.F32))
		s.b.LinearWeightGrad(mdw, s.mat(dy, out), s.mat(x, in))
		s.close("linear", fmt.Sprint("dx of ", c), s.read(mdx), wantDx)
		s.close("linear", fmt.Sprint("dw of ", c), s.read(mdw), wantDw)
	}
}
