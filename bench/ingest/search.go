package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/keyword"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
)

// A query is three words with a window of dates, and a question's own words.
type query struct {
	words, any    []string
	after, before time.Time
}

// asker answers a query; it returns the ids of the hits.
type asker func(ctx context.Context, q *query) ([]string, error)

func runSearch(ctx context.Context, f *flag.FlagSet, args []string) error {
	path, questions := f.String("mail", "", "mail to multiply"), f.String("questions", "", "questions whose words are asked for")
	mails, n := f.Int("mails", 50_000, "mails of the inbox"), f.Int("queries", 1000, "queries")
	notmuch := f.String("notmuch", "", "Python with notmuch2, to ask notmuch as well")
	readers := f.Int("readers", 16, "readers at once")
	keep := f.String("dir", "", "folder for the databases, which are used again; a temporary one without")
	_ = f.Parse(args)
	dir := *keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "bench-search"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	sample, err := readMail(ctx, *path, dir)
	if err != nil {
		return err
	}
	inbox := oneInbox(sample, *mails)
	queries, err := makeQueries(ctx, inbox, *questions, *n)
	if err != nil {
		return err
	}
	store, ref, err := databases(ctx, dir, inbox)
	if err != nil {
		return err
	}
	defer store.Close()
	defer ref.db.Close()
	if *notmuch != "" {
		took, found, err := askNotmuch(ctx, *notmuch, dir, inbox, queries)
		if err != nil {
			return err
		}
		slices.Sort(took)
		defer fmt.Printf("%-16s %9.1f %9.2f %9.2f   (a Python that asks libnotmuch; no snippets)\n", "notmuch, all", float64(found)/float64(len(queries)), at(took, .5), at(took, .99))
	}
	sample, inbox = nil, nil //nolint:ineffassign,wastedassign // nobody is to walk or free them while the clock runs
	debug.FreeOSMemory()
	ctx = context.WithoutCancel(ctx) // watching for it would take the driver as long as a query
	return compare(ctx, queries, *readers, []string{"reference, all", "ours, all", "ours, any"}, []asker{ref.all, ours(store, mailstore.All), ours(store, mailstore.Any)})
}

// databases builds both, unless they are there.
func databases(ctx context.Context, dir string, inbox []*mail.Email) (*mailstore.Store, *reference, error) {
	path := filepath.Join(dir, fmt.Sprintf("inbox-%d.db", len(inbox)))
	if _, err := os.Stat(path); err != nil {
		if err := mailstore.Build(ctx, path, inbox, mailstore.Options{}); err != nil {
			return nil, nil, err
		}
	}
	store, err := mailstore.Open(path)
	if err != nil {
		return nil, nil, err
	}
	refPath := filepath.Join(dir, fmt.Sprintf("reference-%d.db", len(inbox)))
	if _, err := os.Stat(refPath); err == nil {
		ref, err := openReference(refPath)
		return store, ref, err
	}
	ref, err := buildReference(ctx, refPath, inbox)
	return store, ref, err
}

// makeQueries takes the words of each query from a mail of the inbox, which lies
// within its window of 240 days, or from a question.
func makeQueries(ctx context.Context, inbox []*mail.Email, path string, n int) ([]query, error) {
	questions, _, err := dataset.ReadAll[question.Question](ctx, dataset.Source{Paths: []string{path}})
	if err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	queries := make([]query, 0, n)
	for len(queries) < n {
		e := inbox[rnd.IntN(len(inbox))]
		words := keyword.Content(e.Subject + " " + e.Body)
		own := keyword.Content(questions[rnd.IntN(len(questions))].Question)
		if len(words) < 10 || e.Date.IsZero() || len(own) < 5 || len(own) > 9 {
			continue
		}
		rnd.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		after := e.Date.AddDate(0, 0, -rnd.IntN(240)).Truncate(24 * time.Hour)
		queries = append(queries, query{words: words[:3], any: own, after: after, before: after.AddDate(0, 0, 240)})
	}
	return queries, nil
}

func (r *reference) all(ctx context.Context, q *query) ([]string, error) {
	return r.search(ctx, q.words, q.after, q.before)
}

func ours(s *mailstore.Store, mode mailstore.Mode) asker {
	return func(ctx context.Context, q *query) (ids []string, err error) {
		ask := mailstore.Query{Owner: owner, Keywords: q.words, Mode: mode, After: q.after, Before: q.before}
		if mode == mailstore.Any {
			ask.Keywords, ask.After, ask.Before = q.any, time.Time{}, time.Time{}
		}
		found, err := s.Search(ctx, ask)
		for _, h := range found.Hits {
			ids = append(ids, h.MessageID)
		}
		return ids, err
	}
}

// compare asks every query of everybody, in turns, then of each alone by many
// readers.
func compare(ctx context.Context, queries []query, readers int, names []string, askers []asker) error {
	took := make([][]time.Duration, len(askers))
	found := make([]int, len(askers))
	for i := range queries {
		for a, ask := range askers {
			start := clock.Real().Now()
			ids, err := ask(ctx, &queries[i])
			if err != nil {
				return fmt.Errorf("%s: %w", names[a], err)
			}
			took[a] = append(took[a], clock.Real().Now().Sub(start))
			found[a] += len(ids)
		}
	}
	fmt.Printf("%d queries\n%-16s %9s %9s %9s %9s %8s %12s\n", len(queries), "", "hits", "p50 ms", "p99 ms", "of p50", "of p99", fmt.Sprintf("%d readers/s", readers))
	for a, name := range names {
		slices.Sort(took[a])
		rate, err := concurrent(ctx, queries, readers, askers[a])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p50, p99 := at(took[a], .5), at(took[a], .99)
		fmt.Printf("%-16s %9.1f %9.2f %9.2f %9.2f %8.2f %12.0f\n", name, float64(found[a])/float64(len(queries)), p50, p99, p50/at(took[0], .5), p99/at(took[0], .99), rate)
	}
	return nil
}

// at is a quantile of sorted durations, in milliseconds.
func at(sorted []time.Duration, q float64) float64 {
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]) / 1e6
}

// concurrent is how many queries a second many readers get answered.
func concurrent(ctx context.Context, queries []query, readers int, ask asker) (float64, error) {
	var next atomic.Int64
	var failed error
	var once sync.Once
	var wg sync.WaitGroup
	start := clock.Real().Now()
	for range readers {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(queries); i = next.Add(1) - 1 {
				if _, err := ask(ctx, &queries[i]); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	wg.Wait()
	seconds := cmp.Or(clock.Real().Now().Sub(start).Seconds(), 1e-9)
	return float64(len(queries)) / seconds, failed
}
