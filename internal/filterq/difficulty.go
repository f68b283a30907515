package filterq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"agentmill/internal/dataset"
	"agentmill/internal/question"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// Difficulty chooses training questions by how often the policy was right of
// late. Questions of other splits are left as they are.
type Difficulty struct {
	Scored    []string // files of scored attempts, the latest last; none: off
	Recent    int      // so many last attempts at a question count
	Low, High float64  // drop questions outside this band of the pass rate
	Order     string   // input, hard-first or weighted
	Floor     float64  // weighted: least weight, so that solved and hopeless questions are tried again
	Seed      uint64
}

// Orders of the kept questions.
const (
	InputOrder = "input"
	HardFirst  = "hard-first"
	Weighted   = "weighted"
)

// ErrNoSignal is returned where no training question is left in the band: the
// policy is always right, or never, at all of them.
var ErrNoSignal = errors.New("no signal")

func (d *Difficulty) check() error {
	if len(d.Scored) == 0 {
		if d.Low > 0 || d.High > 0 && d.High < 1 || d.Order != "" && d.Order != InputOrder {
			return errors.New("--min-pass, --max-pass, --order: nothing is known of the questions; want --difficulty with scored attempts")
		}
		return nil
	}
	switch {
	case !(d.Low >= 0 && d.Low <= d.High && d.High <= 1):
		return fmt.Errorf("--min-pass %g --max-pass %g: want 0 to 1, the least first", d.Low, d.High)
	case d.Recent < 1:
		return fmt.Errorf("--recent %d: want 1 or more", d.Recent)
	case !(d.Floor > 0 && d.Floor <= 0.25):
		return fmt.Errorf("--floor %g: want more than 0 and at most 0.25, the weight of a question that is right half of the time", d.Floor)
	case !slices.Contains([]string{InputOrder, HardFirst, Weighted}, d.Order):
		return fmt.Errorf("--order %q: want input, hard-first or weighted", d.Order)
	}
	return nil
}

// A Pool is how many training questions are how hard. What was scored before is
// the memory: a question moves between pools as attempts come in.
type Pool struct{ Easy, Normal, Hard, New int }

func (p Pool) String() string {
	return fmt.Sprintf("of the training questions %d are easy, %d normal, %d hard, %d new", p.Easy, p.Normal, p.Hard, p.New)
}

// passRate is the share of right ones among the last attempts at a question.
type passRate struct {
	right []bool
}

func (r *passRate) rate() float64 {
	n := 0
	for _, ok := range r.right {
		if ok {
			n++
		}
	}
	return float64(n) / float64(len(r.right))
}

// rates reads the scored attempts. Failed ones, and those without a verdict, say
// nothing.
func (d *Difficulty) rates(ctx context.Context) (map[string]*passRate, error) {
	rates := map[string]*passRate{}
	for _, path := range d.Scored { // one by one: the order is that of time
		_, err := dataset.Read(ctx, dataset.Source{Paths: []string{path}}, func(_ dataset.Position, row *traj.Scored) error {
			if row.Verdict == nil || row.Failure != nil || row.Part > 0 {
				return nil
			}
			r := rates[row.Question.ID]
			if r == nil {
				r = &passRate{}
				rates[row.Question.ID] = r
			}
			r.right = append(r.right, row.Verdict.Correct)
			if len(r.right) > d.Recent {
				r.right = r.right[1:]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rates, nil
}

// choose drops training questions outside the band and orders the others.
func (d *Difficulty) choose(ctx context.Context, items []*item) (pool Pool, err error) {
	if len(d.Scored) == 0 {
		return pool, nil
	}
	rates, err := d.rates(ctx)
	if err != nil {
		return pool, err
	}
	asked, left := 0, 0
	for _, it := range items {
		if it.Split != question.Train || it.failed != "" {
			continue
		}
		asked++
		d.judge(it, rates[it.ID], &pool)
		if it.failed == "" {
			left++
		}
	}
	if asked > 0 && left == 0 {
		return pool, fmt.Errorf("%w: %v; none passes between %g and %g of its last %d attempts", ErrNoSignal, pool, d.Low, d.High, d.Recent)
	}
	d.order(items, rates)
	return pool, nil
}

// judge says what is known of one question.
func (d *Difficulty) judge(it *item, r *passRate, pool *Pool) {
	const check = "difficulty"
	if r == nil {
		pool.New++
		it.say(check, Pass, "new: no attempt yet")
		return
	}
	rate := r.rate()
	name, verdict := "normal", Pass
	switch {
	case rate < d.Low || rate == 0:
		name, pool.Hard = "hard", pool.Hard+1
	case rate > d.High || rate == 1:
		name, pool.Easy = "easy", pool.Easy+1
	default:
		pool.Normal++
	}
	if rate < d.Low || rate > d.High {
		verdict = Drop
	}
	it.say(check, verdict, fmt.Sprintf("%s: %.2f of the last %d attempts right", name, rate, len(r.right)))
}

// order sorts training questions among themselves; others keep their places
// after them.
func (d *Difficulty) order(items []*item, rates map[string]*passRate) {
	if d.Order == InputOrder {
		return
	}
	key := func(it *item) float64 {
		if it.Split != question.Train {
			return math.Inf(1)
		}
		return d.key(it, rates[it.ID])
	}
	slices.SortStableFunc(items, func(a, b *item) int { return cmp.Compare(key(a), key(b)) })
}

// key is small for what comes first. Weighted: the order in which questions
// would be drawn, one by one, by weights p(1−p), of which the least is the floor;
// a new question weighs most.
func (d *Difficulty) key(it *item, r *passRate) float64 {
	p := 0.5
	if r != nil {
		p = r.rate()
	}
	if d.Order == HardFirst {
		return p
	}
	u := seed.Stream(d.Seed, "difficulty", it.ID).Float64()
	return -math.Log(1-u) / max(d.Floor, p*(1-p))
}
