package cpu

// Attention on pairs of bfloat16: the tiles of attention.go, with two neighbours
// of a sum in the place of one. Probabilities are rounded in place.

// roundedRows writes the rows of m to dst, rounded to pairs along their columns.
func (k *kernels) roundedRows(dst []float32, m mat) mat {
	pairs := (m.cols + 1) / 2
	to := mat{dst, m.rows, pairs, pairs}
	for i := range m.rows {
		k.roundRow(to.row(i), m.row(i))
	}
	return to
}

// roundRow sets dst to the pairs of src; an odd last value gets a zero beside it.
func (k *kernels) roundRow(dst, src []float32) {
	row := halves(dst)
	row[len(row)-1] = 0
	k.pairs(row[:len(src)], src)
}

// stackPairs is stack for queries that are rounded.
func (c *attentionCall) stackPairs(dst []float32, h *headKeys, u attendTile) {
	dim, depth := c.s.HeadDim, c.kv.depth()
	for r := range u.to - u.from {
		t, head := c.place(h, u.from+r)
		c.k.roundRow(dst[r*depth:][:depth], c.qkv.row(t)[head*dim:][:dim])
	}
}

// pairValues writes rows of values from position at on. An even position's
// partner is zero until it comes: sums run over it.
func (c *attentionCall) pairValues(w *worker, values []float32, at int, rows mat) {
	wide := c.kv.wide
	rounded := c.k.roundedRows(w.floats(slotRows, rows.rows*((rows.cols+1)/2)), rows)
	for i := range rows.rows {
		dst, src := halves(values[c.kv.valuesAt(at+i):][:wide]), halves(rounded.row(i))[:rows.cols]
		if odd := (at + i) % 2; odd == 0 {
			clear(dst)
			for d, v := range src {
				dst[2*d] = v
			}
		} else {
			for d, v := range src {
				dst[2*d+1] = v
			}
		}
	}
}
