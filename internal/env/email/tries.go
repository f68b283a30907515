package email

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"agentmill/internal/keyword"
	"agentmill/internal/mailstore"
	"agentmill/internal/traj"
)

const (
	// maxWords bounds a search's words. More bring nothing and cost tokens.
	maxWords = 12
	// maxMixed bounds the words whose combinations are tried.
	maxMixed = 9
)

// shortIDs are rules under which a mail's id is its row.
var shortIDs = traj.EnvOptions{IDs: "short"}

// tries are the searches to try, in order: by words of the question, and from
// the index own on by words of the evidence.
func (d *demo) tries(ctx context.Context) (tries [][]string, own int, err error) {
	if len(d.words) > 0 {
		if tries, err = d.variants(ctx, d.words); err != nil {
			return nil, 0, err
		}
	}
	own = len(tries)
	if evidence := d.fit(keyword.Content(d.q.Evidence)); len(evidence) > 0 {
		more, err := d.variants(ctx, evidence)
		if err != nil {
			return nil, 0, err
		}
		tries = append(tries, more...)
	}
	return tries, own, nil
}

// variants are selections of words. Where any word may occur, many words rank
// best; where all must, two rare ones do.
func (d *demo) variants(ctx context.Context, words []string) ([][]string, error) {
	var out [][]string
	mixed := words
	if d.opts.Search == string(mailstore.Any) {
		tail := slices.Clone(words[max(0, len(words)-6):])
		slices.Reverse(tail)
		out = [][]string{words, tail, words[:min(5, len(words))], words[:min(4, len(words))]}
	} else {
		var err error
		if mixed, err = d.rarest(ctx, words); err != nil {
			return nil, err
		}
	}
	mixed = mixed[:min(len(mixed), maxMixed)]
	for _, n := range []int{2, 1, 3} {
		out = append(out, combinations(mixed, n)...)
	}
	return out, nil
}

// rarest orders words by how many mails have them, those that none has last.
func (d *demo) rarest(ctx context.Context, words []string) ([]string, error) {
	count := map[string]int{}
	for _, w := range words {
		found, err := d.store.Search(ctx, mailstore.Query{Owner: d.owner, Keywords: []string{w}, Max: 1})
		if err != nil {
			return nil, err
		}
		if count[w] = found.Total; found.Total == 0 {
			count[w] = mailstore.TotalCap + 1
		}
	}
	sorted := slices.Clone(words)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
	return sorted, nil
}

// combinations are all selections of n words, in order.
func combinations(words []string, n int) [][]string {
	if n == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for i, w := range words {
		for _, rest := range combinations(words[i+1:], n-1) {
			out = append(out, append([]string{w}, rest...))
		}
	}
	return out
}

// A tally counts what demonstrations showed.
type tally struct {
	asked, shown         atomic.Int64
	missed, byEvidence   atomic.Int64
	missFirst, readWrong atomic.Int64
}

func (t *tally) search(missed, byEvidence bool) {
	if missed {
		t.missed.Add(1)
	}
	if byEvidence {
		t.byEvidence.Add(1)
	}
}

// Report says in one line what the demonstrations so far showed, "" without any.
func (e *Env) Report() string {
	t := &e.tally
	if t.asked.Load() == 0 {
		return ""
	}
	return fmt.Sprintf("expert: %d of %d solved; %d whose first search missed, %d found only by words of the evidence; shown on purpose: %d misses, %d wrong mails",
		t.shown.Load(), t.asked.Load(), t.missed.Load(), t.byEvidence.Load(), t.missFirst.Load(), t.readWrong.Load())
}
