package cpu

// Peak runs rounds of multiply-adds in registers on every worker and returns
// the number of operations: the yardstick of the matrix products. It is 0 on a
// path without assembly.
func (b *Backend) Peak(rounds int) (operations float64) {
	if b.k.peak == nil {
		return 0
	}
	units := len(b.pool.workers)
	b.pool.do(&peakJob{b.k.peak, rounds}, units)
	return float64(units*rounds) * b.k.peakOps()
}

// PeakPairs is Peak for products of bfloat16 pairs, 0 where there are none.
func (b *Backend) PeakPairs(rounds int) (operations float64) {
	if b.k.peakPairs == nil {
		return 0
	}
	units := len(b.pool.workers)
	b.pool.do(&peakJob{b.k.peakPairs, rounds}, units)
	return 2 * float64(units*rounds) * b.k.peakOps()
}

type peakJob struct {
	peak   func(n int)
	rounds int
}

func (j *peakJob) run(_ *worker, _ int) { j.peak(j.rounds) }
