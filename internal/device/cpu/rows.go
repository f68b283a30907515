package cpu

import "agentmill/internal/device"

// unitValues is about how many values a unit of a row-wise job touches at least,
// so that claiming units costs nothing.
const unitValues = 8192

// rowSplit cuts rows of cols values into units.
func (b *Backend) rowSplit(rows, cols int) (size, parts int) {
	return b.pool.split(rows, unitValues/max(cols, 1))
}

// columnSplit cuts cols columns, which are summed over rows, into units of whole cache lines.
func (b *Backend) columnSplit(rows, cols int) (size, parts int) {
	size, _ = b.pool.split(cols, unitValues/max(rows, 1))
	size = (size + 63) / 64 * 64
	return size, (cols + size - 1) / size
}

// Embed copies row ids[t] of table to y[t].
func (b *Backend) Embed(y, table device.Mat, ids []int32) {
	j := &b.jobs.embed
	*j = embedJob{y: view(y), table: view(table), ids: ids}
	need("Embed", j.y.rows == len(ids) && j.y.cols == j.table.cols)
	var parts int
	j.size, parts = b.rowSplit(j.y.rows, j.y.cols)
	b.pool.do(j, parts)
}

type embedJob struct {
	y, table mat
	ids      []int32
	size     int
}

func (j *embedJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.y.rows); t++ {
		copy(j.y.row(t), j.table.row(int(j.ids[t])))
	}
}

// EmbedGrad adds dy[t] to row ids[t] of dtable.
func (b *Backend) EmbedGrad(dtable, dy device.Mat, ids []int32) {
	j := &b.jobs.embedGrad
	*j = embedGradJob{k: b.k, dtable: view(dtable), dy: view(dy), ids: ids}
	need("EmbedGrad", j.dy.rows == len(ids) && j.dy.cols == j.dtable.cols)
	var parts int
	j.size, parts = b.columnSplit(j.dy.rows, j.dy.cols)
	b.pool.do(j, parts)
}

type embedGradJob struct {
	k          *kernels
	dtable, dy mat
	ids        []int32
	size       int
}

// run adds one range of columns of all rows, in the order of rows (D3).
func (j *embedGradJob) run(_ *worker, unit int) {
	from, to := unit*j.size, min((unit+1)*j.size, j.dy.cols)
	for t, id := range j.ids {
		j.k.axpy(j.dtable.row(int(id))[from:to], 1, j.dy.row(t)[from:to])
	}
}

// Add adds scale·x to y.
func (b *Backend) Add(y, x device.Mat, scale float32) {
	j := &b.jobs.add
	*j = addJob{k: b.k, y: view(y), x: view(x), scale: scale}
	need("Add", j.y.rows == j.x.rows && j.y.cols == j.x.cols)
	var parts int
	j.size, parts = b.rowSplit(j.y.rows, j.y.cols)
	b.pool.do(j, parts)
}

type addJob struct {
	k     *kernels
	y, x  mat
	scale float32
	size  int
}

func (j *addJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.y.rows); t++ {
		j.k.axpy(j.y.row(t), j.scale, j.x.row(t))
	}
}

// AddRow adds bias to every row of y.
func (b *Backend) AddRow(y device.Mat, bias device.Buffer) {
	j := &b.jobs.addRow
	*j = addRowJob{k: b.k, y: view(y), bias: data(bias)}
	need("AddRow", j.y.cols == len(j.bias))
	var parts int
	j.size, parts = b.rowSplit(j.y.rows, j.y.cols)
	b.pool.do(j, parts)
}

type addRowJob struct {
	k    *kernels
	y    mat
	bias []float32
	size int
}

func (j *addRowJob) run(_ *worker, unit int) {
	for t := unit * j.size; t < min((unit+1)*j.size, j.y.rows); t++ {
		j.k.axpy(j.y.row(t), 1, j.bias)
	}
}

// AddRowGrad adds the sum of dy's rows to dbias.
func (b *Backend) AddRowGrad(dbias device.Buffer, dy device.Mat) {
	j := &b.jobs.addRowGrad
	*j = addRowGradJob{k: b.k, dy: view(dy), dbias: data(dbias)}
	need("AddRowGrad", j.dy.cols == len(j.dbias))
	var parts int
	j.size, parts = b.columnSplit(j.dy.rows, j.dy.cols)
	b.pool.do(j, parts)
}

type addRowGradJob struct {
	k     *kernels
	dy    mat
	dbias []float32
	size  int
}

// run sums one range of columns in the order of rows (D3).
func (j *addRowGradJob) run(_ *worker, unit int) {
	from, to := unit*j.size, min((unit+1)*j.size, j.dy.cols)
	for t := range j.dy.rows {
		j.k.axpy(j.dbias[from:to], 1, j.dy.row(t)[from:to])
	}
}
