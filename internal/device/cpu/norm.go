package cpu

import (
	"math"

	"agentmill/internal/device"
)

// RMSNorm sets y = x·rstd·weight.
func (b *Backend) RMSNorm(y device.Mat, rstd device.Buffer, x device.Mat, weight device.Buffer, eps float32) {
	j := &b.jobs.norm
	*j = normJob{k: b.k, y: view(y), x: view(x), weight: data(weight), rstd: data(rstd), eps: eps}
	need("RMSNorm", j.y.rows == j.x.rows && j.y.cols == j.x.cols && len(j.weight) == j.x.cols)
	var parts int
	j.size, parts = b.rowSplit(j.x.rows, j.x.cols)
	b.pool.do(j, parts)
}

type normJob struct {
	k            *kernels
	y, x         mat
	weight, rstd []float32
	eps          float32
	size         int
}

func (j *normJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.x.rows); t++ {
		x := j.x.row(t)
		mean := float64(j.k.dot(x, x)) / float64(len(x))
		r := float32(1 / math.Sqrt(mean+float64(j.eps)))
		if j.rstd != nil {
			j.rstd[t] = r
		}
		j.k.normRow(j.y.row(t), r, x, j.weight)
	}
}

// RMSNormGrad adds to dx, and to dweight unless that is nil.
func (b *Backend) RMSNormGrad(dx device.Mat, dweight device.Buffer, dy, x device.Mat, weight, rstd device.Buffer) {
	j := &b.jobs.normGrad
	*j = normGradJob{k: b.k, dx: view(dx), dy: view(dy), x: view(x), weight: data(weight), rstd: data(rstd)}
	need("RMSNormGrad", j.dx.rows == j.x.rows && j.dy.rows == j.x.rows && len(j.weight) == j.x.cols)
	var parts int
	j.size, parts = b.rowSplit(j.x.rows, j.x.cols)
	b.pool.do(j, parts)
	if dweight == nil {
		return
	}
	g := &b.jobs.normWeight
	*g = normWeightGradJob{k: b.k, dy: j.dy, x: j.x, rstd: j.rstd, dweight: data(dweight)}
	g.size, parts = b.columnSplit(g.x.rows, g.x.cols)
	b.pool.do(g, parts)
}

type normGradJob struct {
	k            *kernels
	dx, dy, x    mat
	weight, rstd []float32
	size         int
}

func (j *normGradJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.x.rows); t++ {
		x, dy, r := j.x.row(t), j.dy.row(t), j.rstd[t]
		dot := j.k.dot3(dy, j.weight, x)
		j.k.normDx(j.dx.row(t), r, r*r*r*dot/float32(len(x)), dy, j.weight, x)
	}
}

type normWeightGradJob struct {
	k             *kernels
	dy, x         mat
	rstd, dweight []float32
	size          int
}

// run sums one range of columns in the order of rows (D3).
func (j *normWeightGradJob) run(_ *worker, unit int) {
	from, to := unit*j.size, min((unit+1)*j.size, j.x.cols)
	for t := range j.x.rows {
		j.k.mulAdd(j.dweight[from:to], j.rstd[t], j.dy.row(t)[from:to], j.x.row(t)[from:to])
	}
}
