package cpu

import (
	"sync"
	"sync/atomic"
)

// A job is an operator cut into units that workers claim one after the other.
// Which worker runs a unit must not change its result.
type job interface {
	run(w *worker, unit int)
}

// How often a worker polls before it parks: up to some 30 microseconds where
// that mostly ends the wait, since waking takes longer, and down to a few where
// it mostly does not, because other work has the processors.
const (
	fewSpins  = 1000
	manySpins = 30000
	moreSpins = 1000 // after a wait that polling ended; a quarter fewer after another
)

// The states of a waiting goroutine.
const (
	awake int32 = iota
	parked
)

// A sleeper waits for a condition, first polling, then parked.
type sleeper struct {
	state atomic.Int32
	wakeC chan struct{}
	spins int // of the next wait
}

func newSleeper() sleeper { return sleeper{wakeC: make(chan struct{}, 1), spins: 4 * fewSpins} }

// wait returns once ready does. Whoever makes it ready calls wake afterwards.
func (s *sleeper) wait(ready func() bool) {
	for range s.spins {
		if ready() {
			s.spins = min(s.spins+moreSpins, manySpins)
			return
		}
	}
	s.spins = max(s.spins-s.spins/4, fewSpins)
	for !ready() {
		s.state.Store(parked)
		if ready() && s.state.CompareAndSwap(parked, awake) {
			return
		}
		<-s.wakeC
	}
}

func (s *sleeper) wake() {
	if s.state.CompareAndSwap(parked, awake) {
		s.wakeC <- struct{}{}
	}
}

// A worker runs units; it owns scratch memory.
type worker struct {
	sleeper
	seen    uint32 // the last epoch worked on
	scratch [scratchSlots][]float32
	tile    tile
	grad    gradHead
	sums    [maxRows]float32 // of a tile's softmax
}

// floats returns n values of scratch memory with any content. A slot's memory
// stands until the slot is asked for again.
func (w *worker) floats(slot, n int) []float32 {
	w.scratch[slot] = regrow(w.scratch[slot], n)
	return w.scratch[slot]
}

// A pool runs jobs on its workers; the calling goroutine is worker 0.
type pool struct {
	workers []*worker
	caller  sleeper
	job     job
	units   int64
	epoch   atomic.Uint32
	next    atomic.Int64
	busy    atomic.Int32
	closing atomic.Bool
	gone    sync.WaitGroup
	idle    func() bool
}

func newPool(threads int) *pool {
	p := &pool{caller: newSleeper()}
	p.idle = func() bool { return p.busy.Load() == 0 }
	for i := range threads {
		w := &worker{sleeper: newSleeper()}
		p.workers = append(p.workers, w)
		if i > 0 {
			p.gone.Add(1)
			go p.serve(w)
		}
	}
	return p
}

func (p *pool) serve(w *worker) {
	defer p.gone.Done()
	called := func() bool { return p.epoch.Load() != w.seen }
	for {
		w.wait(called)
		w.seen = p.epoch.Load()
		if p.closing.Load() {
			return
		}
		p.claim(w)
		if p.busy.Add(-1) == 0 {
			p.caller.wake()
		}
	}
}

func (p *pool) claim(w *worker) {
	for {
		unit := p.next.Add(1) - 1
		if unit >= p.units {
			return
		}
		p.job.run(w, int(unit))
	}
}

// do runs all units of j and returns when they are done.
func (p *pool) do(j job, units int) {
	if units <= 1 || len(p.workers) == 1 {
		for i := range units {
			j.run(p.workers[0], i)
		}
		return
	}
	p.job, p.units = j, int64(units)
	p.next.Store(0)
	p.call()
	p.claim(p.workers[0])
	p.caller.wait(p.idle)
	p.job = nil
}

// call makes all other workers look at the pool.
func (p *pool) call() {
	p.busy.Store(int32(len(p.workers) - 1))
	p.epoch.Add(1)
	for _, w := range p.workers[1:] {
		w.wake()
	}
}

func (p *pool) close() {
	if p.closing.Swap(true) {
		return
	}
	p.call()
	p.gone.Wait()
	for _, w := range p.workers {
		for i, s := range w.scratch {
			release(s[:cap(s)])
			w.scratch[i] = nil
		}
	}
}

// split cuts n items into parts of at least least items, several a worker, and
// returns the size of a part and their number.
func (p *pool) split(n, least int) (size, parts int) {
	size = max(least, (n+8*len(p.workers)-1)/(8*len(p.workers)), 1)
	return size, (n + size - 1) / size
}
