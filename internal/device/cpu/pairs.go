package cpu

// Products of bfloat16 pairs run through the same tiles as those of float32: a
// pair of neighbours along k takes the place of one value, and k counts pairs.

// roundRows replaces a of j by its values rounded to pairs of bfloat16.
func (b *Backend) roundRows(j *productJob) {
	r := &b.jobs.round
	pairs := (j.a.cols + 1) / 2
	stride := oddLines(pairs)
	b.rounded = regrow(b.rounded, j.a.rows*stride)
	*r = roundJob{k: b.k, dst: b.rounded, stride: stride, a: j.a}
	var parts int
	r.size, parts = b.rowSplit(j.a.rows, j.a.cols)
	b.pool.do(r, parts)
	j.a = mat{b.rounded, j.a.rows, pairs, stride}
}

// oddLines is a stride for rows of n values: an odd number of cache lines, so
// that rows do not fall on each other in the caches.
func oddLines(n int) int {
	const line = 16
	lines := (n + line - 1) / line
	return (lines + 1 - lines%2) * line
}

// A roundJob rounds the rows of a; an odd last value gets a zero beside it.
type roundJob struct {
	k      *kernels
	dst    []float32
	stride int
	a      mat
	size   int
}

func (j *roundJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.a.rows); t++ {
		j.k.roundRow(j.dst[t*j.stride:][:(j.a.cols+1)/2], j.a.row(t))
	}
}
