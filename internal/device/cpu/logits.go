package cpu

import (
	"math"

	"agentmill/internal/device"
)

// LogProbs sets logp[t] = log softmax(invTemp·logits[t])[targets[t]] and lse[t].
func (b *Backend) LogProbs(logp, lse []float32, logits device.Mat, targets []int32, invTemp float32) {
	j := &b.jobs.logProbs
	*j = logProbsJob{k: b.k, logp: logp, lse: lse, x: view(logits), targets: targets, invTemp: invTemp}
	need("LogProbs", len(logp) == j.x.rows && len(lse) == j.x.rows && len(targets) == j.x.rows)
	b.pool.do(j, j.x.rows)
}

type logProbsJob struct {
	k         *kernels
	logp, lse []float32
	x         mat
	targets   []int32
	invTemp   float32
}

func (j *logProbsJob) run(_ *worker, t int) {
	row := j.x.row(t)
	j.lse[t] = j.k.logSumExp(row, j.invTemp)
	j.logp[t] = j.invTemp*row[j.targets[t]] - j.lse[t]
}

func (k *kernels) logSumExp(x []float32, invTemp float32) float32 {
	top := invTemp * k.maxOf(x)
	return top + float32(math.Log(float64(k.sumExp(x, invTemp, -top))))
}

// LogProbsGrad turns logits in place into dlogits.
func (b *Backend) LogProbsGrad(logits device.Mat, lse []float32, targets []int32, dlogp []float32, invTemp float32) {
	j := &b.jobs.logGrad
	*j = logProbsGradJob{k: b.k, lse: lse, dlogp: dlogp, x: view(logits), targets: targets, invTemp: invTemp}
	need("LogProbsGrad", len(dlogp) == j.x.rows && len(lse) == j.x.rows && len(targets) == j.x.rows)
	b.pool.do(j, j.x.rows)
}

type logProbsGradJob struct {
	k          *kernels
	lse, dlogp []float32
	x          mat
	targets    []int32
	invTemp    float32
}

func (j *logProbsGradJob) run(_ *worker, t int) {
	row, scale := j.x.row(t), j.dlogp[t]*j.invTemp
	j.k.expMul(row, row, j.invTemp, -j.lse[t], -scale)
	row[j.targets[t]] += scale
}

// Softmax writes exp(invTemp·x − lse) to y and each row's log-sum-exp to lse.
func (b *Backend) Softmax(y device.Mat, lse []float32, x device.Mat, invTemp float32) {
	j := &b.jobs.softmax
	*j = softmaxJob{k: b.k, y: view(y), lse: lse, x: view(x), invTemp: invTemp}
	need("Softmax", j.y.rows == j.x.rows && j.y.cols == j.x.cols && len(lse) == j.x.rows)
	b.pool.do(j, j.x.rows)
}

type softmaxJob struct {
	k       *kernels
	y, x    mat
	lse     []float32
	invTemp float32
}

func (j *softmaxJob) run(_ *worker, t int) {
	row := j.x.row(t)
	j.lse[t] = j.k.logSumExp(row, j.invTemp)
	j.k.expMul(j.y.row(t), row, j.invTemp, -j.lse[t], 1)
}
