package cpu

import "agentmill/internal/device"

// SwiGLU sets y = silu(gate)·up.
func (b *Backend) SwiGLU(y, gateUp device.Mat) {
	j := &b.jobs.swiglu
	*j = swigluJob{k: b.k, y: view(y), in: view(gateUp)}
	need("SwiGLU", j.y.rows == j.in.rows && j.in.cols == 2*j.y.cols)
	var parts int
	j.size, parts = b.rowSplit(j.in.rows, j.in.cols)
	b.pool.do(j, parts)
}

type swigluJob struct {
	k     *kernels
	y, in mat
	size  int
}

func (j *swigluJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.in.rows); t++ {
		in, f := j.in.row(t), j.y.cols
		j.k.swiglu(j.y.row(t), in[:f], in[f:])
	}
}

// SwiGLUGrad overwrites dgateUp.
func (b *Backend) SwiGLUGrad(dgateUp, dy, gateUp device.Mat) {
	j := &b.jobs.swigluGrad
	*j = swigluGradJob{k: b.k, din: view(dgateUp), dy: view(dy), in: view(gateUp)}
	need("SwiGLUGrad", j.dy.rows == j.in.rows && j.in.cols == 2*j.dy.cols && j.din.rows == j.in.rows && j.din.cols == j.in.cols)
	var parts int
	j.size, parts = b.rowSplit(j.in.rows, j.in.cols)
	b.pool.do(j, parts)
}

type swigluGradJob struct {
	k           *kernels
	din, dy, in mat
	size        int
}

func (j *swigluGradJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.in.rows); t++ {
		din, in, f := j.din.row(t), j.in.row(t), j.dy.cols
		j.k.swigluGrad(din[:f], din[f:], j.dy.row(t), in[:f], in[f:])
	}
}
