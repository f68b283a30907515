package infer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/traj"
)

// A drawn token (-1: none was), its log-probability in the distribution it was drawn from, and
// in the full one at temperature 1. Greedy choice is a distribution with one
// token: its logp is 0.
type drawn struct {
	id         int32
	logp, full float32
	own        bool // logp is complete: of a distribution that was restricted
	err        error
}

// A sampler draws the tokens of one step.
type sampler struct {
	backend device.Backend
	vocab   int
	probs   device.Buffer // [rows, V]
	host    []float32     // as probs
	logits  []float32     // of one row
	ids     []int32
	lse     []float32
	logp    []float32
	drawn   []drawn
	cands   []candidate
}

func newSampler(m model.Model) *sampler {
	return &sampler{backend: m.Weights().Backend, vocab: m.Config().VocabSize}
}

func (s *sampler) close() {
	if s.probs != nil {
		s.backend.Free(s.probs)
	}
}

// sample draws a token for each turn from the row of logits of the same index.
func (s *sampler) sample(logits device.Mat, turns []*turn) {
	s.grow(len(turns))
	for from := 0; from < len(turns); {
		temp := turns[from].session.sampling.Temperature
		to := from + 1
		for to < len(turns) && turns[to].session.sampling.Temperature == temp {
			to++
		}
		s.sampleAt(temp, rows(logits, from, to), turns[from:to], s.drawn[from:to])
		from = to
	}
}

// grow makes room for n rows.
func (s *sampler) grow(n int) {
	s.drawn = resize(s.drawn, n)
	s.ids, s.lse, s.logp = resize(s.ids, n), resize(s.lse, n), resize(s.logp, n)
	if len(s.host) >= n*s.vocab {
		return
	}
	s.close()
	s.probs = s.backend.Alloc(n * s.vocab)
	s.host = make([]float32, n*s.vocab)
}

// sampleAt draws for turns of one temperature.
func (s *sampler) sampleAt(temp float64, logits device.Mat, turns []*turn, out []drawn) {
	n := len(turns)
	host, ids, lse, logp := s.host[:n*s.vocab], s.ids[:n], s.lse[:n], s.logp[:n]
	invTemp := float32(1)
	if temp > 0 {
		invTemp = float32(1 / temp)
		probs := device.Dense(s.probs.Slice(0, n*s.vocab), n, s.vocab)
		s.backend.Softmax(probs, lse, logits, invTemp)
		s.backend.Download(host, probs.Buf)
	} else {
		s.backend.Download(host, logits.Buf)
	}
	nth, wrong := 0, false // row of its turn, behind a wrong guess
	for i, t := range turns {
		if nth++; i == 0 || turns[i-1] != t {
			nth, wrong = 0, false
		}
		if wrong {
			out[i], ids[i] = drawn{id: -1}, 0
			continue
		}
		row := host[i*s.vocab : (i+1)*s.vocab]
		if t.session.mask != nil {
			s.restrict(row, rows(logits, i, i+1), t, nth)
		}
		out[i] = s.draw(row, t)
		ids[i] = out[i].id
		wrong = nth < len(t.guess) && t.guess[nth] != out[i].id
	}
	if temp > 0 {
		s.backend.LogProbs(logp, lse, logits, ids, invTemp)
		for i := range out {
			if !out[i].own {
				out[i].logp += logp[i]
			}
		}
	}
	if temp != 1 {
		s.backend.LogProbs(logp, lse, logits, ids, 1)
	}
	for i := range out {
		if out[i].id < 0 {
			continue
		}
		out[i].full = logp[i]
		if x := logp[i]; x-x != 0 {
			out[i].err = fmt.Errorf("sample token %d: the model's log-probability is %v: want a finite number", turns[i].session.sampled, x)
		}
	}
}

// draw chooses a token of one row: of logits when greedy, else of probabilities.
// Its logp is minus the logarithm of the mass that top-k, top-p and min-p leave;
// that of a restricted row is complete.
func (s *sampler) draw(row []float32, t *turn) drawn {
	d := s.choose(row, t)
	if t.session.mask != nil {
		if t.session.sampling.Temperature > 0 {
			d.logp, d.own = min(0, d.logp+float32(math.Log(float64(row[d.id])))), true
		}
		t.advance(d.id)
	}
	return d
}

func (s *sampler) choose(row []float32, t *turn) drawn {
	o := t.session.sampling
	if o.Temperature == 0 {
		return drawn{id: argmax(row)}
	}
	u := t.session.rng.Float64()
	o.Constrain = "" // row is restricted already
	if !o.Truncated() {
		return drawn{id: pick(row, u)}
	}
	s.cands = candidates(s.cands[:0], row, o)
	id, mass := pickCandidate(s.cands, u)
	return drawn{id: id, logp: float32(-math.Log(mass))}
}

// argmax is the index of the largest value, the first of equals.
func argmax(v []float32) int32 {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return int32(best)
}

// pick is the first index at which the running sum of probs exceeds u, or the
// last one that is possible where rounding leaves the sum below it.
func pick(probs []float32, u float64) int32 {
	sum, last := 0.0, 0
	for i, p := range probs {
		sum += float64(p)
		if sum > u {
			return int32(i)
		}
		if p > 0 {
			last = i
		}
	}
	return int32(last)
}

// A candidate is a token that may be drawn.
type candidate struct {
	id int32
	p  float32
}

// candidates are the tokens that top-k, then top-p of those, then min-p leave: the
// most probable first, equal ones in the order of ids. min-p (Nguyen et al. 2024)
// keeps what is at least so likely as that share of the likeliest.
func candidates(dst []candidate, probs []float32, o traj.Sampling) []candidate {
	least := float32(o.MinP) * slices.Max(probs)
	dst = nucleusOf(dst, probs, o, least)
	n := len(dst)
	for n > 1 && dst[n-1].p < least {
		n--
	}
	return dst[:n]
}

// nucleusOf are the tokens that top-k, then top-p of those, leave. Those below
// least need not be among them.
func nucleusOf(dst []candidate, probs []float32, o traj.Sampling, least float32) []candidate {
	floor, room := float32(0), len(probs)
	switch {
	case o.TopK > 0:
		room = 2*o.TopK + 64
	case o.MinP > 0:
		floor = math.Nextafter32(least, 0)
	default:
		// All tokens below this share together have less than what top_p leaves
		// out, so the most probable top_p does not need them.
		floor = float32((1 - o.TopP) / float64(len(probs)) / 2)
	}
	for i, p := range probs {
		if p <= floor {
			continue
		}
		dst = append(dst, candidate{int32(i), p})
		if len(dst) == room && o.TopK > 0 {
			dst = mostProbable(dst, o.TopK)
			floor = dst[len(dst)-1].p
		}
	}
	dst = mostProbable(dst, cmp.Or(o.TopK, len(dst)))
	if o.TopP == 0 || o.TopP == 1 {
		return dst
	}
	mass := 1.0
	if o.TopK > 0 {
		mass = massOf(dst)
	}
	return dst[:nucleus(dst, o.TopP*mass)]
}

// mostProbable sorts c and cuts it to k.
func mostProbable(c []candidate, k int) []candidate {
	slices.SortFunc(c, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.id, b.id))
	})
	return c[:min(k, len(c))]
}

// nucleus is how many of the first candidates have the mass.
func nucleus(c []candidate, mass float64) int {
	sum := 0.0
	for i := range c {
		sum += float64(c[i].p)
		if sum >= mass {
			return i + 1
		}
	}
	return len(c)
}

// pickCandidate draws from c in proportion to p. mass is the sum of all p.
func pickCandidate(c []candidate, u float64) (id int32, mass float64) {
	mass = massOf(c)
	sum := 0.0
	for i := range c {
		sum += float64(c[i].p)
		if sum > u*mass {
			return c[i].id, mass
		}
	}
	if len(c) == 0 {
		return 0, 1
	}
	return c[len(c)-1].id, mass
}

func massOf(c []candidate) float64 {
	sum := 0.0
	for i := range c {
		sum += float64(c[i].p)
	}
	return sum
}

// rows views rows from to to of m.
func rows(m device.Mat, from, to int) device.Mat {
	return device.Mat{Buf: m.Buf.Slice(from*m.Stride, to*m.Stride), Rows: to - from, Cols: m.Cols, Stride: m.Stride}
}

// resize returns v with length n.
func resize[T any](v []T, n int) []T {
	return slices.Grow(v[:0], n)[:n]
}
