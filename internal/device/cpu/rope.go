package cpu

import (
	"math"
	"slices"

	"agentmill/internal/device"
)

// A ropeTable keeps the cosines and sines of positions seen so far.
type ropeTable struct {
	freq     []float64
	cos, sin []float32 // [position, pair]
}

// grow makes the table cover positions below n for freq.
func (r *ropeTable) grow(freq []float64, n int) {
	if !slices.Equal(r.freq, freq) {
		*r = ropeTable{freq: slices.Clone(freq)}
	}
	have := len(r.cos) / max(1, len(freq))
	if n <= have {
		return
	}
	for pos := have; pos < max(n, 2*have); pos++ {
		for _, f := range freq {
			sin, cos := math.Sincos(float64(pos) * f)
			r.cos, r.sin = append(r.cos, float32(cos)), append(r.sin, float32(sin))
		}
	}
}

// Rope rotates heads in place.
func (b *Backend) Rope(x device.Mat, positions []int32, heads, dim int, freq []float64, sign float32) {
	j := &b.jobs.rope
	need("Rope", len(positions) == x.Rows && heads*dim <= x.Cols && len(freq) == dim/2)
	if x.Rows == 0 {
		return
	}
	b.rope.grow(freq, int(slices.Max(positions))+1)
	*j = ropeJob{k: b.k, x: view(x), positions: positions, table: &b.rope, heads: heads, dim: dim, sign: sign}
	var parts int
	j.size, parts = b.rowSplit(x.Rows, heads*dim)
	b.pool.do(j, parts)
}

type ropeJob struct {
	k          *kernels
	x          mat
	positions  []int32
	table      *ropeTable
	heads, dim int
	sign       float32
	size       int
}

func (j *ropeJob) run(_ *worker, unit int) {
	half := j.dim / 2
	for t := unit * j.size; t < min((unit+1)*j.size, j.x.rows); t++ {
		at := int(j.positions[t]) * half
		cos, sin := j.table.cos[at:][:half], j.table.sin[at:][:half]
		row := j.x.row(t)
		for h := range j.heads {
			j.k.rotate(row[h*j.dim:][:j.dim], cos, sin, j.sign)
		}
	}
}
