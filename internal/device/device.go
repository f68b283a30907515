// Package device owns the operator contract between the model code, which is
// written once, and the devices that run it.
//
// Dimension names: T rows (tokens of all sequences of a ragged batch), C
// channels, H query heads, K key/value heads, D head size, F hidden size of the
// feed-forward, V vocabulary. Matrices are row-major.
//
// D1: operators overwrite activations and accumulate gradients, where nothing
// else is said.
// D2: a row of any result depends on that row's inputs alone, bit for bit:
// neither the number of rows in the call, nor their order, nor the number of
// threads changes it. So prefill, single steps and batches agree exactly.
// D3: reductions over rows (weight gradients) have one fixed order for a given
// call; it does not depend on the number of threads.
//
// The interface has more than six methods because each is a kernel.
package device

// A DType is how a Weight stores its values and is multiplied.
type DType int

// The weight formats. BF16 holds the upper half of a float32, rounded to nearest
// even, and is multiplied in float32. BF16Dot is the same, but where the device
// has products of bfloat16 pairs, summed in float32, a product rounds its other
// factor too. Int8 holds whole multiples of a step, −127 to 127, to nearest even;
// every row (output) has a step of its own, its largest magnitude by 127.
const (
	F32 DType = iota
	BF16
	BF16Dot
	Int8
)

// Size is how many bytes a value takes.
func (d DType) Size() int {
	switch d {
	case F32:
		return 4
	case Int8:
		return 1
	default:
		return 2
	}
}

// A Buffer is an array of float32 on a device. Slice shares memory.
type Buffer interface {
	Len() int
	Slice(from, to int) Buffer
}

// A HostBuffer is a Buffer in the host's memory, where it can be filled without
// an Upload. It is optional.
type HostBuffer interface {
	Buffer
	Host() []float32
}

// A Mat views Rows×Cols values of a Buffer, Stride values from row to row.
type Mat struct {
	Buf                Buffer
	Rows, Cols, Stride int
}

// Dense views b as rows×cols without gaps.
func Dense(b Buffer, rows, cols int) Mat { return Mat{b, rows, cols, cols} }

// Columns views columns from to to of m.
func (m Mat) Columns(from, to int) Mat {
	n := (m.Rows-1)*m.Stride + to
	if m.Rows == 0 {
		n = from
	}
	return Mat{m.Buf.Slice(from, max(n, from)), m.Rows, to - from, m.Stride}
}

// A Weight is a matrix [Out, In], packed for products.
type Weight interface {
	Out() int
	In() int
	DType() DType
}

// A Cache holds keys and values of one sequence, in all layers.
type Cache interface {
	// Len is the number of positions held.
	Len() int
	// Advance makes n positions appended in every layer part of the sequence.
	Advance(n int)
	// Truncate forgets all positions from n on.
	Truncate(n int)
	Free()
}

// A PrefixCache can begin as another sequence of the same device began. It is
// optional; the keys and values copied are those that would be computed again.
type PrefixCache interface {
	Cache
	// CopyPrefix makes the cache, which is empty, hold the first n positions of from.
	CopyPrefix(from Cache, n int)
}

// A Seq is one sequence of a ragged batch: its rows are Start to Start+Len.
// With a Cache its keys are those held there followed by its own rows (which
// the attention operator appends); without, the rows of Prefix, which are other
// sequences' own, followed by its own. So what several begin with is computed once.
type Seq struct {
	Start, Len int
	Cache      Cache
	Prefix     []Span
}

// A Span is rows Start to Start+Len of a batch.
type Span struct{ Start, Len int }

// Past is how many rows of others the sequence begins with.
func (s Seq) Past() (n int) {
	for _, p := range s.Prefix {
		n += p.Len
	}
	return n
}

// AttentionShape describes the fused rows [H·D | K·D | K·D] of q, k and v. With
// BF16Dot queries, keys, values and probabilities are rounded to bfloat16 where
// the device has products of such pairs; other types change nothing.
type AttentionShape struct {
	Heads, KVHeads, HeadDim int
	DType                   DType
}

// Width is the length of one fused row.
func (s AttentionShape) Width() int { return (s.Heads + 2*s.KVHeads) * s.HeadDim }

// AdamW holds the constants of one optimiser step. Step counts from 1. Clip
// multiplies the gradient first.
type AdamW struct {
	LR, Beta1, Beta2, Eps, WeightDecay float64
	Step                               int
	Clip                               float64
}

// A Backend runs operators. Calls are made from one goroutine at a time; what
// they started is done when they return, or before the next Download.
type Backend interface {
	Name() string // cpu, cuda
	Path() string // the kernel path in use: avx512, avx2, generic …
	Close() error

	Alloc(n int) Buffer // zeroed
	Free(b Buffer)
	Upload(dst Buffer, src []float32)
	Download(dst []float32, src Buffer)
	Copy(dst, src Buffer)
	Zero(b Buffer)

	// NewWeight makes an empty matrix; SetWeight packs row-major values
	// [out, in] into it, rounding to its dtype.
	NewWeight(out, in int, dtype DType) Weight
	SetWeight(w Weight, values Buffer)

	// Linear computes y[T, out] = x[T, in]·wᵀ, or adds it to y.
	Linear(y, x Mat, w Weight, add bool)
	// LinearInputGrad adds dy[T, out]·w to dx[T, in].
	LinearInputGrad(dx, dy Mat, w Weight)
	// LinearWeightGrad adds dyᵀ·x to dw[out, in].
	LinearWeightGrad(dw, dy, x Mat)

	// Embed copies row ids[t] of table[V, C] to y[t].
	Embed(y, table Mat, ids []int32)
	// EmbedGrad adds dy[t] to row ids[t] of dtable.
	EmbedGrad(dtable, dy Mat, ids []int32)

	// RMSNorm: y = x·rstd·weight, rstd[t] = 1/√(mean(x²)+eps). rstd may be nil.
	RMSNorm(y Mat, rstd Buffer, x Mat, weight Buffer, eps float32)
	// RMSNormGrad adds to dx, and to dweight unless that is nil.
	RMSNormGrad(dx Mat, dweight Buffer, dy, x Mat, weight, rstd Buffer)

	// Rope rotates heads heads of size dim in each row of x in place by
	// positions[t], pairing i with i+dim/2 (the Hugging Face layout);
	// freq[i] is the angle a position of pair i, sign −1 undoes it (the gradient).
	Rope(x Mat, positions []int32, heads, dim int, freq []float64, sign float32)

	// NewCache makes room for up to capacity positions (grown on demand).
	NewCache(layers, capacity int, s AttentionShape) Cache
	// Attention is causal grouped-query attention with scale 1/√D over fused
	// rows qkv[T, (H+2K)·D] whose q and k are already rotated. out is [T, H·D].
	// lse[T, H] (log-sum-exp of the scaled scores) may be nil. For a Seq with a
	// Cache the new keys and values are written at Cache.Len() of that layer.
	Attention(out Mat, lse Buffer, qkv Mat, s AttentionShape, seqs []Seq, layer int)
	// AttentionGrad overwrites dqkv from dout; sequences have no cache. Rows that
	// others go on from get the sum of all gradients, in the order of seqs.
	AttentionGrad(dqkv, dout, out Mat, lse Buffer, qkv Mat, s AttentionShape, seqs []Seq)

	// SwiGLU: y[T, F] = silu(gate)·up of gateUp[T, gate F | up F].
	SwiGLU(y, gateUp Mat)
	// SwiGLUGrad overwrites dgateUp from dy.
	SwiGLUGrad(dgateUp, dy, gateUp Mat)

	// Add adds scale·x to y.
	Add(y, x Mat, scale float32)
	// AddRow adds the vector bias to every row of y (a bias).
	AddRow(y Mat, bias Buffer)
	// AddRowGrad adds the sum of dy's rows to dbias.
	AddRowGrad(dbias Buffer, dy Mat)

	// LogProbs: logp[t] = log softmax(invTemp·logits[t])[targets[t]],
	// lse[t] = log Σ exp(invTemp·logits[t]).
	LogProbs(logp, lse []float32, logits Mat, targets []int32, invTemp float32)
	// LogProbsGrad turns logits in place into dlogits = dlogp[t]·invTemp·(onehot − softmax).
	LogProbsGrad(logits Mat, lse []float32, targets []int32, dlogp []float32, invTemp float32)
	// Softmax writes exp(invTemp·x − lse) to y (y may be x) and returns lse a row.
	Softmax(y Mat, lse []float32, x Mat, invTemp float32)

	// SumSquares returns Σ b², summed in float64 in a fixed order.
	SumSquares(b Buffer) float64
	// AdamW updates p from gradient g and moments m, v:
	// p −= lr·(m̂/(√v̂+eps) + wd·p).
	AdamW(p, g, m, v Buffer, h AdamW)
}
